//! Parts of the file: a section that stands once, several times, or with a name;
//! and the keys in it.

use std::ops::Range;

use toml_edit::{Item, Key, Table, TableLike};

use crate::diagnostic::Diagnostic;
use crate::draft::Spanned;
use crate::nearest::nearest;
use crate::reference::{Given, SECTIONS, Section, section};

/// Part of the file: its keys, its full name in messages (`site.shop`), and where it begins.
pub(crate) struct Part<'a> {
    pub(crate) table: &'a dyn TableLike,
    pub(crate) path: String,
    pub(crate) span: Range<usize>,
}

/// The headers of the sections that have `key`, if any do.
pub(crate) fn owners(key: &str) -> Option<String> {
    let sections = SECTIONS
        .iter()
        .filter(|section| section.keys().any(|known| known == key));
    let headers: Vec<&str> = sections.map(|section| section.header).collect();
    (!headers.is_empty()).then(|| headers.join(", "))
}

pub(crate) fn key_span(table: &dyn TableLike, key: &str, item: &Item) -> Range<usize> {
    let span = table.key(key).and_then(Key::span).or_else(|| item.span());
    span.unwrap_or(0..0)
}

/// The section that a value of a setting is, `[pool.NAME.health]` or `health = { … }`.
pub(crate) fn of_value<'a>(given: &Given<'a>) -> Option<Part<'a>> {
    Some(Part {
        table: given.item.as_table_like()?,
        path: given.path.clone(),
        span: given.span.clone(),
    })
}

/// Every key of a part through `accept`; what it does not know is reported with the nearest.
pub(crate) fn keys(
    part: &Part<'_>,
    section_name: &str,
    out: &mut Vec<Diagnostic>,
    mut accept: impl FnMut(&str, &Given<'_>, &mut Vec<Diagnostic>) -> bool,
) {
    for (key, item) in part.table.iter() {
        let span = key_span(part.table, key, item);
        let given = Given {
            path: format!("{}.{key}", part.path),
            item,
            span: item
                .as_value()
                .and_then(|value| value.span())
                .unwrap_or(span.clone()),
        };
        if !accept(key, &given, out)
            && let Some(section) = section(section_name)
        {
            out.push(unknown_key(section, key, span));
        }
    }
}

fn unknown_key(section: &Section, key: &str, span: Range<usize>) -> Diagnostic {
    let message = format!("unknown setting `{key}` in {}", section.header);
    let diagnostic = Diagnostic::error(span, message);
    match owners(key) {
        Some(owners) => diagnostic.suggest(format!("`{key}` belongs in {owners}")),
        None => diagnostic.did_you_mean(nearest(key, section.keys())),
    }
}

/// A section that stands once, `[server]`.
pub(crate) fn single(
    root: &Table,
    name: &str,
    out: &mut Vec<Diagnostic>,
    accept: impl FnMut(&str, &Given<'_>, &mut Vec<Diagnostic>) -> bool,
) {
    let Some(item) = root.get(name) else { return };
    if let Some(part) = part(root, name, item, name.into(), &format!("[{name}]"), out) {
        keys(&part, name, out, accept);
    }
}

/// `item` as a part, or an error that says how its header is written.
pub(crate) fn part<'a>(
    parent: &dyn TableLike,
    key: &str,
    item: &'a Item,
    path: String,
    header: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<Part<'a>> {
    let span = key_span(parent, key, item);
    match item.as_table_like() {
        Some(table) => Some(Part { table, path, span }),
        None => {
            let message = format!("`{path}` is a section");
            out.push(Diagnostic::error(span, message).expected(header));
            None
        }
    }
}

/// The parts of an array of sections, `[[listen]]`, also in the form `listen = [{…}]`.
pub(crate) fn repeated<'a>(
    parent: &dyn TableLike,
    key: &str,
    item: &'a Item,
    path: &str,
    header: &str,
    out: &mut Vec<Diagnostic>,
) -> Vec<Part<'a>> {
    let span = key_span(parent, key, item);
    let part = |table: &'a dyn TableLike, own: Option<Range<usize>>| Part {
        table,
        path: path.into(),
        span: own.unwrap_or(span.clone()),
    };
    if let Some(tables) = item.as_array_of_tables() {
        return tables
            .iter()
            .map(|table| part(table, table.span()))
            .collect();
    }
    let inline: Option<Vec<Part<'a>>> = item.as_array().and_then(|array| {
        let tables = array.iter().map(|value| value.as_inline_table());
        tables
            .map(|table| table.map(|table| part(table, table.span())))
            .collect()
    });
    inline.unwrap_or_else(|| {
        let message = format!("`{path}` is a section that can stand several times");
        let diagnostic = Diagnostic::error(span.clone(), message).expected(header);
        let write = match item.as_str() {
            Some(text) => format!("write\n{header}\naddress = \"{text}\""),
            None => format!("write {header}, in double brackets"),
        };
        out.push(diagnostic.suggest(write));
        Vec::new()
    })
}

/// A section without what it cannot do without.
pub(crate) fn missing(span: Range<usize>, header: &str, write: &str) -> Diagnostic {
    let key = write.split(' ').next().unwrap_or(write);
    Diagnostic::error(span, format!("`{key}` is missing in {header}"))
        .suggest(format!("write {write}"))
}

/// The named parts of `[pool.NAME]` or `[site.NAME]`, in the order of the file.
pub(crate) fn named<'a>(
    root: &'a Table,
    kind: &str,
    out: &mut Vec<Diagnostic>,
) -> Vec<(Spanned<String>, Part<'a>)> {
    let header = format!("[{kind}.NAME]");
    let Some(item) = root.get(kind) else {
        return Vec::new();
    };
    let Some(all) = part(root, kind, item, kind.into(), &header, out) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, item) in all.table.iter() {
        let span = key_span(all.table, name, item);
        if !is_name(name) {
            let message = format!("`{name}` is not the name of a {kind}");
            let expected = "letters, digits, `-` and `_`, at most 64";
            out.push(Diagnostic::error(span.clone(), message).expected(expected));
        }
        let known = section(kind).is_some_and(|section| section.keys().any(|key| key == name));
        if known && !item.is_table_like() {
            let message = format!("the setting `{name}` needs a named {kind}");
            let write = format!("write [{kind}.app] before it, with a name of your own");
            out.push(
                Diagnostic::error(span, message)
                    .expected(&header)
                    .suggest(write),
            );
            continue;
        }
        let path = format!("{kind}.{name}");
        if let Some(part) = part(all.table, name, item, path, &header, out) {
            let value = name.to_owned();
            found.push((Spanned { value, span }, part));
        }
    }
    found
}

/// Names of pools and sites become labels in logs and metrics.
fn is_name(name: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(letter)
}

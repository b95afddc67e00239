//! `forebay explain`: the reference on a terminal.

use std::fmt::Write as _;

use crate::log_fields;
use crate::nearest::nearest;

use super::{Row, SECTIONS, Section, policy_rows, service_groups, service_rows};

/// Nothing in the reference goes by this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSetting {
    /// What was asked for.
    pub name: String,
    /// What was probably meant.
    pub nearest: Option<String>,
}

impl std::fmt::Display for UnknownSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no setting or section `{}`", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => f.write_str("; `forebay explain` lists them all"),
        }
    }
}

impl std::error::Error for UnknownSetting {}

/// Explains a section (`cache`, `[cache]`), a setting (`cache.default_ttl`,
/// `site.shop.default_ttl`, `default_ttl`), or with `None` lists everything.
///
/// # Errors
/// The name is not known.
pub fn explain(name: Option<&str>) -> Result<String, UnknownSetting> {
    let Some(name) = name else {
        return Ok(overview());
    };
    let wanted = normal(name);
    if let Some(section) = super::section(&wanted) {
        return Ok(of_section(section));
    }
    let found: Vec<(&Section, &Row)> = SECTIONS
        .iter()
        .flat_map(|section| section.rows().into_iter().map(move |row| (section, row)))
        .chain(policy_pairs())
        .chain(service_pairs())
        .filter(|(section, row)| is_meant(&wanted, section, row))
        .collect();
    if found.is_empty() {
        return Err(unknown(name, &wanted));
    }
    let texts: Vec<String> = found.iter().map(|(_, row)| of_row(row)).collect();
    Ok(texts.join("\n"))
}

/// The policy's rows as settings of `[cache]`, which stands for all three places.
fn policy_pairs() -> impl Iterator<Item = (&'static Section, &'static Row)> {
    let cache = SECTIONS.iter().find(|section| section.name == "cache");
    cache
        .into_iter()
        .flat_map(|section| policy_rows().into_iter().map(move |row| (section, row)))
}

/// The rows of what is done with requests as settings of `[site.NAME]`, which stands for both places.
fn service_pairs() -> impl Iterator<Item = (&'static Section, &'static Row)> {
    let site = SECTIONS.iter().find(|section| section.name == "site");
    site.into_iter()
        .flat_map(|section| service_rows().into_iter().map(move |row| (section, row)))
}

/// Sections within `[site.NAME]`, its path rules and `[pool.NAME]`, as they are written there.
fn inner(kind: &str, key: &str) -> Option<&'static str> {
    let name = match (kind, key) {
        ("pool", "servers") => "pool.server".into(),
        _ => format!("{kind}.{key}"),
    };
    super::section(&name).map(|section| section.name)
}

/// `[[site.shop.path]]` and `site.shop.path` are `site.path`; `pool.app.servers` is `pool.servers`.
fn normal(name: &str) -> String {
    let bare = name.trim().trim_matches(['[', ']']).to_lowercase();
    let parts: Vec<&str> = bare.split('.').collect();
    match parts.as_slice() {
        ["site", _, "path", key, rest @ ..] if inner("site", key).is_some() => {
            [&["site", key], rest].concat().join(".")
        }
        ["site", _, "path", rest @ ..] => [&["site", "path"], rest].concat().join("."),
        ["site", "path", ..] => bare,
        ["pool", _, "servers", key] => format!("pool.server.{key}"),
        [kind @ ("site" | "pool"), own, key] if inner(kind, own).is_none() => {
            format!("{kind}.{key}")
        }
        [kind @ ("site" | "pool"), _, key, last] if inner(kind, key).is_some() => {
            format!("{kind}.{key}.{last}")
        }
        ["app", _, key] => format!("app.{key}"),
        ["site" | "pool" | "app", name] if *name == "name" => parts[0].into(),
        _ => bare,
    }
}

/// Whether `wanted` names this row, by its full name, any place of the policy, or its key alone.
fn is_meant(wanted: &str, section: &Section, row: &Row) -> bool {
    if wanted == row.name || wanted == format!("{}.{}", section.name, row.name) {
        return true;
    }
    let in_policy = policy_rows()
        .iter()
        .chain(&service_rows())
        .any(|shared| std::ptr::eq(*shared, row));
    let other_place = ["site.", "site.path."]
        .iter()
        .any(|place| wanted.strip_prefix(place) == Some(row.name));
    in_policy && other_place
}

fn unknown(name: &str, wanted: &str) -> UnknownSetting {
    let section_names = SECTIONS.iter().map(|section| section.name);
    let full: Vec<String> = SECTIONS
        .iter()
        .flat_map(|section| section.keys().map(|key| format!("{}.{key}", section.name)))
        .collect();
    let keys = SECTIONS.iter().flat_map(Section::keys);
    let nearest = if wanted.contains('.') {
        nearest(wanted, full.iter().map(String::as_str))
    } else {
        nearest(wanted, section_names.chain(keys))
    };
    UnknownSetting {
        name: name.into(),
        nearest: nearest.map(Into::into),
    }
}

fn overview() -> String {
    let mut text = String::from(
        "The settings of forebay.toml. `forebay explain SETTING` tells more about one,\n\
         `forebay explain SECTION` about all of a section.\n",
    );
    for section in SECTIONS {
        let _ = write!(text, "\n{}  {}\n", section.header, section.doc);
        let mut rows = section.rows();
        if section.name == "cache" {
            rows.extend(policy_rows());
        }
        for row in rows {
            line(&mut text, row);
        }
        if section.name == "site" {
            for (heading, rows) in service_groups() {
                let _ = writeln!(text, "  {heading}:");
                rows.into_iter().for_each(|row| line(&mut text, row));
            }
        } else if section.takes_service {
            text.push_str(
                "  and what is done with requests, everything of [site.NAME] from `pool` on\n",
            );
        }
        if section.takes_policy && section.name != "cache" {
            text.push_str("  and the cache policy, everything of [cache] from `pass` on\n");
        }
    }
    text
}

/// A row in a list: its key and the beginning of what it means.
fn line(text: &mut String, row: &Row) {
    let end = [". ", "; ", ": "]
        .iter()
        .filter_map(|mark| row.doc.find(mark))
        .min();
    let gist = row.doc[..end.unwrap_or(row.doc.len())].trim_end_matches('.');
    for (index, part) in wrap(gist, 70).iter().enumerate() {
        let name = if index == 0 { row.name } else { "" };
        let _ = writeln!(text, "  {name:<26} {part}");
    }
}

fn of_section(section: &Section) -> String {
    let mut text = format!("{}\n  {}\n", section.header, section.doc);
    let mut rows = section.rows();
    if section.name == "cache" {
        rows.extend(policy_rows());
    }
    for row in rows {
        text.push('\n');
        text.push_str(&of_row(row));
    }
    if section.takes_service {
        text.push_str("\nand what is done with requests (`forebay explain SETTING`):\n");
        for (heading, rows) in service_groups() {
            let _ = writeln!(text, "  {heading}:");
            rows.into_iter().for_each(|row| line(&mut text, row));
        }
    }
    if section.takes_policy && section.name != "cache" {
        text.push_str("\nand the cache policy over what is inherited (`forebay explain cache`):\n");
        for row in policy_rows() {
            line(&mut text, row);
        }
    }
    text
}

fn of_row(row: &Row) -> String {
    let mut text = format!("{}.{} = {}\n", row.section, row.name, row.example);
    let _ = writeln!(text, "  takes:    {}", row.expected());
    let _ = writeln!(text, "  default:  {}", row.default);
    let is_policy = policy_rows()
        .iter()
        .any(|policy| std::ptr::eq(*policy, row));
    if is_policy {
        text.push_str(
            "  in:       [cache], [site.NAME], [[site.NAME.path]]; the innermost holds\n",
        );
    }
    if service_rows().iter().any(|own| std::ptr::eq(*own, row)) {
        text.push_str("  in:       [site.NAME], [[site.NAME.path]]; the innermost holds\n");
    }
    for line in wrap(row.doc, 78) {
        let _ = writeln!(text, "  {line}");
    }
    if (row.section, row.name) == ("log", "format") {
        text.push_str("  Fields:\n");
        for field in log_fields::ALL {
            let _ = writeln!(
                text,
                "    {:<16} {}",
                format!("{{{}}}", field.name),
                field.doc
            );
        }
        text.push_str("    {header.NAME}    The request's field of that name, or `-`.\n");
    }
    text
}

/// `text` in lines of at most `width` characters, broken between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_any_of_its_names() {
        for name in [
            "default_ttl",
            "cache.default_ttl",
            "site.default_ttl",
            "site.shop.default_ttl",
            "site.shop.path.default_ttl",
            "Cache.Default_TTL",
        ] {
            let text = explain(Some(name)).unwrap();
            assert!(
                text.starts_with("cache.default_ttl = \"2m\"\n"),
                "{name}: {text}"
            );
            assert!(text.contains("[[site.NAME.path]]"), "{text}");
        }
        assert!(
            explain(Some("pool.app.servers"))
                .unwrap()
                .starts_with("pool.servers")
        );
        assert!(
            explain(Some("site.path.match"))
                .unwrap()
                .starts_with("site.path.match")
        );
        for (name, start) in [
            ("pool.app.health.path", "pool.health.path"),
            ("[pool.app.health]", "[pool.NAME.health]"),
            ("[[pool.NAME.servers]]", "pool.servers ="),
            ("pool.app.servers.weight", "pool.server.weight"),
            ("site.shop.path.try_files", "site.try_files"),
            ("site.shop.path.cors.origins", "site.cors.origins"),
            ("try_files", "site.try_files"),
            ("app.shop.instances", "app.instances"),
        ] {
            let text = explain(Some(name)).unwrap();
            assert!(text.starts_with(start), "{name}: {text}");
        }
    }

    #[test]
    fn a_bare_name_of_two_sections_explains_both() {
        let text = explain(Some("max_connections")).unwrap();
        assert!(text.contains("server.max_connections"), "{text}");
        assert!(text.contains("pool.max_connections"), "{text}");
    }

    #[test]
    fn sections_by_name_and_header() {
        for name in [
            "cache",
            "[cache]",
            "[pool.NAME]",
            "[[site.NAME.path]]",
            "site.path",
            "listen",
        ] {
            let text = explain(Some(name)).unwrap();
            assert!(text.starts_with('['), "{name}: {text}");
        }
        assert!(explain(Some("log")).unwrap().contains("{user_agent}"));
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        for (name, nearest) in [
            ("defualt_ttl", Some("default_ttl")),
            ("cahce", Some("cache")),
            ("cache.memroy", Some("cache.memory")),
            ("pool.app.serves", Some("pool.servers")),
            ("zzzzzz", None),
            ("", None),
        ] {
            let unknown = explain(Some(name)).unwrap_err();
            assert_eq!(unknown.nearest.as_deref(), nearest, "{name}");
            assert!(unknown.to_string().contains(name));
        }
    }

    #[test]
    fn the_overview_lists_every_key() {
        let text = explain(None).unwrap();
        for section in SECTIONS {
            for row in section.rows() {
                assert!(text.contains(&format!("\n  {} ", row.name)), "{}", row.name);
            }
        }
    }
}

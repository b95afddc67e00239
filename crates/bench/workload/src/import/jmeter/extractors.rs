//! Post-processors that take variables from responses.

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::pattern::{self, Groups};
use super::tree::Element;
use super::{json, template};
use crate::scenario::{Extract, Source};

/// So many numbered variables of one extraction are made.
const MAX_NUMBERED: usize = 100;

/// So many extractions are in one scope.
const MAX_EXTRACTIONS: usize = 1_000;

/// The extractions in a scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Extractions(Vec<Extract>);

/// What an extractor says besides where it looks.
struct Wish<'a> {
    variable: &'a str,
    occurrence: &'a str,
    default: &'a str,
}

impl Extractions {
    /// Adds an extractor. False when the element is none.
    pub(super) fn add(&mut self, context: &mut Context, extractor: &Element<'_>) -> bool {
        match extractor.kind {
            "RegexExtractor" => self.regex(context, extractor),
            "BoundaryExtractor" => self.boundary(context, extractor),
            "JSONPostProcessor" => self.json(context, extractor),
            "JMESPathExtractor" => self.jmespath(context, extractor),
            kind if kind.ends_with("Extractor") => context.note(
                Fate::LeftOut,
                "a scenario takes values by pattern, JSON path, boundaries, field or cookie; write one of these",
            ),
            _ => return false,
        }
        true
    }

    /// Asks for something to be at a path, whatever it is.
    pub(super) fn present(&mut self, context: &mut Context, path: String) {
        let variable = context.names.of_call(&format!("present {path}"), "present");
        self.put(Extract {
            variable,
            from: Source::Json(path),
            occurrence: 1,
            default: None,
        });
    }

    /// In the order in which they stand in the plan; a later one of a variable wins.
    pub(super) fn list(&self) -> Vec<Extract> {
        self.0.clone()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|extract| {
                let source = match &extract.from {
                    Source::Regex(text) | Source::Json(text) | Source::Header(text) => text.len(),
                    Source::HeadRegex(text) | Source::Cookie(text) => text.len(),
                    Source::Between(left, right) => left.len() + right.len(),
                };
                64 + extract.variable.len() + source
            })
            .sum()
    }

    fn put(&mut self, extract: Extract) {
        self.0.retain(|known| known.variable != extract.variable);
        self.0.push(extract);
    }

    fn regex(&mut self, context: &mut Context, extractor: &Element<'_>) {
        if !whole_sample(context, extractor) {
            return;
        }
        let Some(in_head) = place(context, extractor.text("RegexExtractor.useHeaders")) else {
            return;
        };
        let written = extractor.text("RegexExtractor.template").trim();
        let Some(group) = group(written) else {
            return context.note(
                Fate::LeftOut,
                format!(
                    "its template `{}` is more than one group",
                    shortened(written, 60)
                ),
            );
        };
        let pattern = context.text(extractor.text("RegexExtractor.regex"));
        let wish = Wish {
            variable: extractor.text("RegexExtractor.refname").trim(),
            occurrence: extractor.text("RegexExtractor.match_number"),
            default: extractor.text("RegexExtractor.default"),
        };
        let variable = wish.variable.to_owned();
        self.of_pattern(context, &wish, &pattern, group, in_head);
        // JMeter keeps the groups of a match besides.
        for (name, number) in mentioned_groups(context, &variable) {
            let wish = Wish {
                variable: &name,
                ..wish
            };
            self.of_pattern(context, &wish, &pattern, number, in_head);
        }
    }

    fn of_pattern(
        &mut self,
        context: &mut Context,
        wish: &Wish<'_>,
        written: &str,
        group: usize,
        in_head: bool,
    ) {
        let groups = if group == 0 {
            Groups::None
        } else {
            Groups::Only(group)
        };
        match pattern::translate(written, groups) {
            Ok(pattern) if in_head => self.take(context, wish, Source::HeadRegex(pattern)),
            Ok(pattern) => self.take(context, wish, Source::Regex(pattern)),
            Err(words) => context.note(Fate::LeftOut, words),
        }
    }

    fn boundary(&mut self, context: &mut Context, extractor: &Element<'_>) {
        if !whole_sample(context, extractor) {
            return;
        }
        let Some(in_head) = place(context, extractor.text("BoundaryExtractor.useHeaders")) else {
            return;
        };
        let left = context.text(extractor.text("BoundaryExtractor.lboundary"));
        let right = context.text(extractor.text("BoundaryExtractor.rboundary"));
        let wish = Wish {
            variable: extractor.text("BoundaryExtractor.refname").trim(),
            occurrence: extractor.text("BoundaryExtractor.match_number"),
            default: extractor.text("BoundaryExtractor.default"),
        };
        let source = if in_head || left.is_empty() || right.is_empty() {
            let end = if right.is_empty() {
                r"\z".into()
            } else {
                pattern::literal(&right)
            };
            let pattern = format!("(?s){}(.*?){end}", pattern::literal(&left));
            if in_head {
                Source::HeadRegex(pattern)
            } else {
                Source::Regex(pattern)
            }
        } else {
            Source::Between(left, right)
        };
        self.take(context, &wish, source);
    }

    /// Several names, paths, numbers and defaults, with `;` between.
    fn json(&mut self, context: &mut Context, extractor: &Element<'_>) {
        if !whole_sample(context, extractor) {
            return;
        }
        let list = |name: &str| -> Vec<String> {
            let text = extractor.text(name);
            text.split(';').map(|part| part.trim().to_owned()).collect()
        };
        let (names, paths) = (
            list("JSONPostProcessor.referenceNames"),
            list("JSONPostProcessor.jsonPathExprs"),
        );
        let (numbers, defaults) = (
            list("JSONPostProcessor.match_numbers"),
            list("JSONPostProcessor.defaultValues"),
        );
        if extractor.flag("JSONPostProcessor.compute_concat") {
            context.note(Fate::Changed, "the joined values (`…_ALL`) are not made");
        }
        for (at, name) in names
            .iter()
            .enumerate()
            .filter(|(_, name)| !name.is_empty())
        {
            let written = paths.get(at).map_or("", String::as_str);
            let Some(path) = json::path(written) else {
                context.note(
                    Fate::LeftOut,
                    format!(
                        "`{name}`: the path `{}` is not supported",
                        shortened(written, 80)
                    ),
                );
                continue;
            };
            // One number or default may stand for all.
            let part = |list: &[String]| match list {
                [only] => only.clone(),
                list => list.get(at).cloned().unwrap_or_default(),
            };
            let (occurrence, default) = (part(&numbers), part(&defaults));
            let wish = Wish {
                variable: name,
                occurrence: &occurrence,
                default: &default,
            };
            self.take(context, &wish, Source::Json(path));
        }
    }

    fn jmespath(&mut self, context: &mut Context, extractor: &Element<'_>) {
        if !whole_sample(context, extractor) {
            return;
        }
        let properties = extractor.properties;
        let either = |one: &str, other: &str| match properties.text(one) {
            "" => properties.text(other),
            text => text,
        };
        let written = either(
            "JMESExtractor.jmesPathExpr",
            "JMESExtractor.jmesPathExpressions",
        );
        let Some(path) = json::from_jmespath(written) else {
            return context.note(
                Fate::LeftOut,
                format!(
                    "its expression `{}` is not supported",
                    shortened(written, 80)
                ),
            );
        };
        let wish = Wish {
            variable: either(
                "JMESExtractor.referenceName",
                "JMESExtractor.referenceNames",
            )
            .trim(),
            occurrence: either("JMESExtractor.matchNumber", "JMESExtractor.matchNumbers"),
            default: either("JMESExtractor.defaultValue", "JMESExtractor.defaultValues"),
        };
        self.take(context, &wish, Source::Json(path));
    }

    /// Makes the extraction; of all matches, those that the plan uses by number.
    fn take(&mut self, context: &mut Context, wish: &Wish<'_>, from: Source) {
        if self.0.len() >= MAX_EXTRACTIONS {
            return context.note(
                Fate::LeftOut,
                format!("more than {MAX_EXTRACTIONS} extractions are in its scope"),
            );
        }
        if wish.variable.is_empty() {
            return context.note(Fate::LeftOut, "it names no variable");
        }
        let default = context.text(wish.default);
        let default = template::plain(&default).unwrap_or_else(|| {
            context.note(
                Fate::Changed,
                "its default has variables; the default is empty",
            );
            String::new()
        });
        let number = match wish.occurrence.trim() {
            "" => Some(0.0),
            text => context.number(text),
        };
        let Some(number) = number else {
            return context.note(Fate::LeftOut, "which match it takes is decided at run time");
        };
        if number >= 0.0 {
            let variable = context.names.of(wish.variable);
            let occurrence = number.min(f64::from(i32::MAX)) as i32;
            return self.put(Extract {
                variable,
                from,
                occurrence,
                default: Some(default),
            });
        }
        let numbered = mentioned_numbers(context, wish.variable);
        if numbered.is_empty() {
            return context.note(
                Fate::LeftOut,
                "it takes all matches, and none of them is used by number",
            );
        }
        for (name, occurrence) in numbered {
            let variable = context.names.of(&name);
            self.put(Extract {
                variable,
                from: from.clone(),
                occurrence,
                default: Some(default.clone()),
            });
        }
    }
}

/// Whether an extractor looks at the response itself, as all but few do.
fn whole_sample(context: &mut Context, extractor: &Element<'_>) -> bool {
    let scope = extractor.text("Sample.scope");
    let other = matches!(scope, "variable" | "children");
    if other {
        context.note(
            Fate::LeftOut,
            format!("it looks at {scope} instead of the response"),
        );
    }
    !other
}

/// Whether it looks at the head instead of the body; `None` for what is neither.
fn place(context: &mut Context, written: &str) -> Option<bool> {
    match written.trim() {
        "" | "false" => Some(false),
        "true" => Some(true),
        "unescaped" => {
            context.note(
                Fate::Changed,
                "it looks at the body as it came, not unescaped",
            );
            Some(false)
        }
        other => {
            context.note(
                Fate::LeftOut,
                format!(
                    "it looks at `{}`, neither body nor head",
                    shortened(other, 40)
                ),
            );
            None
        }
    }
}

/// The group of a template that is just one: `$1$`.
fn group(template: &str) -> Option<usize> {
    match template {
        "" => Some(1),
        _ => {
            let number = template.strip_prefix('$')?.strip_suffix('$')?;
            number.parse().ok().filter(|number| *number < 100)
        }
    }
}

/// The variables `name_1`, `name_2`, … that the plan uses.
fn mentioned_numbers(context: &Context, name: &str) -> Vec<(String, i32)> {
    suffixes(context, &format!("{name}_"))
        .filter_map(|(full, suffix)| Some((full, suffix.parse().ok().filter(|n| *n > 0)?)))
        .take(MAX_NUMBERED)
        .collect()
}

/// The variables `name_g0`, `name_g1`, … that the plan uses.
fn mentioned_groups(context: &Context, name: &str) -> Vec<(String, usize)> {
    suffixes(context, &format!("{name}_g"))
        .filter_map(|(full, suffix)| Some((full, suffix.parse().ok().filter(|n| *n < 100)?)))
        .take(MAX_NUMBERED)
        .collect()
}

fn suffixes<'a>(context: &'a Context, prefix: &'a str) -> impl Iterator<Item = (String, &'a str)> {
    context
        .mentioned
        .range(prefix.to_owned()..)
        .map_while(move |name| Some((name.clone(), name.strip_prefix(prefix)?)))
}

//! From a step's expectations and extractions to what can be made of a response.

use memchr::memmem::Finder;

use super::super::check::{Kind, Test};
use super::super::coding::Coding;
use super::super::extract::{Extraction, Place};
use super::super::json_path::JsonPath;
use super::super::model::{Expect, Extract, Source, Step};
use super::super::pattern::{Needle, Pattern};
use super::super::plan::Plan;
use super::Builder;

impl Builder<'_> {
    pub(super) fn checks(&mut self, step: &Step, plan: &mut Plan) {
        let expect = &step.expect;
        self.within("expect", |this| {
            this.status_check(expect, plan);
            let plain = |this: &mut Self, text: &str| this.template(text, Coding::Plain);
            this.each_text("contains", &expect.contains, plan, |this, text| {
                Some(Kind::Contains(Needle::new(plain(this, text))))
            });
            this.each_text("lacks", &expect.lacks, plan, |this, text| {
                Some(Kind::Lacks(Needle::new(plain(this, text))))
            });
            this.each_text("matches", &expect.matches, plan, |this, text| {
                this.pattern(text).map(Kind::Matches)
            });
            if let Some(text) = &expect.body {
                let template = this.within("body", |this| this.template(text, Coding::Plain));
                plan.tests.push(test(Kind::Body(template), text));
            }
            this.keyed_checks(expect, plan);
            this.time_check(expect.within.as_deref(), plan);
        });
    }

    fn status_check(&mut self, expect: &Expect, plan: &mut Plan) {
        for (index, status) in expect.status.iter().enumerate() {
            if !plan.statuses.add(status) {
                self.within(&format!("status.{index}"), |this| {
                    this.problem(
                        format!("`{status}` is no status"),
                        "such as `200` or `\"2xx\"`",
                    );
                });
            }
        }
    }

    fn keyed_checks(&mut self, expect: &Expect, plan: &mut Plan) {
        for (name, text) in &expect.header {
            let pattern = self.within(&format!("header.{name}"), |this| this.pattern(text));
            let kind = pattern.map(|pattern| Kind::Header(name.clone(), pattern));
            plan.tests.extend(kind.map(|kind| test(kind, text)));
        }
        for (path, text) in &expect.json {
            let kind = self.within(&format!("json.{path}"), |this| {
                let compiled = this.json_path(path)?;
                Some(Kind::Json(
                    path.clone(),
                    compiled,
                    this.template(text, Coding::Plain),
                ))
            });
            plan.tests.extend(kind.map(|kind| test(kind, text)));
        }
    }

    fn each_text(
        &mut self,
        key: &str,
        texts: &[String],
        plan: &mut Plan,
        make: impl Fn(&mut Self, &str) -> Option<Kind>,
    ) {
        for (index, text) in texts.iter().enumerate() {
            let kind = self.within(&format!("{key}.{index}"), |this| make(this, text));
            plan.tests.extend(kind.map(|kind| test(kind, text)));
        }
    }

    fn time_check(&mut self, within: Option<&str>, plan: &mut Plan) {
        let Some(text) = within else { return };
        match forebay_config::parse_duration(text) {
            Ok(most) => plan.tests.push(test(Kind::Within(most), text)),
            Err(why) => self.within("within", |this| {
                this.problem(format!("`{text}` is no time: {why}"), "such as `200ms`");
            }),
        }
    }

    fn pattern(&mut self, text: &str) -> Option<Pattern> {
        let template = self.template(text, Coding::Pattern);
        Pattern::new(template)
            .map_err(|why| self.problem(format!("not a regular expression: {why}"), ""))
            .ok()
    }

    fn json_path(&mut self, text: &str) -> Option<JsonPath> {
        JsonPath::parse(text)
            .map_err(|why| {
                self.problem(
                    format!("not a path into JSON: {why}"),
                    "such as `$.items[0].id`",
                )
            })
            .ok()
    }

    pub(super) fn extraction(&mut self, extract: &Extract) -> Option<Extraction> {
        let (place, written) = match &extract.from {
            Source::Regex(text) => {
                let pattern = self.within("regex", |this| this.pattern(text))?;
                (Place::Regex(pattern), format!("regex `{text}`"))
            }
            Source::Json(text) => {
                let path = self.within("json", |this| this.json_path(text))?;
                (Place::Json(path), format!("json `{text}`"))
            }
            Source::Header(name) => (Place::Header(name.clone()), format!("field `{name}`")),
            Source::HeadRegex(text) => {
                let pattern = self.within("head-regex", |this| this.pattern(text))?;
                (Place::HeadRegex(pattern), format!("head-regex `{text}`"))
            }
            Source::Cookie(name) => (Place::Cookie(name.clone()), format!("cookie `{name}`")),
            Source::Between(left, right) => {
                if right.is_empty() {
                    self.within("between", |this| {
                        this.problem("the right boundary is empty", "")
                    });
                }
                let finder = |text: &str| Box::new(Finder::new(text).into_owned());
                let written = format!("between `{left}` and `{right}`");
                (Place::Between(finder(left), finder(right)), written)
            }
        };
        Some(Extraction {
            variable: extract.variable.clone(),
            slot: self
                .slots
                .get(&extract.variable)
                .copied()
                .unwrap_or_default(),
            place,
            occurrence: extract.occurrence,
            default: extract.default.clone(),
            written,
        })
    }
}

fn test(kind: Kind, written: &str) -> Test {
    Test {
        kind,
        written: written.to_owned(),
    }
}

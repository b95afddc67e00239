//! From a step to its request: method, fields, body.

use std::collections::BTreeMap;

use super::super::check::Test;
use super::super::coding::Coding;
use super::super::extract::Extraction;
use super::super::model::Step;
use super::super::plan::{Body, Line, Plan};
use super::super::template::Template;
use super::Builder;
use super::url::without_place;

/// Largest body file, in bytes.
const MAX_BODY: usize = 64 << 20;

impl Builder<'_> {
    /// Prepares a request and returns its index.
    pub(super) fn request(&mut self, step: &Step, url: &str) -> usize {
        let (body, content_type) = self.body(step);
        let method = self.method(step);
        let name = match step.name.as_str() {
            "" => format!("{method} {}", without_place(url)),
            name => name.to_owned(),
        };
        let lines = self.lines(step, content_type);
        let is_connection = |line: &&Line| line.name.eq_ignore_ascii_case("Connection");
        let connection = lines.iter().find(is_connection);
        let close = connection.is_some_and(|line| {
            line.value
                .fixed()
                .is_some_and(|value| value.eq_ignore_ascii_case("close"))
        });
        let mut plan = Plan {
            label: self.label(&name),
            step: name,
            method,
            to: self.destination(step, url),
            lines,
            body,
            close,
            follow: step.follow,
            statuses: Default::default(),
            tests: Vec::new(),
            extractions: Vec::new(),
            keep_body: false,
            ready: None,
        };
        self.checks(step, &mut plan);
        for (index, extract) in step.extract.iter().enumerate() {
            let made = self.within(&format!("extract.{index}"), |this| this.extraction(extract));
            plan.extractions.extend(made);
        }
        plan.keep_body = plan.tests.iter().any(Test::needs_body)
            || plan.extractions.iter().any(Extraction::needs_body);
        plan.make_ready();
        self.out.plans.push(plan);
        self.out.plans.len() - 1
    }

    fn label(&mut self, name: &str) -> usize {
        if let Some(known) = self.out.labels.iter().position(|label| label == name) {
            return known;
        }
        self.out.labels.push(name.to_owned());
        self.out.labels.len() - 1
    }

    fn method(&mut self, step: &Step) -> String {
        let carries = step.body.is_some() || step.body_file.is_some() || !step.form.is_empty();
        let Some(method) = &step.method else {
            return if carries { "POST" } else { "GET" }.into();
        };
        if !is_token(method) {
            self.within("method", |this| {
                this.problem(format!("`{method}` is no method"), "such as `GET`");
            });
        }
        method.clone()
    }

    /// The body, and the content type that goes with it unless the scenario says another.
    fn body(&mut self, step: &Step) -> (Body, Option<&'static str>) {
        let given = [
            step.body.is_some(),
            step.body_file.is_some(),
            !step.form.is_empty(),
        ];
        if given.iter().filter(|given| **given).count() > 1 {
            self.problem("a request has one of `body`, `body_file` and `form`", "");
        }
        if let Some(text) = &step.body {
            let template = self.within("body", |this| this.template(text, Coding::Plain));
            return (body_of(template), None);
        }
        if let Some(file) = &step.body_file {
            let bytes = self.within("body_file", |this| this.body_file(file));
            return (Body::Fixed(bytes.into_boxed_slice()), None);
        }
        let form = self.pairs("form", &step.form, Coding::Form);
        let content_type = (!step.form.is_empty()).then_some("application/x-www-form-urlencoded");
        (body_of(form), content_type)
    }

    fn body_file(&mut self, file: &str) -> Vec<u8> {
        match self.files.map(|files| files(file)) {
            Some(Ok(bytes)) if bytes.len() <= MAX_BODY => return bytes,
            Some(Ok(_)) => self.problem(format!("`{file}` is larger than 64 MiB"), ""),
            Some(Err(error)) => self.problem(format!("`{file}` cannot be read: {error}"), ""),
            None => {}
        }
        Vec::new()
    }

    /// `a=1&b=2`
    pub(super) fn pairs(
        &mut self,
        key: &str,
        pairs: &BTreeMap<String, String>,
        coding: Coding,
    ) -> Template {
        let mut all = Template::default();
        for (index, (name, value)) in pairs.iter().enumerate() {
            if index > 0 {
                all.push_text("&");
            }
            self.within(&format!("{key}.{name}"), |this| {
                all.append(this.template(name, coding));
                all.push_text("=");
                all.append(this.template(value, coding));
            });
        }
        all
    }

    /// The field lines: the usual, the scenario's, the run's, the step's, later ones instead of
    /// earlier ones of the same name.
    fn lines(&mut self, step: &Step, content_type: Option<&str>) -> Vec<Line> {
        let mut lines = vec![
            plain_line(
                "User-Agent",
                concat!("forebay-bench/", env!("CARGO_PKG_VERSION")),
            ),
            plain_line("Accept", "*/*"),
        ];
        let scenario = self.scenario;
        self.at_root(|this| {
            for (name, value) in &scenario.headers {
                let line = this.within(&format!("headers.{name}"), |this| this.line(name, value));
                put(&mut lines, line);
            }
        });
        for (name, value) in self.setup.map(|setup| &setup.headers).into_iter().flatten() {
            put(&mut lines, plain_line(name, value));
        }
        if let Some(content_type) = content_type {
            put(&mut lines, plain_line("Content-Type", content_type));
        }
        for (name, value) in &step.headers {
            let line = self.within(&format!("headers.{name}"), |this| this.line(name, value));
            put(&mut lines, line);
        }
        if let Some((user, password)) = &step.basic_auth {
            let text = format!("{user}:{password}");
            let value = self.within("basic_auth", |this| this.template(&text, Coding::Plain));
            let name = "Authorization".to_owned();
            put(
                &mut lines,
                Line {
                    name,
                    value,
                    basic: true,
                },
            );
        }
        if self.setup.is_some_and(|setup| setup.close) {
            put(&mut lines, plain_line("Connection", "close"));
        }
        lines.retain(|line| line.value.fixed() != Some(""));
        lines
    }

    fn line(&mut self, name: &str, value: &str) -> Line {
        if !is_token(name) {
            self.problem(format!("`{name}` is no name of a field"), "");
        }
        if ["Content-Length", "Transfer-Encoding"]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
        {
            self.problem(format!("`{name}` is written by itself"), "");
        }
        let value = self.template(value, Coding::Field);
        let control = |c: char| c.is_control() && c != '\t';
        if value.sample("").contains(control) {
            self.problem("a field has no line breaks or control characters", "");
        }
        Line {
            name: name.to_owned(),
            value,
            basic: false,
        }
    }
}

fn body_of(template: Template) -> Body {
    match template.fixed() {
        Some(text) => Body::Fixed(text.as_bytes().into()),
        None => Body::Made(template),
    }
}

fn plain_line(name: &str, value: &str) -> Line {
    Line {
        name: name.to_owned(),
        value: Template::of(value),
        basic: false,
    }
}

/// Instead of a line of the same name, else behind the others.
fn put(lines: &mut Vec<Line>, line: Line) {
    match lines
        .iter_mut()
        .find(|known| known.name.eq_ignore_ascii_case(&line.name))
    {
        Some(known) => *known = line,
        None => lines.push(line),
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(forebay_http::head::is_token)
}

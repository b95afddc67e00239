//! HTTP samplers: requests.

use super::super::notes::{Fate, shortened};
use super::body;
use super::context::Context;
use super::headers;
use super::scope::Scope;
use super::template::{self, Part};
use super::tree::{Element, Properties};
use crate::Target;
use crate::scenario::Step;

/// As many redirections as JMeter follows unless told otherwise.
const MAX_REDIRECTS: u32 = 20;

/// What `HTTP Request Defaults` say, as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults {
    protocol: String,
    domain: String,
    port: String,
    path: String,
    arguments: Vec<Argument>,
}

/// A parameter as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) value: String,
    /// Whether JMeter encodes it; otherwise it is encoded already.
    pub(super) encode: bool,
    /// Whether a `=` stands between name and value even when that is empty.
    pub(super) equals: bool,
}

impl Defaults {
    /// Adds those of an inner scope, which win.
    pub(super) fn add(&mut self, element: &Element<'_>) {
        for (field, property) in [
            (&mut self.protocol, "HTTPSampler.protocol"),
            (&mut self.domain, "HTTPSampler.domain"),
            (&mut self.port, "HTTPSampler.port"),
            (&mut self.path, "HTTPSampler.path"),
        ] {
            let text = element.text(property).trim();
            if !text.is_empty() {
                *field = text.into();
            }
        }
        let own = arguments(element.properties);
        self.arguments
            .retain(|known| own.iter().all(|own| own.name != known.name));
        self.arguments.extend(own);
    }

    pub(super) fn bytes(&self) -> usize {
        let arguments: usize = self
            .arguments
            .iter()
            .map(|argument| 64 + argument.name.len() + argument.value.len())
            .sum();
        arguments + self.domain.len() + self.path.len() + 32
    }
}

/// The parameters of a sampler or of defaults.
fn arguments(properties: Properties<'_>) -> Vec<Argument> {
    let Some(list) = properties.inner("HTTPsampler.Arguments") else {
        return Vec::new();
    };
    list.members("Arguments.arguments")
        .into_iter()
        .map(|member| Argument {
            name: member.text("Argument.name").into(),
            value: member.text("Argument.value").into(),
            encode: member.flag("HTTPArgument.always_encode"),
            equals: member.text("HTTPArgument.use_equals") != "false",
        })
        .collect()
}

/// The request of a sampler in its scope.
pub(super) fn step(context: &mut Context, sampler: &Element<'_>, scope: &Scope) -> Step {
    context.spend(scope.bytes() + size_of::<Step>());
    let method = method(context, sampler);
    let mut step = Step {
        name: format!("{}{}", scope.label, sampler.name),
        url: Some(url(context, sampler, scope)),
        expect: scope.checks.expect(),
        extract: scope.extractions.list(),
        ..Step::default()
    };
    let mut fields = scope.headers.clone();
    let mut list = arguments(sampler.properties);
    for default in &scope.defaults.arguments {
        if list.iter().all(|own| own.name != default.name) {
            list.push(default.clone());
        }
    }
    body::fill(context, sampler, &list, &method, &mut step, &mut fields);
    if sampler.text("HTTPSampler.use_keepalive") == "false" {
        headers::set(&mut fields, "Connection".into(), "close".into());
    }
    step.headers = fields.into_iter().collect();
    step.method = (method != "GET" || has_body(&step)).then_some(method);
    if sampler.flag("HTTPSampler.follow_redirects") || sampler.flag("HTTPSampler.auto_redirects") {
        step.follow = MAX_REDIRECTS;
    }
    login(context, scope, &mut step);
    remarks(context, sampler);
    step
}

fn method(context: &mut Context, sampler: &Element<'_>) -> String {
    let written = context.settled(sampler.text("HTTPSampler.method").trim());
    if written.is_empty() {
        return "GET".into();
    }
    if !written
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        context.note(
            Fate::Changed,
            format!(
                "`{}` is no method that is known beforehand; GET is sent",
                shortened(&written, 40)
            ),
        );
        return "GET".into();
    }
    written
}

fn has_body(step: &Step) -> bool {
    step.body.is_some() || step.body_file.is_some() || !step.form.is_empty()
}

/// The URL, as far as possible with its server written out.
fn url(context: &mut Context, sampler: &Element<'_>, scope: &Scope) -> String {
    let defaults = &scope.defaults;
    let or_default = |property: &str, default: &str| match sampler.text(property).trim() {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let path = or_default("HTTPSampler.path", &defaults.path);
    let path = context.text(&path).replace(' ', "%20");
    if path.starts_with("http://") || path.starts_with("https://") {
        return checked(context, path, "/".into());
    }
    let path = if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    };
    let domain = or_default("HTTPSampler.domain", &defaults.domain);
    let domain = context.settled(&domain);
    if domain.is_empty() {
        context.note(
            Fate::Hint,
            "it names no server; set `base` in the scenario or give the server's URL",
        );
        return path;
    }
    let protocol = context.settled(&or_default("HTTPSampler.protocol", &defaults.protocol));
    let protocol = match protocol.to_ascii_lowercase() {
        _ if protocol.contains("${") => protocol,
        lower if lower.is_empty() => "http".to_owned(),
        lower if matches!(lower.as_str(), "http" | "https") => lower,
        other => {
            context.note(
                Fate::Changed,
                format!(
                    "its protocol `{}` is not http or https; http is used",
                    shortened(&other, 20)
                ),
            );
            "http".to_owned()
        }
    };
    let port = context.settled(&or_default("HTTPSampler.port", &defaults.port));
    let usual = if protocol == "https" { "443" } else { "80" };
    let whole = if port.is_empty() || port == usual {
        format!("{protocol}://{domain}{path}")
    } else {
        format!("{protocol}://{domain}:{port}{path}")
    };
    checked(context, whole, path)
}

/// A URL when its server can be one, whatever its variables will be; otherwise another.
fn checked(context: &mut Context, url: String, otherwise: String) -> String {
    let sample: String = template::parts(&url)
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => text,
            Part::Variable(_) => "1",
        })
        .collect();
    match Target::parse(&sample) {
        Ok(_) => url,
        Err(error) => {
            context.note(
                Fate::Changed,
                format!(
                    "{}; only its path is taken, set `base`",
                    shortened(&error.to_string(), 200)
                ),
            );
            otherwise
        }
    }
}

fn login(context: &mut Context, scope: &Scope, step: &mut Step) {
    let Some(url) = &step.url else { return };
    let Some(login) = scope.login_for(url) else {
        return;
    };
    if login.name.is_empty() {
        return;
    }
    let usable = !login.name.contains(':') || template::plain(&login.name).is_none();
    if usable {
        step.basic_auth = Some((login.name.clone(), login.password.clone()));
    } else {
        context.note(
            Fate::LeftOut,
            "a user name with a colon cannot be sent (RFC 7617)",
        );
    }
}

/// What is in a sampler and has no place in a step.
fn remarks(context: &mut Context, sampler: &Element<'_>) {
    if sampler.flag("HTTPSampler.image_parser") {
        context.note(
            Fate::Changed,
            "what its page embeds (pictures, scripts) is not fetched; list it as steps",
        );
    }
    let encoding = sampler.text("HTTPSampler.contentEncoding").trim();
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("utf-8") {
        context.note(
            Fate::Changed,
            format!("it is sent as UTF-8 instead of {}", shortened(encoding, 30)),
        );
    }
    let timeouts = [
        "HTTPSampler.connect_timeout",
        "HTTPSampler.response_timeout",
    ];
    if let Some(limit) = timeouts
        .iter()
        .find_map(|name| context.number(sampler.text(name)))
        && limit > 0.0
    {
        context.note(
            Fate::LeftOut,
            format!("its time-out of {limit:.0} ms; `--timeout` sets one for all requests"),
        );
    }
    if !sampler.text("HTTPSampler.ipSource").trim().is_empty() {
        context.note(Fate::LeftOut, "its source address");
    }
    if !sampler.text("HTTPSampler.proxyHost").trim().is_empty() {
        context.note(Fate::LeftOut, "its proxy");
    }
}

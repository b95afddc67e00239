//! The rows of the tables in sites and path rules: one rewriting, one redirection, an answer,
//! authentication, CORS, maintenance.

use std::ops::Range;
use std::path::PathBuf;

use crate::address::{self, Refused};
use crate::diagnostic::Diagnostic;
use crate::draft::Spanned;
use crate::settings::{BasicAuth, Cors, Maintenance, Redirect, Respond, Rewrite};
use crate::template::{self, Groups};
use crate::words;

use super::DAY;
use super::rules::page;
use super::setting::Setting;
use super::value::{Given, each_bare};

const PATTERN: &str = "a regular expression over the path, such as \"^/old/(.*)$\"";

/// One of `rewrite`, as far as it is read.
#[derive(Debug, Default)]
pub(crate) struct RewriteDraft {
    pattern: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
}

/// One of `redirect`, as far as it is read.
#[derive(Debug, Default)]
pub(crate) struct RedirectDraft {
    rewrite: RewriteDraft,
    status: Option<u16>,
}

/// `respond`, as far as it is read.
#[derive(Debug, Default)]
pub(crate) struct RespondDraft {
    status: Option<u16>,
    body: Option<Spanned<String>>,
    media_type: Option<String>,
}

/// `auth`, as far as it is read.
#[derive(Debug, Default)]
pub(crate) struct AuthDraft {
    realm: Option<String>,
    users: Option<PathBuf>,
}

#[rustfmt::skip]
pub(crate) static REWRITE: &[Setting<RewriteDraft>] = &[
    Setting::text("match", PATTERN, |rewrite: &mut RewriteDraft, text| {
        rewrite.pattern = Some(text);
        Ok(())
    })
    .row("site.rewrite", "none: it must be given", "\"^/old/(.*)$\"", "Which paths are changed. The groups are `{1}`, `{2}`, … and `{name}` in `to`."),
    Setting::text("to", "a template such as \"/new/{1}\"", |rewrite: &mut RewriteDraft, text| {
        rewrite.to = Some(text);
        Ok(())
    })
    .row("site.rewrite", "none: it must be given", "\"/new/{1}\"",
        "The new path and, with a `?` in it, the new query; without one the query stays. Also in it: `{host}`, `{path}`, `{query}`, `{uri}`, `{method}`, `{client}`, `{scheme}`, `{header.NAME}`, `{cookie.NAME}`, `{query.NAME}`."),
];

#[rustfmt::skip]
pub(crate) static REDIRECT: &[Setting<RedirectDraft>] = &[
    Setting::text("match", PATTERN, |redirect: &mut RedirectDraft, text| {
        redirect.rewrite.pattern = Some(text);
        Ok(())
    })
    .row("site.redirect", "none: it must be given", "\"^/old/(.*)$\"", "Which paths are redirected. The groups are `{1}`, `{2}`, … and `{name}` in `to`."),
    Setting::text("to", "a template such as \"https://new.example/{1}\"", |redirect: &mut RedirectDraft, text| {
        redirect.rewrite.to = Some(text);
        Ok(())
    })
    .row("site.redirect", "none: it must be given", "\"https://new.example{uri}\"", "`Location`: a path or a URL, with the same names in it as in [[site.NAME.rewrite]]."),
    Setting::shape("status", "301, 302, 303, 307 or 308", |redirect: &mut RedirectDraft, row, given, out| {
        match given.item.as_integer() {
            Some(status @ (301 | 302 | 303 | 307 | 308)) => redirect.status = u16::try_from(status).ok(),
            Some(status) => out.push(given.wrong(row, format_args!("{status} is not a redirection"))),
            None => out.extend(given.wrong_type(row)),
        }
    })
    .row("site.redirect", "`302`", "301", "Its status: 301 and 308 are for good, 302, 303 and 307 for now; 307 and 308 keep method and body."),
];

#[rustfmt::skip]
pub(crate) static RESPOND: &[Setting<RespondDraft>] = &[
    Setting::count("status", |respond: &mut RespondDraft, n| respond.status = u16::try_from(n).ok())
        .between(200, 599)
        .row("site.respond", "`200`", "410", "Its status."),
    Setting::text("body", "a template", |respond: &mut RespondDraft, text| {
        respond.body = Some(text);
        Ok(())
    })
    .row("site.respond", "empty", "\"you are {client}\\n\"", "Its body, with the same names in it as in [[site.NAME.rewrite]]. What comes from the request is escaped where the type is HTML or XML."),
    Setting::text("type", "a media type", |respond: &mut RespondDraft, text| {
        respond.media_type = Some(words::media_type(&text.value)?);
        Ok(())
    })
    .row("site.respond", "`text/plain; charset=utf-8`", "\"application/json\"", "Its media type."),
];

#[rustfmt::skip]
pub(crate) static AUTH: &[Setting<AuthDraft>] = &[
    Setting::text("realm", "a text", |auth: &mut AuthDraft, text| {
        auth.realm = Some(words::realm(&text.value)?);
        Ok(())
    })
    .row("site.auth", "`Restricted`", "\"Staff\"", "What the browser shows."),
    Setting::text("users", "the absolute path of a file", |auth: &mut AuthDraft, text| {
        auth.users = Some(page(&text.value)?);
        Ok(())
    })
    .row("site.auth", "none: it must be given", "\"/etc/forebay/htpasswd\"",
        "A file of `htpasswd`, a line `name:hash` for each user: bcrypt (`htpasswd -B`), SHA-crypt (`openssl passwd -5` or `-6`), apr1 or {SHA}. It is read again when it changes."),
];

#[rustfmt::skip]
pub(crate) static CORS: &[Setting<Cors>] = &[
    Setting::list("origins", "origins such as \"https://shop.example\", globs, or \"*\"", |cors: &mut Cors, list, wrong| {
        cors.origins = each_bare(list, words::web_origin, wrong);
    })
    .between(1, u64::MAX)
    .row("site.cors", "none: it must be given", "[\"https://shop.example\", \"https://*.shop.example\"]", "Whose scripts may; `*` alone: everybody's."),
    Setting::list("methods", "methods such as \"PUT\"", |cors: &mut Cors, list, wrong| {
        cors.methods = each_bare(list, words::method, wrong);
    })
    .row("site.cors", "[\"GET\", \"HEAD\", \"POST\"]", "[\"GET\", \"PUT\", \"DELETE\"]", "Methods that they may use."),
    Setting::list("headers", "names of fields", |cors: &mut Cors, list, wrong| {
        cors.headers = each_bare(list, words::field_name, wrong);
    })
    .row("site.cors", "[]", "[\"Content-Type\", \"Authorization\"]", "Request fields that they may set, beside the harmless ones; `*`: any that is asked for."),
    Setting::list("expose", "names of fields", |cors: &mut Cors, list, wrong| {
        cors.expose = each_bare(list, words::field_name, wrong);
    })
    .row("site.cors", "[]", "[\"X-Total\"]", "Response fields that they may see, beside the harmless ones."),
    Setting::flag("credentials", |cors: &mut Cors, on| cors.credentials = on)
        .row("site.cors", "false", "true", "Whether cookies and passwords may be sent along; not with the origin `*`."),
    Setting::time("max_age", |cors: &mut Cors, time| cors.max_age = time)
        .between(0, DAY)
        .row("site.cors", "\"10m\"", "\"1h\"", "How long browsers remember the answer to a preflight."),
];

#[rustfmt::skip]
pub(crate) static MAINTENANCE: &[Setting<Maintenance>] = &[
    Setting::text("while_exists", "the absolute path of a file", |maintenance: &mut Maintenance, text| {
        maintenance.while_exists = Some(page(&text.value)?);
        Ok(())
    })
    .row("site.maintenance", "always on", "\"/srv/shop/maintenance\"", "On while this file exists; it is looked for once a second."),
    Setting::list("allow", "networks or addresses such as \"10.0.0.0/8\"", |maintenance: &mut Maintenance, list, wrong| {
        maintenance.allow = each_bare(list, address::network, wrong);
    })
    .row("site.maintenance", "[]", "[\"10.0.0.0/8\"]", "Clients that are served nevertheless."),
    Setting::text("page", "the absolute path of a file", |maintenance: &mut Maintenance, text| {
        maintenance.page = Some(page(&text.value)?);
        Ok(())
    })
    .row("site.maintenance", "a plain one, or `error_pages` for 503", "\"/srv/shop/maintenance.html\"", "The page."),
    Setting::time("retry_after", |maintenance: &mut Maintenance, time| maintenance.retry_after = time)
        .between(1_000, 30 * DAY)
        .row("site.maintenance", "\"1m\"", "\"10m\"", "`Retry-After`."),
];

fn lacks(given: &Given<'_>, span: &Range<usize>, key: &str, write: &str) -> Diagnostic {
    Diagnostic::error(
        span.clone(),
        format!("`{}`: `{key}` is missing", given.path),
    )
    .suggest(format!("write {write}"))
}

/// What a text was refused for.
fn refused(given: &Given<'_>, span: &Range<usize>, refused: Refused) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        span.clone(),
        format!("`{}`: {}", given.path, refused.message),
    );
    match refused.suggestion {
        Some(suggestion) => diagnostic.suggest(suggestion),
        None => diagnostic,
    }
}

impl RewriteDraft {
    /// Pattern and template, with what is wrong between them in `out`.
    fn pair(
        self,
        given: &Given<'_>,
        span: &Range<usize>,
        check: fn(&str) -> Result<(), Refused>,
        out: &mut Vec<Diagnostic>,
    ) -> Option<(String, String)> {
        let (Some(pattern), Some(to)) = (&self.pattern, &self.to) else {
            let (key, write) = match self.pattern {
                None => ("match", "match = \"^/old/(.*)$\""),
                Some(_) => ("to", "to = \"/new/{1}\""),
            };
            out.push(lacks(given, span, key, write));
            return None;
        };
        let regex = match template::compile(&pattern.value) {
            Ok(regex) => regex,
            Err(message) => {
                out.push(refused(given, &pattern.span, Refused::new(message)));
                return None;
            }
        };
        let read = words::template(&to.value, &Groups::of(&regex));
        if let Err(wrong) = read.and_then(|text| check(&text)) {
            out.push(refused(given, &to.span, wrong));
            return None;
        }
        Some((pattern.value.clone(), to.value.clone()))
    }

    pub(super) fn checked(
        self,
        given: &Given<'_>,
        span: &Range<usize>,
        out: &mut Vec<Diagnostic>,
    ) -> Option<Rewrite> {
        let (pattern, to) = self.pair(given, span, words::rewrite_target, out)?;
        Some(Rewrite { pattern, to })
    }
}

impl RedirectDraft {
    pub(super) fn checked(
        self,
        given: &Given<'_>,
        span: &Range<usize>,
        out: &mut Vec<Diagnostic>,
    ) -> Option<Redirect> {
        let status = self.status.unwrap_or(302);
        let (pattern, to) = self
            .rewrite
            .pair(given, span, words::redirect_target, out)?;
        Some(Redirect {
            pattern,
            to,
            status,
        })
    }
}

impl RespondDraft {
    pub(super) fn checked(
        self,
        groups: &Groups,
        given: &Given<'_>,
        out: &mut Vec<Diagnostic>,
    ) -> Option<Respond> {
        let mut body = String::new();
        if let Some(text) = self.body {
            if let Err(error) = template::parse(&text.value, groups) {
                out.push(refused(given, &text.span, error.into()));
                return None;
            }
            body = text.value;
        }
        let kind = self.media_type;
        Some(Respond {
            status: self.status.unwrap_or(200),
            body,
            media_type: kind.unwrap_or_else(|| "text/plain; charset=utf-8".into()),
        })
    }
}

impl AuthDraft {
    pub(super) fn checked(self, given: &Given<'_>, out: &mut Vec<Diagnostic>) -> Option<BasicAuth> {
        let realm = self.realm.unwrap_or_else(|| "Restricted".into());
        match self.users {
            Some(users) => Some(BasicAuth { realm, users }),
            None => {
                let write = "users = \"/etc/forebay/htpasswd\"";
                if !given
                    .item
                    .as_table_like()
                    .is_some_and(|table| table.contains_key("users"))
                {
                    out.push(lacks(given, &given.span, "users", write));
                }
                None
            }
        }
    }
}

/// Origins that are missing, or that credentials are not for.
pub(super) fn checked_cors(
    cors: Cors,
    given: &Given<'_>,
    out: &mut Vec<Diagnostic>,
) -> Option<Cors> {
    let written = given.item.as_table_like();
    if !written.is_some_and(|table| table.contains_key("origins")) {
        out.push(lacks(
            given,
            &given.span,
            "origins",
            "origins = [\"https://shop.example\"]",
        ));
        return None;
    }
    if cors.credentials && cors.origins.iter().any(|origin| origin == "*") {
        let message = format!(
            "`{}`: with `credentials` every page of the web could act as your users",
            given.path
        );
        let diagnostic = Diagnostic::error(given.span.clone(), message);
        out.push(diagnostic.expected("the origins that may, or credentials = false"));
        return None;
    }
    Some(cors)
}

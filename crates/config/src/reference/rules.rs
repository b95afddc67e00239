//! The rows of what sites and path rules change, refuse and limit: addresses, fields, errors,
//! access, rates.

use std::path::PathBuf;

use crate::address;
use crate::draft::ServiceDraft;
use crate::settings::{Cors, Maintenance};
use crate::words;

use super::nested;
use super::rules_parts::{AUTH, CORS, MAINTENANCE, REDIRECT, RESPOND, REWRITE};
use super::setting::Setting;
use super::value::each_bare;

const NETWORKS: &str = "networks or addresses such as \"10.0.0.0/8\"";
const NAMES: &str = "names of fields, or globs such as \"X-Debug-*\"";
const FIELDS: &str = "a table of templates by field, such as { X-Real-IP = \"{client}\" }";

/// A row of fields that are set or added.
macro_rules! fields {
    ($name:literal => $edits:ident.$list:ident, $side:ident, $example:literal, $doc:literal) => {
        Setting::shape(
            $name,
            FIELDS,
            |draft: &mut ServiceDraft, row, given, out| {
                let groups = &draft.groups;
                let edits = nested::texts((row, given), out, |name, value| {
                    words::field_edit(name, value, groups, words::Side::$side)
                });
                draft.service.$edits.$list = edits;
            },
        )
        .row("site", "{}", $example, $doc)
    };
}

/// Addresses: rewriting, redirecting, answers without an origin.
#[rustfmt::skip]
pub(crate) static ADDRESSES: &[Setting<ServiceDraft>] = &[
    Setting::shape("rewrite", "a list such as [{ match = \"^/old/(.*)$\", to = \"/new/{1}\" }]", |draft: &mut ServiceDraft, row, given, out| {
        let list = nested::tables(REWRITE, (row, given), None, out);
        draft.service.rewrite = list.into_iter().filter_map(|one| one.value.checked(given, &one.span, out)).collect();
    })
    .row("site", "[]", "[{ match = \"^/old/(.*)$\", to = \"/new/{1}\" }]",
        "Changes of path and query before anything is looked up, in this order; the first that matches decides. See [[site.NAME.rewrite]]."),
    Setting::shape("redirect", "a list such as [{ match = \"^/old/(.*)$\", to = \"/new/{1}\", status = 301 }]", |draft: &mut ServiceDraft, row, given, out| {
        let list = nested::tables(REDIRECT, (row, given), None, out);
        draft.service.redirect = list.into_iter().filter_map(|one| one.value.checked(given, &one.span, out)).collect();
    })
    .row("site", "[]", "[{ match = \"^/old/(.*)$\", to = \"https://new.example/{1}\", status = 301 }]",
        "Redirections, in this order, before `rewrite`; the first that matches answers. See [[site.NAME.redirect]]."),
    Setting::shape("respond", "a table such as { status = 200, body = \"ok\" }, or false", |draft: &mut ServiceDraft, row, given, out| {
        let groups = draft.groups.clone();
        let read = nested::section_or_off(RESPOND, (row, given), out);
        draft.service.respond = read.and_then(|respond| respond.checked(&groups, given, out));
    })
    .row("site", "false", "{ status = 410, body = \"gone\" }", "Everything is answered here with this. See [site.NAME.respond]."),
];

/// Fields and error pages.
#[rustfmt::skip]
pub(crate) static HEADERS: &[Setting<ServiceDraft>] = &[
    fields!("set_request_headers" => request_headers.set, Request, "{ X-Real-IP = \"{client}\" }",
        "Fields of the request to the origin, in place of all that have the name."),
    fields!("add_request_headers" => request_headers.add, Request, "{ X-Via = \"edge\" }",
        "The same, beside them."),
    Setting::list("remove_request_headers", NAMES, |draft: &mut ServiceDraft, list, wrong| {
        draft.service.request_headers.remove = each_bare(list, |name| words::field_removed(name, words::Side::Request), wrong);
    })
    .row("site", "[]", "[\"X-Debug-*\"]", "Fields that the origin does not get."),
    fields!("set_response_headers" => response_headers.set, Response, "{ Strict-Transport-Security = \"max-age=31536000\" }",
        "Fields of the response to the client, in place of all that have the name; of cached responses too."),
    fields!("add_response_headers" => response_headers.add, Response, "{ Link = \"</app.css>; rel=preload\" }",
        "The same, beside them."),
    Setting::list("remove_response_headers", NAMES, |draft: &mut ServiceDraft, list, wrong| {
        draft.service.response_headers.remove = each_bare(list, |name| words::field_removed(name, words::Side::Response), wrong);
    })
    .row("site", "[]", "[\"X-Powered-By\"]", "Fields that the client does not get."),
    Setting::shape("error_pages", "a table of files by status, such as { 404 = \"/srv/404.html\", 5xx = \"/srv/50x.html\" }", |draft: &mut ServiceDraft, row, given, out| {
        draft.service.error_pages = words::error_pages(nested::texts((row, given), out, words::error_page));
    })
    .row("site", "{}", "{ 404 = \"/srv/errors/404.html\", 5xx = \"/srv/errors/50x.html\" }",
        "Pages for errors of Forebay's own, by status or hundred of them; absolute paths of files."),
    Setting::flag("intercept_errors", |draft: &mut ServiceDraft, on| draft.service.intercept_errors = on)
        .row("site", "false", "true", "Whether the origin's errors are replaced by `error_pages` too."),
];

/// Who may, and how much.
#[rustfmt::skip]
pub(crate) static ACCESS: &[Setting<ServiceDraft>] = &[
    Setting::shape("auth", "a table such as { realm = \"Staff\", users = \"/etc/forebay/htpasswd\" }, or false", |draft: &mut ServiceDraft, row, given, out| {
        let read = nested::section_or_off(AUTH, (row, given), out);
        draft.service.auth = read.and_then(|auth| auth.checked(given, out));
    })
    .row("site", "false", "{ realm = \"Staff\", users = \"/etc/forebay/htpasswd\" }",
        "User names and passwords are asked for (HTTP basic authentication). See [site.NAME.auth]."),
    Setting::list("allow", NETWORKS, |draft: &mut ServiceDraft, list, wrong| {
        draft.service.allow = each_bare(list, address::network, wrong);
    })
    .row("site", "[]", "[\"10.0.0.0/8\"]", "When not empty: only these clients; others get 403."),
    Setting::list("deny", NETWORKS, |draft: &mut ServiceDraft, list, wrong| {
        draft.service.deny = each_bare(list, address::network, wrong);
    })
    .row("site", "[]", "[\"192.0.2.7\"]", "These clients get 403, also when they are allowed."),
    Setting::text("request_rate", "a rate such as \"10/s\" or \"600/m\", or \"off\"", |draft: &mut ServiceDraft, text| {
        draft.rate = words::rate(&text.value)?;
        Ok(())
    })
    .row("site", "\"off\"", "\"10/s\"", "Requests of one client (an IPv4 address, or an IPv6 network of 64 bits); beyond: 429 with `Retry-After`."),
    Setting::count("request_burst", |draft: &mut ServiceDraft, n| draft.burst = u32::try_from(n).ok())
        .between(0, 1_000_000)
        .row("site", "one less than the requests of `request_rate`: all of them may come at once", "20",
            "How many more requests than one may come at once after a pause."),
    Setting::count_or_unlimited("client_requests", |draft: &mut ServiceDraft, n| {
        draft.service.client_requests = n.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    })
    .between(1, 1_000_000)
    .row("site", "\"unlimited\"", "20", "Requests of one client at once; beyond: 429."),
    Setting::size_or_unlimited("request_body", |draft: &mut ServiceDraft, bytes| {
        draft.service.request_body_bytes = Some(bytes.unwrap_or(u64::MAX));
    })
    .row("site", "`limits.request_body`", "\"10MiB\"", "A request body; beyond: 413."),
    Setting::shape("cors", "a section [site.NAME.cors], or false", |draft: &mut ServiceDraft, row, given, out| {
        let read: Option<Cors> = nested::section_or_off(CORS, (row, given), out);
        draft.service.cors = read.and_then(|cors| super::rules_parts::checked_cors(cors, given, out));
    })
    .row("site", "false", "{ origins = [\"https://shop.example\"] }",
        "Scripts of other origins may read responses (CORS). See [site.NAME.cors]."),
    Setting::shape("maintenance", "a section [site.NAME.maintenance], true or false", |draft: &mut ServiceDraft, row, given, out| {
        let read: Option<Maintenance> = nested::section_or_flag(MAINTENANCE, (row, given), out);
        draft.service.maintenance = read;
    })
    .row("site", "false", "{ while_exists = \"/srv/shop/maintenance\" }",
        "Everybody gets 503 with `Retry-After`. See [site.NAME.maintenance]."),
];

/// The path of a page.
pub(super) fn page(text: &str) -> Result<PathBuf, address::Refused> {
    super::disk::absolute(text).map(PathBuf::from)
}

//! The rows of `[site.NAME]` and `[[site.NAME.path]]`: which requests they are for. What is done
//! with them is in `service`.

use crate::address;
use crate::draft::{PathDraft, SiteDraft};
use crate::template;
use crate::words;

use super::nested;
use super::setting::Setting;
use super::value::{each, each_bare};

pub(crate) static SITE: &[Setting<SiteDraft>] = &[
    Setting::list(
        "hosts",
        "hosts such as \"shop.example\", \"*.shop.example\" or \"*\"",
        |site: &mut SiteDraft, list, wrong| {
            site.hosts = each(list, address::host, wrong);
        },
    )
    .between(1, u64::MAX)
    .row(
        "site",
        "every host",
        "[\"shop.example\", \"*.shop.example\"]",
        "The hosts of the site. An exact host is stronger than a longer `*.`, that than a shorter one, and that than `*`.",
    ),
    Setting::list("methods", "methods such as \"GET\"", |site: &mut SiteDraft, list, wrong| {
        site.methods = each_bare(list, words::method, wrong);
    })
    .between(1, u64::MAX)
    .row(
        "site",
        "every method",
        "[\"GET\", \"HEAD\", \"POST\"]",
        "The methods allowed; others get 405.",
    ),
];

pub(crate) static PATH: &[Setting<PathDraft>] = &[
    Setting::text(
        "match",
        "a pattern such as \"/img/*\" or \"*.css\"",
        |path: &mut PathDraft, text| {
            path.when.pattern = Some(words::path_pattern(&text.value)?);
            Ok(())
        },
    )
    .row(
        "site.path",
        "every path, if there is another condition",
        "\"/img/*\"",
        "The paths the rule is for: `*` stands for any run of characters, `?` for one; without either, it is a prefix that ends at a `/` or matches whole. All conditions of a rule must hold; the first rule of a site that holds decides.",
    ),
    Setting::text(
        "regex",
        "a regular expression such as \"^/user/([0-9]+)$\"",
        |path: &mut PathDraft, text| {
            template::compile(&text.value).map_err(address::Refused::new)?;
            path.when.regex = Some(text.value);
            Ok(())
        },
    )
    .row(
        "site.path",
        "every path, if there is another condition",
        "\"^/user/(?<id>[0-9]+)\"",
        "The paths the rule is for, as a regular expression over any part of the path. Its groups are `{1}`, `{2}`, … and `{name}` in the texts of this rule.",
    ),
    Setting::list("methods", "methods such as \"GET\"", |path: &mut PathDraft, list, wrong| {
        path.when.methods = each_bare(list, words::method, wrong);
    })
    .between(1, u64::MAX)
    .row(
        "site.path",
        "every method",
        "[\"POST\", \"PUT\"]",
        "The methods the rule is for; which are allowed at all, the site says.",
    ),
    Setting::shape(
        "headers",
        "a table of globs by field, such as { User-Agent = \"*bot*\" }",
        |path: &mut PathDraft, row, given, out| {
            path.when.headers = nested::texts((row, given), out, |name, glob| {
                Ok((words::field_name(name)?.to_ascii_lowercase(), glob.to_owned()))
            });
        },
    )
    .row(
        "site.path",
        "any",
        "{ User-Agent = \"*bot*\" }",
        "Request fields that must be there, with a value that the glob matches; `*` matches any. Responses that differ by it must say so in `Vary`, or the cache key must have the field.",
    ),
    Setting::shape(
        "query",
        "a table of globs by parameter, such as { preview = \"*\" }",
        |path: &mut PathDraft, row, given, out| {
            path.when.query = nested::texts((row, given), out, |name, glob| {
                Ok((name.to_owned(), glob.to_owned()))
            });
        },
    )
    .row(
        "site.path",
        "any",
        "{ preview = \"*\" }",
        "Parameters of the query that must be there, with a value that the glob matches.",
    ),
    Setting::list(
        "clients",
        "networks or addresses such as \"10.0.0.0/8\"",
        |path: &mut PathDraft, list, wrong| {
            path.when.clients = each_bare(list, address::network, wrong);
        },
    )
    .between(1, u64::MAX)
    .row(
        "site.path",
        "any",
        "[\"10.0.0.0/8\"]",
        "Clients the rule is for.",
    ),
];

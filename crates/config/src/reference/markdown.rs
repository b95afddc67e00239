//! `docs/configuration.md`, generated from the rows.

use std::fmt::Write as _;

use crate::log_fields;

use super::{Row, SECTIONS, policy_rows, service_groups};

const HEAD: &str = "\
# Configuration

<!-- Generated from the settings table by `forebay explain --markdown`; do not edit. -->

`forebay serve -c forebay.toml` reads one TOML file. `forebay check -c forebay.toml` reports every
error in it, and `forebay explain SETTING` shows what stands here for one setting.

The smallest file:

```toml
[[listen]]
address = \"127.0.0.1:8080\"

[pool.app]
servers = [\"127.0.0.1:9000\"]
```

A larger one:

```toml
[[listen]]
address = \"0.0.0.0:80\"

[admin]
address = \"127.0.0.1:8081\"

[cache]
memory = \"1GiB\"
default_ttl = \"2m\"

[pool.app]
servers = [\"127.0.0.1:9000\", \"unix:/run/app.sock\"]
max_connections = 10

[site.shop]
hosts = [\"shop.example\", \"*.shop.example\"]
pool = \"app\"

[[site.shop.path]]
match = \"/img/*\"
force_ttl = \"1d\"

[site.blog]
hosts = [\"blog.example\"]
root = \"/srv/blog\"
php = \"unix:/run/php/php-fpm.sock\"

[site.admin]
hosts = [\"admin.shop.example\"]
pool = \"app\"
pass = true
```

## Values

| kind | written as |
|---|---|
| size | `\"512B\"`, `\"64KiB\"`, `\"1.5GiB\"` (powers of 1024), `\"10MB\"` (powers of 1000), or a number of bytes |
| time | `\"500ms\"`, `\"10s\"`, `\"2m\"`, `\"1h30m\"`, `\"7d\"`, `\"2w\"`, or a number of seconds |
| percentage | `\"10%\"`, `\"12.5%\"` |
| template | text in which `{host}`, `{path}`, `{query}`, `{uri}` (path and query), `{method}`, `{client}`, `{scheme}`, `{header.NAME}`, `{cookie.NAME}`, `{query.NAME}`, and with a regular expression its groups `{1}`, `{name}`, are replaced; `{{` and `}}` are the braces themselves |
| glob | text in which `*` stands for any run of characters and `?` for one |

## What holds where

The settings of the cache policy can stand in `[cache]`, in `[site.NAME]` and in
`[[site.NAME.path]]`. A site starts from what `[cache]` says, a path from what its site says; a
setting given there replaces the inherited one whole. What is done with requests goes the same way
from the site to its paths.

`forebay reload` (or SIGHUP) reads the file again and swaps everything at once; a file with an error
is refused and the old settings stay in force.
";

/// The whole reference as Markdown.
pub fn markdown() -> String {
    let mut text = String::from(HEAD);
    for section in SECTIONS {
        let _ = write!(text, "\n## `{}`\n\n{}\n\n", section.header, section.doc);
        table(&mut text, &section.rows());
        if section.name == "site" {
            text.push_str(
                "\n### What is done with requests\n\nIn `[site.NAME]` and `[[site.NAME.path]]`.\n",
            );
            for (heading, rows) in service_groups() {
                let _ = write!(text, "\n#### {heading}\n\n");
                table(&mut text, &rows);
            }
        }
        if section.name == "cache" {
            text.push_str("\n### The cache policy\n\nIn `[cache]`, `[site.NAME]` and `[[site.NAME.path]]`.\n\n");
            table(&mut text, &policy_rows());
        } else if section.takes_policy {
            let service = match section.name {
                "site" => "",
                _ => "[what is done with requests](#what-is-done-with-requests) and of ",
            };
            let _ = writeln!(
                text,
                "\nAnd the settings of {service}[the cache policy](#the-cache-policy)."
            );
        }
    }
    text.push_str("\n### Fields of the access log\n\n| field | what it says |\n|---|---|\n");
    for field in log_fields::ALL {
        let _ = writeln!(text, "| `{{{}}}` | {} |", field.name, cell(field.doc));
    }
    text.push_str("| `{header.NAME}` | The request's field of that name, or `-`. |\n");
    text
}

fn table(text: &mut String, rows: &[&Row]) {
    text.push_str("| setting | takes | default | example | meaning |\n|---|---|---|---|---|\n");
    for row in rows {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | `{}` | {} |",
            row.name,
            cell(&row.expected()),
            default(row.default),
            cell(row.example),
            cell(row.doc),
        );
    }
}

/// A default that can be written in the file, as code; one in words, as words.
fn default(text: &str) -> String {
    match super::is_toml(text) {
        true => format!("`{}`", cell(text)),
        false => cell(text),
    }
}

/// `|` ends a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn the_examples_at_its_head_are_accepted() {
        let examples: Vec<&str> = HEAD.split("```toml\n").skip(1).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let text = example.split("```").next().unwrap();
            let source = Source {
                name: "example".into(),
                text: text.into(),
            };
            let checked = crate::parse(&source).unwrap();
            assert_eq!(checked.warnings, []);
        }
    }

    /// `UPDATE_DOCS=1 cargo test -p forebay-config` writes the page.
    #[test]
    fn the_page_in_the_repository_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == markdown(),
            "docs/configuration.md is not what the settings table says; write it anew with \
             `cargo xtask docs` (or UPDATE_DOCS=1 cargo test -p forebay-config)"
        );
    }
}

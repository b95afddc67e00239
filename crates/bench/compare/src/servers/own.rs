//! Servers of the operator's own, a few lines of TOML each:
//!
//! ```toml
//! [[server]]
//! name = "mine"
//! about = "my cache"                        # optional
//! role = "cache"                            # or "files"; optional
//! command = ["mycache", "--port", "{port}", "--origin", "127.0.0.1:{origin_port}", "--config", "{dir}/my.conf"]
//! version = ["--version"]                   # optional
//! ready = "/health"                         # optional: asked until it answers 200
//! back = "thin"                             # optional: it stands before an application, whose ten processes listen
//!                                           # on the ports {back_1} to {back_10}; likewise "puma"; "php-tcp" and
//!                                           # "php-socket" have one place for FastCGI, {php_1}
//! prepare = [["--init", "{cache}"]]         # optional: run to their ends before
//! environment = { THREADS = "{cores}" }     # optional
//!
//! [server.files]                            # optional: written before it starts
//! "my.conf" = "threads = {cores}\nroot = {root}\n"
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{Program, Role, Server, fronts};
use crate::place;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    server: Vec<Own>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    name: String,
    about: Option<String>,
    #[serde(default)]
    role: Role,
    command: Vec<String>,
    #[serde(default)]
    version: Vec<String>,
    ready: Option<String>,
    back: Option<String>,
    #[serde(default)]
    prepare: Vec<Vec<String>>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// The servers in a file.
///
/// # Errors
/// When it cannot be read, or is not what the head of this file shows: with the line.
pub(crate) fn read(path: &Path) -> Result<Vec<Server>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?;
    parse(&text).map_err(|e| format!("{shown}: {e}"))
}

fn parse(text: &str) -> Result<Vec<Server>, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    file.server.into_iter().map(server).collect()
}

fn server(own: Own) -> Result<Server, String> {
    let mut command = own.command.into_iter();
    let program = command
        .next()
        .ok_or_else(|| format!("{}: `command` is empty", own.name))?;
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if own.name.is_empty() || !own.name.chars().all(valid) {
        return Err(format!(
            "{:?}: a name is made of letters, digits, `-`, `_` and `.`",
            own.name
        ));
    }
    let about = own
        .about
        .unwrap_or_else(|| format!("{program}, configured by hand"));
    let mut server = Server::new(&own.name, &about, own.role, Program::Own(program));
    server.arguments = command.collect();
    server.version = own.version;
    server.prepare = own.prepare;
    server.ready_path = own.ready;
    server.environment = own.environment.into_iter().collect();
    for (path, text) in own.files {
        if !stays_inside(&path) {
            return Err(format!(
                "{}: the file {path:?} would lie outside its folder",
                own.name
            ));
        }
        server = server.file(&path, text);
    }
    check_placeholders(&server)?;
    with_back(server, own.back.as_deref())
}

/// Fronts need something behind them; stores need an application before them, which only those built in have.
fn with_back(server: Server, back: Option<&str>) -> Result<Server, String> {
    let name = server.name.clone();
    match back {
        Some(back) => fronts::before(server, back).ok_or_else(|| {
            format!(
                "{name}: `back` is \"thin\", \"puma\", \"php-tcp\" or \"php-socket\", not {back:?}"
            )
        }),
        None if server.role.group() == Role::Cache => Ok(server),
        None => Err(format!(
            "{name}: `role` is \"cache\" or \"files\"; a front says with `back` what is behind it"
        )),
    }
}

fn stays_inside(path: &str) -> bool {
    use std::path::Component;
    !path.is_empty()
        && Path::new(path)
            .components()
            .all(|c| matches!(c, Component::Normal(_)))
}

/// A word in braces that stands for nothing is a mistake in a command; in a file it may be the file's own.
fn check_placeholders(server: &Server) -> Result<(), String> {
    for argument in server
        .arguments
        .iter()
        .chain(server.prepare.iter().flatten())
    {
        if let Some(word) = place::unknown_placeholder(argument) {
            return Err(format!(
                "{}: {word} in `{argument}` stands for nothing; there are {}",
                server.name,
                place::PLACEHOLDERS.map(|(name, _)| name).join(" ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_server_of_ones_own_is_a_few_lines() {
        let servers = parse(
            r#"
            [[server]]
            name = "mine"
            command = ["mycache", "-p", "{port}", "-c", "{dir}/my.conf"]
            role = "files"
            ready = "/health"
            [server.files]
            "my.conf" = "x = { y }\nroot = {root}"
            "#,
        )
        .unwrap();
        let mine = servers.first().unwrap();
        assert_eq!(mine.program, Program::Own("mycache".into()));
        assert_eq!(mine.arguments, ["-p", "{port}", "-c", "{dir}/my.conf"]);
        assert_eq!(mine.role, Role::Files);
        assert_eq!(mine.files.first().unwrap().path, "my.conf");
    }

    #[test]
    fn a_front_has_an_application_behind_it() {
        let front = |line: &str| {
            parse(&format!(
                "[[server]]\nname = \"mine\"\ncommand = [\"x\", \"{{back_10}}\"]\n{line}"
            ))
        };
        let servers = front("back = \"thin\"").unwrap();
        let mine = servers.first().unwrap();
        assert_eq!(mine.role, Role::Front);
        assert_eq!(mine.beside.first().unwrap().count, 10);
        assert!(front("back = \"php\"").is_err_and(|e| e.contains("php-tcp")));
        assert!(front("role = \"front\"").is_err_and(|e| e.contains("back")));
        assert!(front("role = \"store\"").is_err_and(|e| e.contains("role")));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = [
            ("[[server]]\nname = \"a\"", "command"),
            ("[[server]]\nname = \"a b\"\ncommand = [\"x\"]", "letters"),
            ("[[server]]\nname = \"a\"\ncommand = []", "empty"),
            (
                "[[server]]\nname = \"a\"\ncommand = [\"x\", \"{prot}\"]",
                "{prot}",
            ),
            (
                "[[server]]\nname = \"a\"\ncommand = [\"x\"]\ntypo = 1",
                "typo",
            ),
            (
                "[[server]]\nname = \"a\"\ncommand = [\"x\"]\nfiles = { \"../b\" = \"\" }",
                "outside",
            ),
        ];
        for (text, word) in wrong {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

//! Servers in front of an application of ten processes, each with the ways of
//! reaching it that it has.

mod apache;
mod forebay;
mod haproxy;
mod lighttpd;
mod nginx;

use super::apps::{self, PHP, PROCESSES, RACK};
use super::{Companion, Listens, Program, Role, Server};

/// Makes what is behind a front.
type Back = fn() -> Companion;

/// What is behind a front that speaks HTTP to it: its name, and what it is.
const BACKS: [(&str, Back); 2] = [("thin", apps::thin), ("puma", apps::puma)];
/// How FastCGI is reached.
const FASTCGI: [(&str, Listens); 2] = [("tcp", Listens::Port), ("socket", Listens::Socket)];
/// Connections to each process of the application at once; the rest wait in the front.
const LIMITS: [Option<u32>; 3] = [Some(10), Some(1), None];

/// All of them.
pub(in crate::servers) fn servers() -> Vec<Server> {
    [
        forebay::servers(),
        nginx::servers(),
        haproxy::servers(),
        lighttpd::servers(),
        apache::servers(),
    ]
    .concat()
}

/// Puts the application behind a server of the operator's own; `None` when `back` names no way of reaching it.
pub(in crate::servers) fn before(server: Server, back: &str) -> Option<Server> {
    let mut server = match back {
        "php-tcp" => before_php(server, Listens::Port),
        "php-socket" => before_php(server, Listens::Socket),
        _ => {
            let (_, companion) = BACKS.into_iter().find(|(name, _)| *name == back)?;
            before_rack(server, companion())
        }
    };
    server.role = Role::Front;
    Some(server)
}

fn front(name: String, about: String, program: &'static str, package: &'static str) -> Server {
    let program = Program::Packaged { program, package };
    Server::new(&name, &about, Role::Front, program)
}

/// With ten processes that speak HTTP behind it.
fn before_rack(server: Server, back: Companion) -> Server {
    let mut server = server.file(RACK.0, RACK.1);
    server.beside.push(back);
    server
}

/// With ten processes that speak FastCGI behind it.
fn before_php(server: Server, listens: Listens) -> Server {
    let mut server = server
        .file(PHP.0, PHP.1)
        .file("php-fpm.conf", apps::php_config(listens, PROCESSES, ""));
    server.beside.push(apps::php(listens));
    server.account = Some("www-data");
    server
}

/// A line for each process of the application; `{n}` is its number.
fn members(line: &str) -> String {
    let numbers = 1..=PROCESSES;
    let lines: Vec<String> = numbers
        .map(|n| line.replace("{n}", &n.to_string()))
        .collect();
    lines.join("\n")
}

fn limit_name(limit: Option<u32>) -> String {
    limit.map_or_else(|| "none".into(), |limit| limit.to_string())
}

fn limit_words(limit: Option<u32>) -> String {
    match limit {
        Some(1) => "one connection to each process".into(),
        Some(limit) => format!("{limit} connections to each process"),
        None => "no limit of connections".into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config(name: &str) -> String {
        let server = servers().into_iter().find(|s| s.name == name).unwrap();
        server.files.iter().map(|f| f.text.as_str()).collect()
    }

    #[test]
    fn limits_are_in_the_configuration_of_those_that_have_them() {
        assert!(config("haproxy-10-puma").contains("server back10 127.0.0.1:{back_10} maxconn 10"));
        assert!(!config("haproxy-none-thin").contains(" maxconn 1"));
        assert!(config("forebay-1-thin").contains("max_connections = 1\n"));
        assert!(config("forebay-none-thin").contains("max_connections = \"unlimited\""));
    }

    #[test]
    fn each_front_knows_every_process_of_what_is_behind_it() {
        for server in servers() {
            let text: String = server.files.iter().map(|f| f.text.as_str()).collect();
            let Some(back) = server.beside.first() else {
                continue;
            };
            if back.listens == Listens::Port && server.beside.len() == 1 {
                for n in 1..=back.count {
                    let place = format!("{{{}_{n}}}", back.name);
                    assert!(text.contains(&place), "{}: {place}", server.name);
                }
            }
        }
    }
}

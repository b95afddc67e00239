//! Servers of files that have no cache of responses: lighttpd, H2O, Caddy.

use super::{Program, Role, Server};

fn server(name: &str, about: &str, program: &'static str, package: &'static str) -> Server {
    let program = Program::Packaged { program, package };
    Server::new(name, about, Role::Files, program)
}

pub(super) fn servers() -> Vec<Server> {
    let lighttpd = server(
        "lighttpd-static",
        "lighttpd, files of a folder",
        "lighttpd",
        "lighttpd",
    )
    .file("lighttpd.conf", include_str!("../templates/lighttpd.conf"))
    .arguments("-D -f {dir}/lighttpd.conf")
    .version("-v");
    let h2o = server("h2o-static", "H2O, files of a folder", "h2o", "h2o")
        .file("h2o.yaml", include_str!("../templates/h2o.yaml"))
        .arguments("-m worker -c {dir}/h2o.yaml")
        .version("--version");
    let mut caddy = server("caddy-static", "Caddy, files of a folder", "caddy", "caddy")
        .file("Caddyfile", include_str!("../templates/Caddyfile"))
        .arguments("run --adapter caddyfile --config {dir}/Caddyfile")
        .version("version");
    caddy.environment = [
        ("GOMAXPROCS", "{cores}"),
        ("HOME", "{dir}"),
        ("XDG_DATA_HOME", "{dir}"),
        ("XDG_CONFIG_HOME", "{dir}"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    vec![lighttpd, h2o, caddy]
}

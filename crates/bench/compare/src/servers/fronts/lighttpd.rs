//! lighttpd before an application: HTTP and FastCGI.

use super::{BACKS, FASTCGI, before_php, before_rack, front, members};
use crate::servers::{Listens, Server};

pub(super) fn servers() -> Vec<Server> {
    let server = |name: &str, about: &str, module: &str, handing_on: &str| {
        let config = include_str!("../../templates/front-lighttpd.conf")
            .replace("{module}", module)
            .replace("{handing_on}", handing_on);
        front(
            format!("lighttpd-{name}"),
            format!("lighttpd, {about}"),
            "lighttpd",
            "lighttpd",
        )
        .file("lighttpd.conf", config)
        .arguments("-D -f {dir}/lighttpd.conf")
        .version("-v")
    };
    let proxy = format!(
        "proxy.balance = \"least-connection\"\nproxy.server = ( \"\" => (\n{}\n) )",
        members("    ( \"host\" => \"127.0.0.1\", \"port\" => {back_{n}} ),")
    );
    let http = BACKS.map(|(name, back)| {
        let about = format!("10 × {name}, the least busy first");
        before_rack(server(name, &about, "mod_proxy", &proxy), back())
    });
    let fastcgi = FASTCGI.map(|(name, listens)| {
        let place = match listens {
            Listens::Port => "\"host\" => \"127.0.0.1\", \"port\" => {php_1}",
            Listens::Socket | Listens::Nowhere => "\"socket\" => \"{php_1}\"",
        };
        let about = format!("10 processes of PHP over FastCGI ({name})");
        let pass = format!("fastcgi.server = ( \".php\" => (( {place} )) )");
        before_php(
            server(&format!("fcgi-{name}"), &about, "mod_fastcgi", &pass),
            listens,
        )
    });
    http.into_iter().chain(fastcgi).collect()
}

//! HAProxy before an application, with each limit of connections.

use super::{BACKS, LIMITS, before_rack, front, limit_name, limit_words, members};
use crate::servers::{Companion, Server};

pub(super) fn servers() -> Vec<Server> {
    let server = |limit: Option<u32>, name: &str, back: Companion| {
        let maxconn = limit.map_or_else(String::new, |limit| format!(" maxconn {limit}"));
        let line = format!("    server back{{n}} 127.0.0.1:{{back_{{n}}}}{maxconn}");
        let config = include_str!("../../templates/front-haproxy.cfg");
        let server = front(
            format!("haproxy-{}-{name}", limit_name(limit)),
            format!("HAProxy, 10 × {name}, {}", limit_words(limit)),
            "haproxy",
            "haproxy",
        )
        .file("haproxy.cfg", config.replace("{members}", &members(&line)))
        .arguments("-db -f {dir}/haproxy.cfg")
        .version("-v");
        before_rack(server, back)
    };
    let limits = LIMITS.into_iter();
    limits
        .flat_map(|limit| BACKS.map(|(name, back)| server(limit, name, back())))
        .collect()
}

//! HAProxy with its cache of small objects.

use super::{Program, Role, Server};

pub(super) fn servers() -> Vec<Server> {
    vec![
        Server::new(
            "haproxy",
            "HAProxy, its cache of small objects in memory",
            Role::Cache,
            Program::Packaged {
                program: "haproxy",
                package: "haproxy",
            },
        )
        .file("haproxy.cfg", include_str!("../templates/haproxy.cfg"))
        .arguments("-db -f {dir}/haproxy.cfg")
        .version("-v"),
    ]
}

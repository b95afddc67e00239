//! Forebay itself, and the bare program that shows what the kernel takes.

use super::{Program, Role, Server};

pub(super) fn servers() -> Vec<Server> {
    vec![
        Server::new(
            "forebay",
            "Forebay, cache in memory",
            Role::Cache,
            Program::Forebay,
        )
        .file("forebay.toml", include_str!("../templates/forebay.toml"))
        .arguments("serve -c {dir}/forebay.toml")
        .version("--version"),
        Server::new(
            "forebay-disk",
            "Forebay, cache in memory and on disk",
            Role::Cache,
            Program::Forebay,
        )
        .file(
            "forebay.toml",
            concat!(
                include_str!("../templates/forebay.toml"),
                include_str!("../templates/forebay-disk.toml")
            ),
        )
        .arguments("serve -c {dir}/forebay.toml")
        .version("--version"),
    ]
}

pub(super) fn bare() -> Vec<Server> {
    let mut floor = Server::new(
        "floor",
        "the least that epoll allows: one thread, the same bytes to every request",
        Role::Bare,
        Program::Beside("forebay-floor"),
    )
    .arguments("--listen 127.0.0.1:{port} --body-size {body_bytes}");
    floor.one_document = true;
    vec![floor]
}

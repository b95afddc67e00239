//! nginx as a server of files, as a cache, and as everybody's origin.

use super::{Program, Role, Server};

const ARGUMENTS: &str = "-c {dir}/nginx.conf -p {dir} -e {dir}/error.log";

/// From a disk's page cache: straight into the socket.
const FROM_FILES: &str = "sendfile on;";
/// From a memory file system one read and one write take less than sendfile.
const FROM_MEMORY: &str = "sendfile off;\n    output_buffers 2 128k;";

fn server(name: &str, about: &str, role: Role, config: &str) -> Server {
    Server::new(
        name,
        about,
        role,
        Program::Packaged {
            program: "nginx",
            package: "nginx-light",
        },
    )
    .file("nginx.conf", config)
    .arguments(ARGUMENTS)
    .version("-v")
}

fn caching(name: &str, about: &str, sending: &str) -> Server {
    let template = include_str!("../templates/nginx-cache.conf");
    server(
        name,
        about,
        Role::Cache,
        &template.replace("{sending}", sending),
    )
}

/// The origin of every cache. It counts requests without writing a log.
pub(crate) fn origin() -> Server {
    server(
        "origin",
        "the origin itself, without a cache before it",
        Role::Files,
        include_str!("../templates/nginx-origin.conf"),
    )
}

pub(super) fn servers() -> Vec<Server> {
    let disk = caching("nginx-disk", "nginx proxy_cache on disk", FROM_FILES);
    let mut tmpfs = caching(
        "nginx-tmpfs",
        "nginx proxy_cache on a memory file system",
        FROM_MEMORY,
    );
    tmpfs.cache_in_memory = true;
    let files = server(
        "nginx-static",
        "nginx, files of a folder",
        Role::Files,
        include_str!("../templates/nginx-static.conf"),
    );
    vec![disk, tmpfs, files, origin()]
}

//! Varnish, its objects in memory or in a mapped file.

use super::{Program, Role, Server};

/// Without a jail: it would change to accounts that may not exist, and its folder is ours.
const ARGUMENTS: &str = "-F -j none -n {dir}/work -f {dir}/varnish.vcl -a 127.0.0.1:{port} \
    -p timeout_idle=300 -p listen_depth=4096 -p thread_pools={cores} -p thread_pool_min=200 -s";

fn server(name: &str, about: &str, storage: &str) -> Server {
    Server::new(
        name,
        about,
        Role::Cache,
        Program::Packaged {
            program: "varnishd",
            package: "varnish",
        },
    )
    .file("varnish.vcl", include_str!("../templates/varnish.vcl"))
    .arguments(ARGUMENTS)
    .arguments(storage)
    .version("-V")
}

pub(super) fn servers() -> Vec<Server> {
    vec![
        server(
            "varnish-malloc",
            "Varnish, objects in memory",
            "malloc,{memory_mib}M",
        ),
        server(
            "varnish-file",
            "Varnish, objects in a file mapped into memory",
            "file,{cache}/objects.bin,{disk_mib}M",
        ),
    ]
}

//! Squid, its objects in memory or in one of its three stores on disk. With a
//! store there is no memory cache, so that every hit is read from the store.

use super::{Program, Role, Server};

const STORE_ON_DISK: &str = "cache_mem 0\nmemory_cache_mode disk\ncache_dir";

fn server(name: &str, about: &str, storage: &str) -> Server {
    let template = include_str!("../templates/squid.conf");
    let mut server = Server::new(
        name,
        about,
        Role::Cache,
        Program::Packaged {
            program: "squid",
            package: "squid",
        },
    )
    .file("squid.conf", template.replace("{storage}", storage))
    .arguments("{squid_mode} -n {unique} -f {dir}/squid.conf")
    .version("-v");
    server.account = Some("proxy");
    server
}

/// One with a store, whose folders it makes beforehand.
fn stored(name: &str, about: &str, kind: &str, options: &str) -> Server {
    // Only rock is shared by several processes.
    let folder = match kind {
        "rock" => "objects",
        _ => "objects-{squid_process}",
    };
    let storage = format!("{STORE_ON_DISK} {kind} {{cache}}/{folder} {{disk_mib}}{options}");
    let mut server = server(name, about, &storage);
    let prepare = "{squid_mode} -z -n {unique} -f {dir}/squid.conf";
    server.prepare = vec![prepare.split_whitespace().map(str::to_owned).collect()];
    if kind == "rock" {
        // Its reader is a process of its own, which `-N` does not have.
        for argument in server
            .arguments
            .iter_mut()
            .chain(server.prepare.iter_mut().flatten())
        {
            *argument = argument.replace("{squid_mode}", "--foreground");
        }
    }
    server
}

pub(super) fn servers() -> Vec<Server> {
    let memory = "cache_mem {memory_mib} MB\nmemory_cache_mode always\nmemory_cache_shared off";
    vec![
        server("squid-mem", "Squid, objects in memory", memory),
        stored(
            "squid-ufs",
            "Squid, a file an object, read by the main thread",
            "ufs",
            " 16 256",
        ),
        stored(
            "squid-aufs",
            "Squid, a file an object, read by threads",
            "aufs",
            " 16 256",
        ),
        stored(
            "squid-rock",
            "Squid, objects in one file of slots",
            "rock",
            " max-size=1048576",
        ),
    ]
}

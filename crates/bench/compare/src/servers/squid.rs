//! Squid, its objects in memory or in one of its three stores on disk. With a
//! store there is no memory cache, so that every hit is read from the store;
//! in those called `-mem` there is one before it.

use super::{Program, Role, Server};

const STORE_ONLY: &str = "cache_mem 0\nmemory_cache_mode disk";
const STORE_AND_MEMORY: &str = "cache_mem {memory_mib} MB\nmemory_cache_mode always";
const FOLDERS: &str = " 16 256";
const SLOTS: &str = " max-size=1048576";

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
fn stored(name: &str, about: &str, memory: &str, kind: &str, options: &str) -> Server {
    // Only rock is shared by several processes.
    let folder = match kind {
        "rock" => "objects",
        _ => "objects-{squid_process}",
    };
    let storage = format!("{memory}\ncache_dir {kind} {{cache}}/{folder} {{disk_mib}}{options}");
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
            STORE_ONLY,
            "ufs",
            FOLDERS,
        ),
        stored(
            "squid-aufs",
            "Squid, a file an object, read by threads",
            STORE_ONLY,
            "aufs",
            FOLDERS,
        ),
        stored(
            "squid-aufs-mem",
            "Squid, a file an object, read by threads, behind a memory cache",
            STORE_AND_MEMORY,
            "aufs",
            FOLDERS,
        ),
        stored(
            "squid-rock",
            "Squid, objects in one file of slots",
            STORE_ONLY,
            "rock",
            SLOTS,
        ),
        stored(
            "squid-rock-mem",
            "Squid, objects in one file of slots, behind a memory cache",
            STORE_AND_MEMORY,
            "rock",
            SLOTS,
        ),
    ]
}

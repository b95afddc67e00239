//! Apache's httpd as a server of files, and as a cache on disk and in shared memory.

use super::{Program, Role, Server};

const FILES: &str = "DocumentRoot {root}
<Directory {root}>
    Require all granted
    AllowOverride None
</Directory>";

const PROXY: &str = "LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule cache_module {modules}/mod_cache.so
ProxyPass / http://{origin}/
ProxyPreserveHost On
# Before any other step of a request.
CacheQuickHandler On
CacheLock On
CacheLockPath {dir}/locks
";

const DISK: &str = "LoadModule cache_disk_module {modules}/mod_cache_disk.so
CacheEnable disk /
CacheRoot {cache}
CacheMaxFileSize 8388608";

/// The provider sorts keys into its parts by their first byte, which is the same for all URLs: of many pages it keeps
/// a few hundred, however large it is.
const SHARED_MEMORY: &str = "LoadModule socache_shmcb_module {modules}/mod_socache_shmcb.so
LoadModule cache_socache_module {modules}/mod_cache_socache.so
CacheEnable socache /
CacheSocache shmcb:{dir}/objects({memory_bytes})
CacheSocacheMaxSize 1048576";

const TYPES: &str = "text/html html\ntext/plain txt\nimage/jpeg jpg\n";

fn server(name: &str, about: &str, role: Role, part: &str) -> Server {
    let template = include_str!("../templates/apache.conf");
    let mut server = Server::new(
        name,
        about,
        role,
        Program::Packaged {
            program: "apache2",
            package: "apache2",
        },
    )
    .file("apache.conf", template.replace("{part}", part))
    .file("mime.types", TYPES)
    .arguments("-D FOREGROUND -f {dir}/apache.conf")
    .version("-v");
    server.account = Some("www-data");
    server
}

pub(super) fn servers() -> Vec<Server> {
    let caching = |part: &str| format!("{PROXY}{part}");
    vec![
        server(
            "apache-disk",
            "Apache httpd, mod_cache_disk",
            Role::Cache,
            &caching(DISK),
        ),
        server(
            "apache-socache",
            "Apache httpd, mod_cache_socache in shared memory",
            Role::Cache,
            &caching(SHARED_MEMORY),
        ),
        server(
            "apache-static",
            "Apache httpd, files of a folder",
            Role::Files,
            FILES,
        ),
    ]
}

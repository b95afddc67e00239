//! Apache Traffic Server, with its memory cache before a store on disk.

use super::{Program, Role, Server};

/// Where it looks for its files, instead of the folders compiled in.
const LAYOUT: &str = "prefix: {dir}
exec_prefix: {dir}
bindir: {dir}
sbindir: {dir}
sysconfdir: {dir}
datadir: {dir}
includedir: {dir}
libdir: {dir}
libexecdir: {dir}
localstatedir: {dir}
runtimedir: {dir}
logdir: {dir}
cachedir: {cache}
";

pub(super) fn servers() -> Vec<Server> {
    let mut server = Server::new(
        "trafficserver",
        "Apache Traffic Server, memory cache before a store on disk",
        Role::Cache,
        Program::Packaged {
            program: "traffic_server",
            package: "trafficserver",
        },
    )
    .file(
        "records.config",
        include_str!("../templates/trafficserver-records.config"),
    )
    .file("remap.config", "map / http://{origin}/\n")
    .file("storage.config", "{cache} {disk_mib}M\n")
    .file(
        "ip_allow.yaml",
        "ip_allow:\n  - apply: in\n    ip_addrs: [0/0, ::/0]\n    action: allow\n    methods: ALL\n",
    )
    .file("runroot.yaml", LAYOUT)
    .arguments("--run-root={dir}/runroot.yaml")
    .version("--version");
    server.account = Some("trafficserver");
    vec![server]
}

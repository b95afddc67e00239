//! The servers compared: how each is called, and which configurations of `tools/compare` it is given.

/// A server that can be compared.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    /// The Debian package that brings it; empty for what this repository builds.
    pub(super) package: &'static str,
    /// The argument that makes it print its version; empty when it has none.
    pub(super) version: &'static str,
    /// Templates in `tools/compare`: for hits, and for requests passed through.
    pub(super) templates: [&'static str; 2],
    /// Its arguments; placeholders as in the templates, and `{config}`. Varnish is told to invent no freshness.
    pub(super) arguments: &'static [&'static str],
}

/// All of them.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "floor",
        program: "forebay-floor",
        package: "",
        version: "",
        templates: ["", ""],
        arguments: &[
            "--listen",
            "127.0.0.1:{port}",
            "--body-size",
            "{body_bytes}",
        ],
    },
    Peer {
        name: "forebay",
        program: "forebay",
        package: "",
        version: "--version",
        templates: ["forebay.toml", "forebay.toml"],
        arguments: &["serve", "-c", "{config}"],
    },
    Peer {
        name: "nginx",
        program: "nginx",
        package: "nginx-light",
        version: "-v",
        templates: ["nginx.conf", "nginx-pass.conf"],
        arguments: &["-c", "{config}", "-p", "{dir}", "-e", "{dir}/error.log"],
    },
    // The buffers of a proxied response as nginx chooses them when nobody does.
    Peer {
        name: "nginx-default",
        program: "nginx",
        package: "nginx-light",
        version: "-v",
        templates: ["", "nginx-pass-default.conf"],
        arguments: &["-c", "{config}", "-p", "{dir}", "-e", "{dir}/error.log"],
    },
    Peer {
        name: "varnish",
        program: "varnishd",
        package: "varnish",
        version: "-V",
        templates: ["varnish.vcl", "varnish.vcl"],
        arguments: &[
            "-F",
            "-n",
            "{dir}/varnish",
            "-f",
            "{config}",
            "-a",
            "127.0.0.1:{port}",
            "-s",
            "malloc,512M",
            "-p",
            "timeout_idle=300",
            "-p",
            "listen_depth=4096",
            "-p",
            "thread_pool_min=200",
            "-p",
            "default_ttl=0",
            "-p",
            "default_grace=0",
        ],
    },
    Peer {
        name: "haproxy",
        program: "haproxy",
        package: "haproxy",
        version: "-v",
        templates: ["haproxy.cfg", "haproxy-pass.cfg"],
        arguments: &["-db", "-f", "{config}"],
    },
    Peer {
        name: "squid",
        program: "squid",
        package: "squid",
        version: "-v",
        templates: ["squid.conf", "squid.conf"],
        arguments: &["-N", "-f", "{config}"],
    },
];

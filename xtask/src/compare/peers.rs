//! The servers compared: how each is called, and which configurations of `tools/compare` it is given.

use super::cases::Work;

/// A server that can be compared.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    /// The Debian package that brings it; empty for what this repository builds.
    pub(super) package: &'static str,
    /// The argument that makes it print its version; empty when it has none.
    pub(super) version: &'static str,
    /// Its configurations.
    pub(super) templates: Templates,
    /// Its arguments; placeholders as in the templates, and `{config}`. Varnish is told to invent no freshness.
    pub(super) arguments: &'static [&'static str],
}

/// Configurations in `tools/compare` by what the server does; empty where it needs none or cannot
/// do it.
#[derive(Debug)]
pub(super) struct Templates {
    hits: &'static str,
    passes: &'static str,
    files: &'static str,
    fastcgi: &'static str,
    commands: &'static str,
}

impl Templates {
    const NONE: Self = Self {
        hits: "",
        passes: "",
        files: "",
        fastcgi: "",
        commands: "",
    };

    /// The one for this work.
    pub(super) fn of(&self, work: Work) -> &'static str {
        match work {
            Work::Hits => self.hits,
            Work::Misses | Work::Passes => self.passes,
            Work::Files => self.files,
            Work::FastCgi => self.fastcgi,
            Work::Commands(_) => self.commands,
        }
    }
}

/// All of them.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "floor",
        program: "forebay-floor",
        package: "",
        version: "",
        templates: Templates::NONE,
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
        templates: Templates {
            hits: "forebay.toml",
            passes: "forebay.toml",
            files: "forebay-files.toml",
            fastcgi: "forebay-fastcgi.toml",
            commands: "forebay-sessions.toml",
        },
        arguments: &["serve", "-c", "{config}"],
    },
    Peer {
        name: "nginx",
        program: "nginx",
        package: "nginx-light",
        version: "-v",
        templates: Templates {
            hits: "nginx.conf",
            passes: "nginx-pass.conf",
            files: "nginx-files.conf",
            fastcgi: "nginx-fastcgi.conf",
            ..Templates::NONE
        },
        arguments: &["-c", "{config}", "-p", "{dir}", "-e", "{dir}/error.log"],
    },
    // Where it is other than the above: the buffers of a proxied response as nginx chooses them
    // when nobody does, and a connection to PHP for each request.
    Peer {
        name: "nginx-default",
        program: "nginx",
        package: "nginx-light",
        version: "-v",
        templates: Templates {
            passes: "nginx-pass-default.conf",
            fastcgi: "nginx-fastcgi-default.conf",
            ..Templates::NONE
        },
        arguments: &["-c", "{config}", "-p", "{dir}", "-e", "{dir}/error.log"],
    },
    Peer {
        name: "varnish",
        program: "varnishd",
        package: "varnish",
        version: "-V",
        templates: Templates {
            hits: "varnish.vcl",
            passes: "varnish.vcl",
            ..Templates::NONE
        },
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
        templates: Templates {
            hits: "haproxy.cfg",
            passes: "haproxy-pass.cfg",
            ..Templates::NONE
        },
        arguments: &["-db", "-f", "{config}"],
    },
    Peer {
        name: "squid",
        program: "squid",
        package: "squid",
        version: "-v",
        templates: Templates {
            hits: "squid.conf",
            passes: "squid.conf",
            ..Templates::NONE
        },
        arguments: &["-N", "-f", "{config}"],
    },
    Peer {
        name: "h2o",
        program: "h2o",
        package: "h2o",
        version: "-v",
        templates: Templates {
            files: "h2o.yaml",
            ..Templates::NONE
        },
        arguments: &["-c", "{config}"],
    },
    Peer {
        name: "lighttpd",
        program: "lighttpd",
        package: "lighttpd",
        version: "-v",
        templates: Templates {
            fastcgi: "lighttpd.conf",
            ..Templates::NONE
        },
        arguments: &["-D", "-f", "{config}"],
    },
    Peer {
        name: "memcached",
        program: "memcached",
        package: "memcached",
        version: "-V",
        templates: Templates::NONE,
        arguments: &[
            "-l",
            "127.0.0.1",
            "-p",
            "{port}",
            "-t",
            "{cores}",
            "-m",
            "1024",
            "-c",
            "4096",
            "-u",
            "root",
        ],
    },
    // With its log, synced once a second, as Forebay's is.
    Peer {
        name: "redis",
        program: "redis-server",
        package: "redis-server",
        version: "--version",
        templates: Templates {
            commands: "redis.conf",
            ..Templates::NONE
        },
        arguments: &["{config}"],
    },
];

//! The command line as data: every command, option, help text and example.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use forebay_admin::Address;

use crate::commands::trust::TrustArgs;

/// What the user asked for.
#[derive(Debug, Parser)]
#[command(
    name = "forebay",
    version,
    about = "A caching reverse proxy",
    long_about = "Forebay stands in front of a web site, keeps what the site has answered, and hands it out \
                  again as HTTP's rules for caches (RFC 9111) allow.\n\n\
                  Without a command it starts a demonstration that needs nothing else: a small site with \
                  Forebay in front of it.",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) demo: DemoArgs,
}

const EXAMPLES: &str = "\
Examples:
  forebay                                          look at it: a demonstration
  forebay serve --origin http://127.0.0.1:9000 --listen 127.0.0.1:8080
                                                   in front of a site, with no file
  forebay check -c forebay.toml                    every mistake in a file, at once
  forebay serve -c forebay.toml                    serve as the file says
  forebay explain cache.grace                      what a setting means
  forebay stats                                    the figures of a running server
  forebay purge --tag product-1                    what carries a tag is gone
  forebay bench http://127.0.0.1:8080/             load on a server, any server

Exit status: 0 done, 1 failed, 2 wrong usage.
`forebay COMMAND --help` says more of each command.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve, as a file says or in front of one origin
    #[command(
        long_about = "Serves until SIGTERM or SIGINT, either as a configuration file says or, with no file, in \
                      front of one origin.\n\n\
                      When it serves, standard output has a line `listening on ADDR` for each listener, \
                      `admin on ADDR` if there is one, then `ready`; with port 0 these show the port chosen.",
        after_help = SERVE_EXAMPLES,
        override_usage = "forebay serve -c FILE\n       forebay serve --origin URL [--host HOST] [--listen ADDR] [--admin ADDR] [--memory SIZE] [--ttl TIME] [--access-log TARGET]"
    )]
    Serve(ServeArgs),
    /// Check a configuration file and show every mistake in it
    #[command(
        long_about = "Reads a configuration file as `serve` would and shows every mistake in it in one run: the \
                      line, a caret, what was expected and the nearest known word. Nothing is started.",
        after_help = "Examples:\n  forebay check -c forebay.toml\n  forebay check -c forebay.toml && systemctl reload forebay\n\nExit status: 0 the file is good (there may be warnings), 1 it is not."
    )]
    Check(CheckArgs),
    /// Explain settings: all, a section, or one
    #[command(
        long_about = "The reference of the configuration file, from the same table that checks it: type, default \
                      and meaning of each setting.",
        after_help = "Examples:\n  forebay explain                 everything\n  forebay explain cache           a section\n  forebay explain cache.grace     a setting\n  forebay explain grace           the same, wherever it may stand\n  forebay explain --markdown > configuration.md"
    )]
    Explain(ExplainArgs),
    /// Make a running server read its configuration again
    #[command(
        long_about = "Makes a running server read its configuration file again, without dropping a connection or \
                      the cache. With -c the file is checked here first, and the server is found by the \
                      `[admin] address` in it. The server reads the file that it was started with.",
        after_help = "Examples:\n  forebay reload -c /etc/forebay/forebay.toml\n  forebay reload --admin 127.0.0.1:8081\n\nWithout an administration address, send SIGHUP to the server instead."
    )]
    Reload(ReloadArgs),
    /// Show the figures of a running server, once or live
    #[command(
        long_about = "Shows the figures of a running server: state, memory, disk, pools, and every counter that is \
                      not 0. With --watch a line for each interval, with what happened in a second.",
        after_help = "Examples:\n  forebay stats -c /etc/forebay/forebay.toml\n  forebay stats --watch\n  forebay stats --watch 10 --json"
    )]
    Stats(StatsArgs),
    /// Watch a running server on a screen of the terminal
    #[command(
        long_about = "Shows a running server on a screen: requests and hit ratio over time, memory and disk, the \
                      hottest URLs, origins (the slowest first) and misses by reason. Without a terminal, or with \
                      --once, one frame is printed as text.\n\n\
                      Keys: q quits, p pauses, Tab and the arrows change the list and scroll in it, s changes the \
                      order, r turns it round.",
        after_help = "Examples:\n  forebay top -c /etc/forebay/forebay.toml\n  forebay top --admin unix:/run/forebay/admin.sock\n  forebay top --once"
    )]
    Top(TopArgs),
    /// Remove objects from a running server's cache, or make them stale
    #[command(
        long_about = "Purges by URL (all its variants), prefix, regular expression, expression, tag, or everything. \
                      When the command ends, no older object is served any more; a purge survives a restart. \
                      With --soft objects become stale instead: the next request is answered at once and \
                      refreshes them.",
        after_help = PURGE_EXAMPLES
    )]
    Purge(PurgeArgs),
    /// List the purges that objects are still compared with
    #[command(
        after_help = "Examples:\n  forebay bans -c /etc/forebay/forebay.toml\n  forebay bans --json"
    )]
    Bans(BansArgs),
    /// Show what is stored for a URL, and why it is or is not served
    #[command(
        after_help = "Examples:\n  forebay inspect http://shop.example/a?b=c\n  forebay inspect shop.example/a --json"
    )]
    Inspect(InspectArgs),
    /// Follow the exchanges of a running server as they end
    #[command(
        long_about = "Shows each exchange as it ends, those that match all filters. What this reader is too slow \
                      for is counted and said, never lost silently.",
        after_help = "Examples:\n  forebay log\n  forebay log --status 5xx --host '*.shop.example'\n  forebay log --cache miss,pass --slower-than 200ms --json"
    )]
    Log(LogArgs),
    /// Show the servers of pools, and add, remove, drain or weigh them
    #[command(
        long_about = "Without an order: shows the pools of a running server with their servers. With one: changes a \
                      server while requests go on. A change holds until a reload says otherwise; with --keep over \
                      reloads and, where server.state_file is set, over restarts.",
        after_help = "Examples:\n  forebay pool\n  forebay pool add app 10.0.0.7:8080 --weight 2 --keep\n  forebay pool drain app 10.0.0.3:8080      before its maintenance\n  forebay pool up app 10.0.0.3:8080         after it\n  forebay pool set app 10.0.0.3:8080 --weight 5 --max-connections 20\n  forebay pool remove app 10.0.0.3:8080"
    )]
    Pool(PoolArgs),
    /// Show application processes, and replace them one by one
    #[command(
        long_about = "Without an order: shows the application processes of a running server. `replace` starts new \
                      processes in place of all those of an application, one by one and never with fewer at work; \
                      it does not wait for the last.",
        after_help = "Examples:\n  forebay app\n  forebay app replace shop"
    )]
    App(AppArgs),
    /// Make a running server finish what is under way and end
    #[command(
        long_about = "As SIGTERM: the server accepts no more connections, lets exchanges finish within \
                      server.drain_timeout, and ends. The command does not wait for that.",
        after_help = "Examples:\n  forebay drain -c /etc/forebay/forebay.toml\n  forebay drain --admin unix:/run/forebay/admin.sock"
    )]
    Drain(DrainArgs),
    /// Make a local server a back end of an edge that it connects to
    #[command(
        long_about = "Connects to one Forebay or several, and makes a server beside this command, which needs to know \
                      nothing of it, a server of one of their pools. The edge lets in who has a token of the \
                      pool's `join_tokens`. Connections are opened as the edge needs them; when the local server \
                      does not accept connections, or this command ends, it is out of the pool at once.\n\n\
                      An edge that is away is tried again, with growing pauses. SIGTERM leaves: no more requests \
                      come, and those under way are answered.",
        after_help = "Examples:\n  forebay join edge.example:80 --pool app --local 127.0.0.1:3000 --token secret\n  forebay join edge1:80 edge2:80 --pool app --local unix:/run/app.sock --name web-1\n  forebay join https://edge.example --ca edge.pem --pool app --local 127.0.0.1:3000\n\nThe token may be in FOREBAY_JOIN_TOKEN instead, where no list of processes shows it."
    )]
    Join(JoinArgs),
    /// Read, change, list, export and import the items of a session store
    #[command(
        long_about = crate::commands::session::args::LONG,
        after_help = crate::commands::session::args::EXAMPLES
    )]
    Session(Box<crate::commands::session::args::SessionArgs>),
    /// Send load to a server and measure what it answers
    Bench(Box<forebay_bench::BenchArgs>),
    /// Run the same load against several servers, side by side
    Compare(Box<forebay_compare::Args>),
}

/// Options of the demonstration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the demonstration")]
pub(crate) struct DemoArgs {
    /// Where Forebay listens; another free port is taken when this one is in use
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Administration address (figures as JSON and for Prometheus); likewise
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub(crate) admin: SocketAddr,
    /// Print the addresses only, no live figures
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// `forebay serve`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE", required_unless_present = "origin", conflicts_with_all = ["origin", "host", "listen", "admin", "memory", "disk", "ttl", "access_log"])]
    pub(crate) config: Option<PathBuf>,
    /// The site to stand in front of: `http://HOST[:PORT]`, `https://HOST[:PORT]`, `HOST:PORT` or `unix:PATH`
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// The `Host` that the origin gets: `server` for its own name, as a site that is known by it needs, `client` for what
    /// the visitor asked for, or a name [default: client]
    #[arg(long, value_name = "HOST", requires = "origin")]
    pub(crate) host: Option<String>,
    /// Where clients connect: `IP:PORT` or `unix:PATH`; port 0 takes any free port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", requires = "origin")]
    pub(crate) listen: Option<String>,
    /// Administration address, for figures and `forebay reload` [default: none]
    #[arg(long, value_name = "ADDR", requires = "origin")]
    pub(crate) admin: Option<SocketAddr>,
    /// Memory for the cache: `512MiB`, `2GiB` [default: 256MiB]
    #[arg(long, value_name = "SIZE", requires = "origin")]
    pub(crate) memory: Option<String>,
    /// A directory for what memory does not hold, kept over restarts, and its size: `/var/cache/forebay:20GiB` [default: none]
    #[arg(long, value_name = "DIR:SIZE", requires = "origin")]
    pub(crate) disk: Option<String>,
    /// Freshness of answers that state none: `10s`, `2m`, `1h30m` [default: HTTP's own rules]
    #[arg(long, value_name = "TIME", requires = "origin")]
    pub(crate) ttl: Option<String>,
    /// Log of accesses: `stdout`, `stderr`, `off` or a file [default: off]
    #[arg(long, value_name = "TARGET", requires = "origin")]
    pub(crate) access_log: Option<String>,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  forebay serve -c /etc/forebay/forebay.toml
  forebay serve --origin http://127.0.0.1:9000 --listen 127.0.0.1:8080
  forebay serve --origin https://example.org --host server
  forebay serve --origin unix:/run/app.sock --listen 0.0.0.0:80 --memory 2GiB --ttl 2m

Signals:
  SIGHUP           read the file again; a bad file is refused and the old settings stay
  SIGTERM, SIGINT  finish what is under way, then leave; a second one leaves at once

With systemd: Type=notify is answered, and sockets that it passes are used.";

/// `forebay check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// `forebay explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A section (`cache`), a setting (`cache.grace`) or its bare name (`grace`)
    pub(crate) setting: Option<String>,
    /// The whole reference as Markdown
    #[arg(long, conflicts_with = "setting")]
    pub(crate) markdown: bool,
}

/// `forebay reload`
#[derive(Debug, Args)]
pub(crate) struct ReloadArgs {
    /// The configuration file: checked first, and read for the administration address
    #[arg(short, long, value_name = "FILE", required_unless_present = "admin")]
    pub(crate) config: Option<PathBuf>,
    /// The server's administration address, when it is not in the file: `IP:PORT` or `unix:PATH`
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<Address>,
    /// A token with the role `admin`, when the server asks for one [default: that of the file]
    #[arg(long, env = "FOREBAY_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Which server a command talks to.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Its configuration file, read for its administration address and token [default: /etc/forebay/forebay.toml, if there]
    #[arg(
        id = "server_config",
        short = 'c',
        long = "config",
        global = true,
        value_name = "FILE"
    )]
    pub(crate) config: Option<PathBuf>,
    /// Its administration address: `IP:PORT` or `unix:PATH` [default: that of the file, or 127.0.0.1:8081]
    #[arg(
        id = "server_admin",
        long = "admin",
        global = true,
        value_name = "ADDR",
        env = "FOREBAY_ADMIN"
    )]
    pub(crate) admin: Option<Address>,
    /// A token, when it asks for one [default: that of the file]
    #[arg(
        id = "server_token",
        long = "token",
        global = true,
        value_name = "TOKEN",
        env = "FOREBAY_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,
}

/// `forebay stats`
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// A line for each interval of so many seconds [default: 1]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = interval)]
    pub(crate) watch: Option<f64>,
    /// As JSON; with --watch a document a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok();
    seconds
        .filter(|seconds| (0.1..=86_400.0).contains(seconds))
        .ok_or_else(|| "expected seconds, from 0.1 to 86400".into())
}

/// `forebay top`
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Print one frame as text and end
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `forebay purge`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub(crate) struct PurgeArgs {
    /// URLs, all variants of each; `-` reads orders from standard input, a line each
    #[arg(value_name = "URL", group = "what")]
    pub(crate) urls: Vec<String>,
    /// All URLs that begin so: `shop.example/news`, or `/news` on every host
    #[arg(long, value_name = "PREFIX", group = "what")]
    pub(crate) prefix: Vec<String>,
    /// URLs whose path and query match this regular expression
    #[arg(long, value_name = "REGEX", group = "what")]
    pub(crate) regex: Vec<String>,
    /// With --regex: on this host only
    #[arg(long, value_name = "HOST", requires = "regex")]
    pub(crate) host: Option<String>,
    /// Objects that match an expression: `obj.status == 404 && req.url ~ "^/news"`
    #[arg(long, value_name = "EXPR", group = "what")]
    pub(crate) ban: Vec<String>,
    /// Objects that carry this tag
    #[arg(long, value_name = "TAG", group = "what", num_args = 1..)]
    pub(crate) tag: Vec<String>,
    /// Everything
    #[arg(long, group = "what")]
    pub(crate) all: bool,
    /// Make it stale, not gone: the next request is answered and refreshes it
    #[arg(long)]
    pub(crate) soft: bool,
    /// What became of each order as JSON, a line each
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

const PURGE_EXAMPLES: &str = "\
Examples:
  forebay purge http://shop.example/product/1
  forebay purge --prefix shop.example/news --soft
  forebay purge --regex '^/img/.*\\.png$' --host shop.example
  forebay purge --ban 'obj.status == 404 && req.url ~ \"^/news\"'
  forebay purge --tag product-1 --tag product-2
  forebay purge - < orders

Lines of standard input: a URL, `tag T`, `prefix P`, `regex R`, `ban EXPR` or `all`, each with
`soft ` before it or not; empty lines and those that begin with # are left out.

Exit status: 0 all done, 1 the server is not there or refused an order, 2 wrong usage.";

/// `forebay bans`
#[derive(Debug, Args)]
pub(crate) struct BansArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `forebay inspect`
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The URL: `http://host/path?query`, or without `http://`
    pub(crate) url: String,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `forebay log`
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Statuses and classes, any of them: `404`, `5xx`
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<String>,
    /// A pattern for the host: `*.shop.example`
    #[arg(long, value_name = "GLOB")]
    pub(crate) host: Option<String>,
    /// A pattern for path and query, `/api/*`, or for host and both, `shop.example/api/*`
    #[arg(long, value_name = "GLOB")]
    pub(crate) url: Option<String>,
    /// What the cache did, any of: `hit`, `stale`, `miss`, `pass`, …
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub(crate) cache: Vec<String>,
    /// Exchanges that took longer: `200ms`, `1.5s`
    #[arg(long, value_name = "TIME")]
    pub(crate) slower_than: Option<String>,
    /// Ends after so many exchanges
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Each exchange as JSON, as the server gives it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `forebay join`
#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// The edges: `HOST:PORT` of an address on which each listens for clients, or
    /// `https://HOST[:PORT]` of one with TLS
    #[arg(value_name = "EDGE", required = true)]
    pub(crate) edges: Vec<forebay_join::EdgeAddress>,
    /// The pool there
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: String,
    /// The server that answers: `HOST:PORT` or `unix:PATH`
    #[arg(long, value_name = "ADDR")]
    pub(crate) local: forebay_join::Local,
    /// One of the pool's `join_tokens`
    #[arg(long, env = "FOREBAY_JOIN_TOKEN", hide_env_values = true)]
    pub(crate) token: String,
    /// What the edges call this back end, each another [default: the machine's name and --local]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Connections to each edge at most; the edge says how many it needs
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) connections: u32,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// `forebay pool`
#[derive(Debug, Args)]
pub(crate) struct PoolArgs {
    #[command(subcommand)]
    pub(crate) order: Option<PoolOrder>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is done with a server of a pool.
#[derive(Debug, Subcommand)]
pub(crate) enum PoolOrder {
    /// Put a server into a pool
    Add(AddArgs),
    /// Take a server out of a pool; its requests under way are finished
    Remove(MemberArgs),
    /// Give a server no new requests, but those of users that are bound to it
    Drain(MemberArgs),
    /// Give a server no requests
    Down(MemberArgs),
    /// Ask a server like the others again
    Up(MemberArgs),
    /// Change the share of a server
    Set(SetArgs),
}

/// A server of a pool.
#[derive(Debug, Args)]
pub(crate) struct MemberArgs {
    /// The name of the pool
    pub(crate) pool: String,
    /// The server's address as in the file: `10.0.0.7:8080`, `unix:/run/app.sock`
    #[arg(id = "member", value_name = "SERVER")]
    pub(crate) server: String,
    /// Over reloads and, where server.state_file is set, over restarts
    #[arg(long)]
    pub(crate) keep: bool,
}

/// `forebay pool add`
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) member: MemberArgs,
    /// Its share, relative to the others' [default: 1]
    #[arg(long)]
    pub(crate) weight: Option<u32>,
    /// Requests it may be working on at once [default: as the pool says]
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<u64>,
    /// Used only when no server of a smaller number can be [default: 0]
    #[arg(long)]
    pub(crate) priority: Option<u8>,
    /// Where it stands
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

/// `forebay pool set`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("share").required(true).multiple(true))]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) member: MemberArgs,
    /// Its share, relative to the others'; 0: no new requests
    #[arg(long, group = "share")]
    pub(crate) weight: Option<u32>,
    /// Requests it may be working on at once; 0: as the pool says
    #[arg(long, value_name = "N", group = "share")]
    pub(crate) max_connections: Option<u64>,
}

/// `forebay app`
#[derive(Debug, Args)]
pub(crate) struct AppArgs {
    #[command(subcommand)]
    pub(crate) order: Option<AppOrder>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is done with an application.
#[derive(Debug, Subcommand)]
pub(crate) enum AppOrder {
    /// Replace its processes one by one
    Replace {
        /// The name of the application
        app: String,
    },
}

/// `forebay drain`
#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_finds_the_server_by_its_file_address_and_token() {
        let server = ["-c", "f.toml", "--admin", "127.0.0.1:1", "--token", "t"];
        for command in [
            &["stats"][..],
            &["drain"],
            &["bans"],
            &["pool"],
            &["pool", "drain", "app", "a:1"],
            &["pool", "add", "app", "a:1"],
            &["app", "replace", "shop"],
        ] {
            let line = ["forebay"].iter().chain(command).chain(&server);
            assert!(Cli::try_parse_from(line).is_ok(), "{command:?}");
        }
    }

    #[test]
    fn every_option_is_explained() {
        for command in Cli::command().get_subcommands() {
            assert!(
                command.get_after_help().is_some(),
                "{} has no examples",
                command.get_name()
            );
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn a_file_and_an_origin_exclude_each_other() {
        for line in [
            "forebay serve",
            "forebay serve -c a --origin b",
            "forebay serve -c a --listen 127.0.0.1:1",
            "forebay serve --listen 127.0.0.1:1",
            "forebay serve -c a --host server",
            "forebay reload",
            "forebay purge",
            "forebay purge --soft",
            "forebay purge a --host b",
            "forebay inspect",
            "forebay stats --watch 0",
            "forebay stats --admin localhost",
            "forebay check",
            "forebay explain cache --markdown",
            "forebay --quiet serve -c a",
            "forebay --listen here",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }

    #[test]
    fn no_command_is_the_demonstration() {
        let cli = Cli::try_parse_from(["forebay", "--listen", "127.0.0.1:0", "--quiet"]).unwrap();
        assert!(cli.command.is_none());
        assert!(cli.demo.quiet);
        assert_eq!(cli.demo.listen.port(), 0);
        assert_eq!(cli.demo.admin.port(), 8081);
    }
}

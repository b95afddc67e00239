//! The command line of `forebay session`: every order, option and example.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use forebay_config::parse_duration;
use forebay_session_client::{Address, SavePath};

use crate::commands::trust::TrustArgs;

pub(crate) const LONG: &str = "\
Speaks to a running session store in memcached's protocol: to one of Forebay's, or to a memcached (1.6 or \
later).\n\n\
The store is the one at --address, or that of the configuration file: the `[session.NAME]` section that \
--store names, or the only one.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  forebay session list 'memc.sess.key.*'
  forebay session get memc.sess.key.4kq2 --meta
  forebay session export sessions.fbs -c /etc/forebay/forebay.toml
  forebay session import sessions.fbs --keep
  forebay session import --php /var/lib/php/sessions
  forebay session import --memcached 10.0.0.5:11211
  forebay session import --tyrant 10.0.0.5:1978 --ttl 24m
  forebay session snapshot /backup/web --store web

Exit status: 0 done, 1 failed, or a key is not there, or not everything was taken, 2 wrong usage.";

/// `forebay session`
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) order: Order,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which store a command talks to.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct StoreArgs {
    /// Where it listens: `HOST:PORT` or `unix:PATH` [default: that of the file, or 127.0.0.1:11211]
    #[arg(
        short = 'a',
        long,
        global = true,
        value_name = "ADDR",
        env = "FOREBAY_SESSION"
    )]
    pub(crate) address: Option<Address>,
    /// The configuration file, read for its address and token
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Which store of the file, where there are several
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Its token, when it asks for one [default: that of the file]
    #[arg(
        long,
        global = true,
        value_name = "TOKEN",
        env = "FOREBAY_SESSION_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,
    /// The user's name that goes with the token [default: that of the file]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Its address speaks TLS [default: as the file says]
    #[arg(long, global = true)]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// For each wait for an answer
    #[arg(long, global = true, value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Order {
    /// Print an item's value as it is, or what is known of it
    Get(GetArgs),
    /// Store an item
    Set(SetArgs),
    /// Delete items
    Delete(DeleteArgs),
    /// List the items: sizes, lifetimes, last uses
    List(ListArgs),
    /// Show the store's statistics
    Stats(StatsArgs),
    /// Write all items into a file, while the store goes on serving
    #[command(long_about = EXPORT)]
    Export(ExportArgs),
    /// Put items into the store: from an export, PHP's files, a memcached or a Tokyo Tyrant
    #[command(long_about = IMPORT, after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Copy what a store of Forebay's holds at this moment into a new directory of its machine
    #[command(long_about = SNAPSHOT)]
    Snapshot(SnapshotArgs),
}

/// `forebay session get`
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The item's key
    pub(crate) key: OsString,
    /// What is known of the item instead of its value; this does not count as reading it
    #[arg(long)]
    pub(crate) meta: bool,
    /// With --meta: as JSON
    #[arg(long, requires = "meta")]
    pub(crate) json: bool,
}

/// `forebay session set`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("condition"))]
pub(crate) struct SetArgs {
    /// The item's key
    pub(crate) key: OsString,
    /// Its value [default: what comes from standard input]
    pub(crate) value: Option<OsString>,
    /// How long it lives: `30m`, `7d` [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) ttl: Option<Duration>,
    /// The number that clients keep with it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) flags: u32,
    /// Only where there is none
    #[arg(long, group = "condition")]
    pub(crate) add: bool,
    /// Only where there is one
    #[arg(long, group = "condition")]
    pub(crate) replace: bool,
    /// Only where the one that is there has this number (`get --meta` shows it)
    #[arg(long, value_name = "N", group = "condition")]
    pub(crate) cas: Option<u64>,
}

/// `forebay session delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The items' keys
    #[arg(value_name = "KEY", required = true)]
    pub(crate) keys: Vec<OsString>,
}

/// `forebay session list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How keys begin, or their shape with `*` and `?` [default: all]
    pub(crate) pattern: Option<OsString>,
    /// As JSON, an item a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `forebay session stats`
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// A group: `settings`, `items`, `slabs`, `sizes`, `conns` [default: the general ones]
    pub(crate) group: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXPORT: &str = "\
Writes all items with their flags and lifetimes into a file. The store goes on serving: each item is as it \
was at one moment, but two items may be as of two moments, and what comes in meanwhile may be in the file or \
not.\n\n\
The file is written under another name (FILE.new) and renamed when it is whole; only its owner may read it. \
It carries a checksum for each item and an end mark.";

/// `forebay session export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The file; `-` is standard output
    pub(crate) file: PathBuf,
    /// Only keys that begin so, or of this shape with `*` and `?`
    #[arg(long = "match", value_name = "PATTERN")]
    pub(crate) pattern: Option<OsString>,
}

const IMPORT: &str = "\
Puts items into a running store. What is there already is overwritten, or kept with --keep. What has expired \
is left out. Each item that the store does not take is named, and the rest goes on.\n\n\
An export is read through before anything is put in, so that one that is cut off or damaged changes nothing; \
--rescue takes what is whole of it. (From standard input it is taken as it comes.)";

const IMPORT_EXAMPLES: &str = "\
Examples:
  forebay session import sessions.fbs --keep
  zstd -dc sessions.fbs.zst | forebay session import -
  forebay session import --php /var/lib/php/sessions
  forebay session import --php '2;/srv/sessions' --lifetime 4h --handler memcache
  forebay session import --memcached 10.0.0.5:11211 --match 'memc.sess.key.*'
  forebay session import --tyrant 10.0.0.5:1978 --ttl 24m";

/// The extension of PHP that will read what is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Handler {
    /// Keys are `memc.sess.key.ID`
    Memcached,
    /// Keys are the identifiers alone
    Memcache,
}

/// `forebay session import`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true))]
pub(crate) struct ImportArgs {
    /// An export; `-` is standard input
    #[arg(group = "source")]
    pub(crate) file: Option<PathBuf>,
    /// PHP's session files: a directory, or `N;DIR` and `N;MODE;DIR` as in session.save_path
    #[arg(long, value_name = "DIR", group = "source")]
    pub(crate) php: Option<SavePath>,
    /// A running memcached (1.6 or later), or another store of Forebay's
    #[arg(long, value_name = "ADDR", group = "source")]
    pub(crate) memcached: Option<Address>,
    /// A running Tokyo Tyrant; nobody else may list its keys meanwhile
    #[arg(long, value_name = "ADDR", group = "source")]
    pub(crate) tyrant: Option<Address>,
    /// Do not overwrite what is in the store
    #[arg(long)]
    pub(crate) keep: bool,
    /// Only keys that begin so, or of this shape with `*` and `?`
    #[arg(long = "match", value_name = "PATTERN", conflicts_with = "php")]
    pub(crate) pattern: Option<OsString>,
    /// Take what is whole of a damaged export
    #[arg(long, conflicts_with_all = ["php", "memcached", "tyrant"])]
    pub(crate) rescue: bool,
    /// With --php: how long a session lives behind its last use, session.gc_maxlifetime
    #[arg(long, value_name = "TIME", default_value = "24m", conflicts_with_all = ["file", "memcached", "tyrant"], value_parser = parse_duration)]
    pub(crate) lifetime: Duration,
    /// With --php: the session.save_handler that will read them
    #[arg(long, default_value = "memcached", conflicts_with_all = ["file", "memcached", "tyrant"])]
    pub(crate) handler: Handler,
    /// With --php: what stands before identifiers in keys [default: as the handler has it]
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "memcached", "tyrant"])]
    pub(crate) prefix: Option<OsString>,
    /// With --tyrant: how long the items live; Tokyo Tyrant knows no lifetimes [default: for ever]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["file", "php", "memcached"], value_parser = parse_duration)]
    pub(crate) ttl: Option<Duration>,
}

const SNAPSHOT: &str = "\
Copies what a store of a running Forebay holds at this moment into a new directory on the server's machine. \
It is ordered over the administration ([admin]), takes milliseconds, and is itself a `path` that a store can \
be opened on. The store needs a `path`.";

/// `forebay session snapshot`
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// The directory that is made
    pub(crate) directory: PathBuf,
    /// The administration address [default: that of the file, or 127.0.0.1:8081]
    #[arg(long, value_name = "ADDR", env = "FOREBAY_ADMIN")]
    pub(crate) admin: Option<forebay_admin::Address>,
    /// A token of the administration, when it asks for one [default: that of the file]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "FOREBAY_TOKEN",
        hide_env_values = true
    )]
    pub(crate) admin_token: Option<String>,
}

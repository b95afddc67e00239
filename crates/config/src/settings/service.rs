//! `[site.NAME]` and `[[site.NAME.path]]`: which requests they are for, and what is done with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Network, Policy};

/// `[site.NAME]`: hosts that share a service and a policy.
#[derive(Clone, Debug)]
pub struct Site {
    /// NAME.
    pub name: String,
    /// `shop.example`, `*.shop.example` or `*`; lower case. Empty: every host.
    pub hosts: Vec<String>,
    /// When not empty: other methods get 405.
    pub methods: Vec<String>,
    /// `[cache]`'s policy with this site's settings over it.
    pub policy: Policy,
    /// What is done with its requests.
    pub service: Service,
    /// `[[site.NAME.path]]`: the first that applies decides.
    pub paths: Vec<PathRule>,
}

/// `[[site.NAME.path]]`
#[derive(Clone, Debug)]
pub struct PathRule {
    /// Which requests it is for.
    pub when: When,
    /// The site's policy with this rule's settings over it.
    pub policy: Policy,
    /// The site's service with this rule's settings over it.
    pub service: Service,
}

/// Which requests a path rule is for: all that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// `match`: a glob over the path: `*` any run of characters, `?` one; without either, a prefix
    /// that ends at `/` or matches whole.
    pub pattern: Option<String>,
    /// `regex`: over the path; its groups are `{1}`, `{2}`, … and `{name}` in texts.
    pub regex: Option<String>,
    /// When not empty: these methods.
    pub methods: Vec<String>,
    /// Request fields (name in lower case) and a glob for one of their values.
    pub headers: Vec<(String, String)>,
    /// Parameters of the query and a glob for one of their values.
    pub query: Vec<(String, String)>,
    /// When not empty: clients of these networks.
    pub clients: Vec<Network>,
}

/// What is done with a request. Texts with `{…}` are [templates](Service::rewrite).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// A key of `Settings::pools`: who answers. `None` where `files` alone do.
    pub pool: Option<String>,
    /// `root`: files that answer before the pool is asked.
    pub files: Option<Files>,
    /// `php`, and whatever `protocol` is not HTTP: how the script is found.
    pub cgi: Cgi,
    /// Its place in a pool's queue.
    pub priority: Priority,
    /// Changes of path and query, in this order; the first that matches decides. In `to` and all
    /// other templates: `{host}`, `{path}`, `{query}`, `{uri}`, `{method}`, `{client}`, `{scheme}`,
    /// `{header.NAME}`, `{cookie.NAME}`, `{query.NAME}` and the groups `{1}` … of the pattern.
    pub rewrite: Vec<Rewrite>,
    /// Answered here, with a redirection.
    pub redirect: Vec<Redirect>,
    /// Answered here, with this.
    pub respond: Option<Respond>,
    /// What is changed in the request before it goes to the origin.
    pub request_headers: HeaderEdits,
    /// What is changed in the response before it goes to the client.
    pub response_headers: HeaderEdits,
    /// Pages for errors of ours and, with `intercept_errors`, of the origin's; by status.
    pub error_pages: BTreeMap<u16, PathBuf>,
    /// Whether the origin's errors are replaced by `error_pages` too.
    pub intercept_errors: bool,
    /// User names and passwords are asked for (RFC 7617).
    pub auth: Option<BasicAuth>,
    /// When not empty: only these clients; others get 403.
    pub allow: Vec<Network>,
    /// These clients get 403, also when they are allowed.
    pub deny: Vec<Network>,
    /// Requests of one client; beyond: 429.
    pub request_rate: Option<Rate>,
    /// Requests of one client at once; beyond: 429.
    pub client_requests: Option<u32>,
    /// Of a path rule: `request_rate` is its own, and not the site's, which is one for all.
    pub own_rate: bool,
    /// The same of `client_requests`.
    pub own_client_requests: bool,
    /// Bytes of a request body; beyond: 413. `None`: `limits.request_body`.
    pub request_body_bytes: Option<u64>,
    /// Cross-origin requests (the Fetch standard's CORS protocol).
    pub cors: Option<Cors>,
    /// Everybody else gets 503 with `Retry-After`.
    pub maintenance: Option<Maintenance>,
    /// Responses are compressed here.
    pub compress: Option<Compress>,
}

/// `root` and what belongs to it: static files.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// Nothing outside of it is ever served.
    pub root: PathBuf,
    /// What is looked for in a directory.
    pub index: Vec<String>,
    /// Templates that are tried in this order; one that ends in `/` is a directory; the last may
    /// be `=404` or another status. Empty: `{path}`, `{path}/`, then the pool if there is one.
    pub try_files: Vec<String>,
    /// Whether a directory without an index is listed.
    pub listing: bool,
    /// What symbolic links may do.
    pub symlinks: Symlinks,
    /// Whether names that begin with a dot are served (`/.well-known/` always is).
    pub hidden: bool,
    /// Codings that are looked for beside a file: `page.html.br`.
    pub precompressed: Vec<Coding>,
    /// Files up to this many bytes are kept in the cache's memory.
    pub cached_bytes: u64,
    /// How long they are served from there before it is looked whether they have changed.
    pub check: Duration,
    /// `Cache-Control: max-age` of what is served. `None`: no such field.
    pub max_age: Option<Duration>,
    /// Media types by extension (lower case, without dot), over the usual ones.
    pub types: BTreeMap<String, String>,
    /// Added to `text/*` and what is similar. `None`: nothing.
    pub charset: Option<String>,
}

/// `files.symlinks`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// Followed while they stay below the root.
    #[default]
    Inside,
    /// Not followed: 404.
    Never,
    /// Followed wherever they lead.
    Follow,
}

/// A content coding (RFC 9110 section 8.4.1), in the order in which they are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coding {
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
    /// `gzip`
    Gzip,
}

/// How a FastCGI, SCGI or uwsgi server is told which script runs (RFC 3875).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgi {
    /// `php`: the pool of what has `extension`; the site's `pool` is then for the rest.
    pub php: Option<String>,
    /// Where scripts lie, as the server sees it. `None`: `root`.
    pub root: Option<PathBuf>,
    /// The script of a path that ends in `/`.
    pub index: String,
    /// What ends a script's name in a path; what follows is `PATH_INFO`. Empty: the whole path is
    /// `PATH_INFO` and there is no script (uwsgi and SCGI applications).
    pub extension: String,
    /// More parameters, as templates.
    pub params: BTreeMap<String, String>,
    /// Whether `X-Sendfile` and `X-Accel-Redirect` of responses are obeyed: paths below these.
    pub send_files: Vec<PathBuf>,
}

/// The class of a request in a pool's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before all others.
    High,
    /// After those.
    #[default]
    Normal,
    /// Last.
    Low,
}

/// One of `rewrite`: `{ match = "^/old/(.*)$", to = "/new/{1}" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// A regular expression over the path.
    pub pattern: String,
    /// The new path, and with `?` the new query; without one the query stays.
    pub to: String,
}

/// One of `redirect`: `{ match = "^/old/(.*)$", to = "https://new.example/{1}", status = 301 }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// A regular expression over the path.
    pub pattern: String,
    /// `Location`.
    pub to: String,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// `respond = { status = 200, body = "ok", type = "text/plain" }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Respond {
    /// Its status.
    pub status: u16,
    /// Its body, a template.
    pub body: String,
    /// Its media type.
    pub media_type: String,
}

/// Changes of fields, in this order: removed, set, added. Values are templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderEdits {
    /// Names, globs.
    pub remove: Vec<String>,
    /// In place of all that have the name.
    pub set: Vec<(String, String)>,
    /// Beside them.
    pub add: Vec<(String, String)>,
}

/// `auth = { realm = "…", users = "/etc/forebay/htpasswd" }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// What the browser shows.
    pub realm: String,
    /// A file of `htpasswd`: bcrypt, SHA-crypt, or `{SHA}`.
    pub users: PathBuf,
}

/// `request_rate = "10/s"`, with `request_burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many …
    pub requests: u32,
    /// … in this time …
    pub per: Duration,
    /// … and so many more at once after a pause.
    pub burst: u32,
}

/// `[site.NAME.cors]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// Origins, globs; `*` alone: any.
    pub origins: Vec<String>,
    /// Methods.
    pub methods: Vec<String>,
    /// Request fields.
    pub headers: Vec<String>,
    /// Response fields that scripts may see.
    pub expose: Vec<String>,
    /// Whether cookies may be sent.
    pub credentials: bool,
    /// How long a preflight's answer is kept by the browser.
    pub max_age: Duration,
}

/// `[site.NAME.maintenance]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// On while this file exists; `None`: on.
    pub while_exists: Option<PathBuf>,
    /// Clients that are served nevertheless.
    pub allow: Vec<Network>,
    /// The page; `None`: a plain one.
    pub page: Option<PathBuf>,
    /// `Retry-After`.
    pub retry_after: Duration,
}

/// `compress = true`, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compress {
    /// Codings, the preferred first.
    pub codings: Vec<Coding>,
    /// Media types, globs.
    pub types: Vec<String>,
    /// Shorter bodies are left as they are.
    pub min_bytes: u64,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            root: PathBuf::new(),
            index: vec!["index.html".into()],
            try_files: Vec::new(),
            listing: false,
            symlinks: Symlinks::Inside,
            hidden: false,
            precompressed: Vec::new(),
            cached_bytes: 256 << 10,
            check: Duration::from_secs(1),
            max_age: None,
            types: BTreeMap::new(),
            charset: Some("utf-8".into()),
        }
    }
}

impl Default for Cgi {
    fn default() -> Self {
        Self {
            php: None,
            root: None,
            index: "index.php".into(),
            extension: ".php".into(),
            params: BTreeMap::new(),
            send_files: Vec::new(),
        }
    }
}

impl Default for Cors {
    fn default() -> Self {
        let list = |words: &[&str]| words.iter().map(|word| (*word).into()).collect();
        Self {
            origins: Vec::new(),
            methods: list(&["GET", "HEAD", "POST"]),
            headers: Vec::new(),
            expose: Vec::new(),
            credentials: false,
            max_age: Duration::from_secs(600),
        }
    }
}

impl Default for Maintenance {
    fn default() -> Self {
        Self {
            while_exists: None,
            allow: Vec::new(),
            page: None,
            retry_after: Duration::from_secs(60),
        }
    }
}

impl Default for Compress {
    fn default() -> Self {
        let types = [
            "text/*",
            "application/json",
            "application/*+json",
            "application/javascript",
            "application/xml",
            "application/*+xml",
            "application/wasm",
            "image/svg+xml",
            "font/ttf",
            "font/otf",
        ];
        Self {
            codings: vec![Coding::Brotli, Coding::Zstd, Coding::Gzip],
            types: types.iter().map(|kind| (*kind).into()).collect(),
            min_bytes: 1024,
        }
    }
}

impl Coding {
    /// Its name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// What a file's name ends in, with the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }
}

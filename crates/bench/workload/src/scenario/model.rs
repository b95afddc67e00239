//! The scenario file as types. A file is TOML; recorded and imported
//! scenarios are written in the same form:
//!
//! ```toml
//! name = "shop"
//! base = "http://127.0.0.1:8080"
//!
//! [headers]
//! Accept-Language = "en"
//!
//! [variables]
//! category = "shoes"
//! visit = "${uuid}"                 # drawn once for each user
//!
//! [[data]]
//! file = "users.csv"                # its first line names the columns, unless:
//! columns = ["login", "password"]
//! order = "sequential"              # or "random", "per-user"
//! on_end = "wrap"                   # or "stop"
//!
//! [[flow]]
//! name = "buyer"
//! weight = 3                        # three users of four
//! pause = "1s..3s"                  # or "500ms", or "2s~500ms": mean and deviation
//! stop_on_failure = true
//!
//! [[flow.step]]
//! name = "login page"
//! url = "/login"
//! extract = [
//!   { variable = "token", regex = 'name="token" value="([^"]+)"' },
//!   { variable = "session", cookie = "sid", default = "none" },
//! ]
//!
//! [[flow.step]]
//! name = "login"
//! url = "/login"
//! follow = 3
//! form = { login = "${login}", password = "${password}", token = "${token}" }
//! expect = { status = [200, "3xx"], contains = "Welcome", within = "500ms" }
//!
//! [[flow.step]]                     # a group
//! repeat = 3
//!
//! [[flow.step.step]]
//! url = "/search"
//! query = { q = "${category}", page = "${random:1:9}" }
//! extract = [{ variable = "item", json = "$.items[*].id", occurrence = 0, default = "" }]
//! [flow.step.step.expect]
//! header = { Content-Type = "^application/json" }
//! json = { "$.status" = "ok" }
//!
//! [[flow.step.step]]
//! when = "${item}"                  # not empty; also == and !=
//! url = "/items/${item}"
//! pause = "5s"
//!
//! [[flow]]
//! name = "visitor"
//!
//! [[flow.step]]
//! url = "/"
//! headers = { X-Visit = "${visit}" }
//!
//! [[flow.step]]
//! pause = "2s"
//! ```
//!
//! `${name}` stands for a variable in URLs, headers, forms, bodies, checks,
//! conditions and pauses. Variables come from `[variables]`, from data files
//! and from extractions (which keep their value while the user lives), and
//! some are built in: `${user}` (number of the virtual user, from 1),
//! `${iteration}` (from 1), `${random}` (a new 64-bit number in hex each time),
//! `${random:1:6}` (a number from 1 to 6), `${uuid}`. A name that the scenario
//! defines comes before a built-in one. `$${` is a plain `${`.

use std::collections::BTreeMap;

/// A scenario file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// For the report.
    pub name: String,
    /// What relative URLs belong to.
    pub base: Option<String>,
    /// Sent with every request, unless the step says otherwise.
    pub headers: BTreeMap<String, String>,
    /// Constants; what has `${random}` or `${uuid}` in it is drawn once for each user.
    pub variables: BTreeMap<String, String>,
    /// CSV files.
    pub data: Vec<Data>,
    /// What users do; each user takes one flow, by weight.
    pub flow: Vec<Flow>,
}

/// A CSV file whose columns become variables, a row for each iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Relative to the scenario file.
    pub file: String,
    /// Names of the columns; without, the file's first line.
    pub columns: Vec<String>,
    /// Between columns.
    pub separator: char,
    /// Which row is next.
    pub order: DataOrder,
    /// What happens after the last row.
    pub on_end: OnEnd,
}

/// Which row of a data file an iteration takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataOrder {
    /// The next that no user has taken.
    #[default]
    Sequential,
    /// Any.
    Random,
    /// Each user keeps one row.
    PerUser,
}

/// What happens when a data file is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEnd {
    /// It begins again.
    #[default]
    Wrap,
    /// The user stops.
    Stop,
}

/// What one kind of user does, from the first step to the last, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// For the report.
    pub name: String,
    /// Share of the users, relative to the other flows'.
    pub weight: f64,
    /// How often a user goes through it; without, until the time is up.
    pub iterations: Option<u64>,
    /// After every request whose step has none of its own.
    pub pause: Option<Pause>,
    /// Whether a user keeps its cookies from one iteration to the next.
    pub keep_cookies: bool,
    /// Whether a failed step ends the iteration.
    pub stop_on_failure: bool,
    /// In order.
    pub step: Vec<Step>,
}

/// Time without a request: `"500ms"`, `"1s..3s"` (anything between, evenly), or
/// `"2s~500ms"` (normally distributed: mean, deviation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause(pub String);

/// A request; or, with `step`, a group that is repeated; or, with only `pause`, a pause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The label in the report; without, method and path as written.
    pub name: String,
    /// Default `GET`, with a body `POST`.
    pub method: Option<String>,
    /// Absolute, or relative to `base`.
    pub url: Option<String>,
    /// Query parameters added to the URL, percent-encoded.
    pub query: BTreeMap<String, String>,
    /// In addition to the scenario's; an empty value takes one of those away.
    pub headers: BTreeMap<String, String>,
    /// Sent as `application/x-www-form-urlencoded`.
    pub form: BTreeMap<String, String>,
    /// Sent as it is.
    pub body: Option<String>,
    /// A file whose bytes are the body, relative to the scenario file; no variables in it.
    pub body_file: Option<String>,
    /// User name and password of HTTP's basic authentication.
    pub basic_auth: Option<(String, String)>,
    /// How many redirections are followed, each a request of the same label; default none.
    pub follow: u32,
    /// What the response must be.
    pub expect: Expect,
    /// Variables taken from the response.
    pub extract: Vec<Extract>,
    /// After the step, each time it is repeated, instead of the flow's.
    pub pause: Option<Pause>,
    /// How often; for a request or a group. May be a variable.
    pub repeat: Option<Count>,
    /// Done only when this holds: `${a} == text`, `${a} != text`, `${a}` (not empty). Looked at
    /// before each repetition.
    pub when: Option<String>,
    /// The steps of a group.
    pub step: Vec<Step>,
}

/// A number, or a text with a variable that becomes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// So often.
    Fixed(u64),
    /// `"${n}"`
    Variable(String),
}

/// Checks on a response; the first that fails is counted, with its words, and fails the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// `200`, `"2xx"`, or several; without, everything below 400.
    pub status: Vec<String>,
    /// The body has all of these.
    pub contains: Vec<String>,
    /// The body has none of these.
    pub lacks: Vec<String>,
    /// Regular expressions that match in the body.
    pub matches: Vec<String>,
    /// The body is this.
    pub body: Option<String>,
    /// Regular expressions that match in the value of a field.
    pub header: BTreeMap<String, String>,
    /// Values in a JSON body: a path (`$.items[0].id`) and its value as text.
    pub json: BTreeMap<String, String>,
    /// The whole response took at most so long: `"200ms"`.
    pub within: Option<String>,
}

impl Expect {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// A variable that a response gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The variable.
    pub variable: String,
    /// Where to look, and how.
    pub from: Source,
    /// Which of several finds: 1 is the first, 0 any by chance, -1 the last.
    pub occurrence: i32,
    /// When nothing is found; without, that fails the request.
    pub default: Option<String>,
}

/// Where an extraction looks. One of these keys stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A regular expression on the body; its first group, or the whole match.
    Regex(String),
    /// A path in a JSON body: `$.token`, `$.items[0].id`, `$..id`.
    Json(String),
    /// A field of the response.
    Header(String),
    /// A regular expression on the head, field by field (`Name: value`).
    HeadRegex(String),
    /// A cookie that the response sets.
    Cookie(String),
    /// Left and right boundary in the body.
    Between(String, String),
}

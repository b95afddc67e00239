//! Every key of a scenario file, one documented row each: the reader knows no
//! others, and the reference is written from these.

/// A key of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table it stands in: empty for the head of the file, `data`, `flow`, `step`, `expect`,
    /// `extract`.
    pub table: &'static str,
    /// The key.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn key(
    table: &'static str,
    name: &'static str,
    takes: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        table,
        name,
        takes,
        meaning,
    }
}

const TEXT: &str = "a text";
const TEXTS: &str = "a text or a list of texts";
const PAIRS: &str = "a table of names and texts";

/// All keys, in the order they are written.
pub const KEYS: &[Key] = &[
    key("", "name", TEXT, "For the report."),
    key(
        "",
        "base",
        TEXT,
        "What relative URLs belong to; a URL on the command line comes before it.",
    ),
    key(
        "",
        "headers",
        PAIRS,
        "Sent with every request, unless the step says otherwise.",
    ),
    key(
        "",
        "variables",
        PAIRS,
        "Texts for `${name}`; with `${random}` or `${uuid}` in it, drawn once for each user.",
    ),
    key(
        "",
        "data",
        "a list of tables (`[[data]]`)",
        "CSV files whose columns become variables.",
    ),
    key(
        "",
        "flow",
        "a list of tables (`[[flow]]`)",
        "What users do; each takes one flow, by weight.",
    ),
    key("data", "file", TEXT, "The file, relative to the scenario."),
    key(
        "data",
        "columns",
        TEXTS,
        "Names of the columns; without, the file's first line has them.",
    ),
    key(
        "data",
        "separator",
        "one character",
        "Between columns; default a comma.",
    ),
    key(
        "data",
        "order",
        "`sequential`, `random` or `per-user`",
        "The next row that no user has taken (default), any row, or one row for each user.",
    ),
    key(
        "data",
        "on_end",
        "`wrap` or `stop`",
        "After the last row it begins again (default), or the user stops.",
    ),
    key("flow", "name", TEXT, "For the reader."),
    key(
        "flow",
        "weight",
        "a number",
        "Share of the users, relative to the other flows'; default 1.",
    ),
    key(
        "flow",
        "iterations",
        "a whole number",
        "How often a user goes through it; without, until the time is up.",
    ),
    key(
        "flow",
        "pause",
        "a text such as `1s..3s`",
        "After every request whose step has no pause of its own.",
    ),
    key(
        "flow",
        "keep_cookies",
        "`true` or `false`",
        "Whether a user keeps its cookies from one iteration to the next.",
    ),
    key(
        "flow",
        "stop_on_failure",
        "`true` or `false`",
        "Whether a failed request ends the iteration.",
    ),
    key(
        "flow",
        "step",
        "a list of tables (`[[flow.step]]`)",
        "The steps, in order.",
    ),
    key(
        "step",
        "name",
        TEXT,
        "The label in the report; without, method and path as written.",
    ),
    key("step", "method", TEXT, "Default `GET`, with a body `POST`."),
    key("step", "url", TEXT, "Absolute, or relative to `base`."),
    key(
        "step",
        "follow",
        "a whole number",
        "How many redirections are followed, under the same label; default none.",
    ),
    key(
        "step",
        "repeat",
        "a whole number or a text with a variable",
        "How often; what is no number then is 0.",
    ),
    key(
        "step",
        "when",
        "a text such as `${a} == b`",
        "Done only when this holds: `${a} == text`, `${a} != text`, `${a}` (not empty); looked at before each repetition.",
    ),
    key(
        "step",
        "pause",
        "a text such as `1s..3s`",
        "After the step (each time), instead of the flow's; alone, a step that only waits.",
    ),
    key(
        "step",
        "basic_auth",
        "a list of name and password",
        "HTTP's basic authentication.",
    ),
    key(
        "step",
        "query",
        PAIRS,
        "Parameters added to the URL, percent-encoded.",
    ),
    key(
        "step",
        "headers",
        PAIRS,
        "In addition to the scenario's; an empty value takes one of those away.",
    ),
    key(
        "step",
        "form",
        PAIRS,
        "Sent as `application/x-www-form-urlencoded`.",
    ),
    key("step", "body", TEXT, "Sent as it is."),
    key(
        "step",
        "body_file",
        TEXT,
        "A file whose bytes are the body, relative to the scenario; no variables in it.",
    ),
    key("step", "expect", "a table", "What the response must be."),
    key(
        "step",
        "extract",
        "a list of tables",
        "Variables taken from the response.",
    ),
    key(
        "step",
        "step",
        "a list of tables (`[[flow.step.step]]`)",
        "The steps of a group.",
    ),
    key(
        "expect",
        "status",
        "`200`, `\"2xx\"`, or a list of these",
        "The status; without, everything below 400.",
    ),
    key("expect", "contains", TEXTS, "The body has all of these."),
    key("expect", "lacks", TEXTS, "The body has none of these."),
    key(
        "expect",
        "matches",
        TEXTS,
        "Regular expressions that match in the body.",
    ),
    key("expect", "body", TEXT, "The body is this."),
    key(
        "expect",
        "header",
        PAIRS,
        "Regular expressions that match in the value of a field.",
    ),
    key(
        "expect",
        "json",
        PAIRS,
        "Paths into a JSON body (`$.items[0].id`) and the value as text that one of the finds has.",
    ),
    key(
        "expect",
        "within",
        "a text such as `200ms`",
        "The whole response took at most so long.",
    ),
    key("extract", "variable", TEXT, "The variable that is set."),
    key(
        "extract",
        "regex",
        TEXT,
        "A regular expression on the body: its first group, or the whole match.",
    ),
    key("extract", "json", TEXT, "A path into a JSON body."),
    key("extract", "header", TEXT, "A field of the response."),
    key(
        "extract",
        "head-regex",
        TEXT,
        "A regular expression on each `Name: value` of the head.",
    ),
    key(
        "extract",
        "cookie",
        TEXT,
        "A cookie that the response sets.",
    ),
    key(
        "extract",
        "between",
        "a list of two texts",
        "What stands in the body between these two.",
    ),
    key(
        "extract",
        "occurrence",
        "a whole number",
        "Which of several: 1 is the first (default), 0 any by chance, -1 the last.",
    ),
    key(
        "extract",
        "default",
        TEXT,
        "When nothing is found; without, that fails the request.",
    ),
];

/// The row of a key.
pub(crate) fn find(table: &str, name: &str) -> Option<&'static Key> {
    in_table(table).find(|key| key.name == name)
}

/// The rows of a table.
pub(crate) fn in_table(table: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.table == table)
}

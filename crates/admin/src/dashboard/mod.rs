//! The pages of the dashboard, embedded in the program.
//!
//! They are written by hand and served as they are: no build step, nothing
//! from elsewhere. They hold no figures; what they show they ask of the API,
//! with the token that the operator gives them.

/// A file, its `Content-Type` and what is in it.
type File = (&'static str, &'static str, &'static [u8]);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All files. `app.js` is the one to read first.
#[rustfmt::skip]
const FILES: &[File] = &[
    ("/", HTML, include_bytes!("index.html")),
    ("/dashboard/style.css", CSS, include_bytes!("style.css")),
    ("/dashboard/icon.svg", SVG, include_bytes!("icon.svg")),
    ("/dashboard/theme.js", SCRIPT, include_bytes!("theme.js")),
    ("/dashboard/app.js", SCRIPT, include_bytes!("app.js")),
    ("/dashboard/api.js", SCRIPT, include_bytes!("api.js")),
    ("/dashboard/dom.js", SCRIPT, include_bytes!("dom.js")),
    ("/dashboard/format.js", SCRIPT, include_bytes!("format.js")),
    ("/dashboard/history.js", SCRIPT, include_bytes!("history.js")),
    ("/dashboard/chart.js", SCRIPT, include_bytes!("chart.js")),
    ("/dashboard/scale.js", SCRIPT, include_bytes!("scale.js")),
    ("/dashboard/overview.js", SCRIPT, include_bytes!("overview.js")),
    ("/dashboard/state.js", SCRIPT, include_bytes!("state.js")),
    ("/dashboard/objects.js", SCRIPT, include_bytes!("objects.js")),
    ("/dashboard/purge.js", SCRIPT, include_bytes!("purge.js")),
    ("/dashboard/log.js", SCRIPT, include_bytes!("log.js")),
    ("/dashboard/config.js", SCRIPT, include_bytes!("config.js")),
];

/// What is served at `path`, with its `Content-Type`; `None`: nothing is there.
pub(crate) fn page(path: &str) -> Option<(&'static str, &'static [u8])> {
    let found = FILES.iter().find(|(own, ..)| *own == path);
    found.map(|(_, content_type, bytes)| (*content_type, *bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        str::from_utf8(bytes).unwrap()
    }

    /// What stands in quotes behind each `before`.
    fn named<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
        let parts = text.split(before).skip(1);
        parts.filter_map(|rest| rest.split('"').next())
    }

    #[test]
    fn everything_that_the_page_loads_is_there() {
        let (_, html) = page("/").unwrap();
        for path in
            named(text(html), "src=\"").chain(named(text(html), "<link rel=\"icon\" href=\""))
        {
            assert!(page(path).is_some(), "{path}");
        }
        for (own, content_type, bytes) in FILES.iter().filter(|file| file.1 == SCRIPT) {
            assert_eq!(*content_type, SCRIPT);
            for module in named(text(bytes), "from \"./") {
                let path = format!("/dashboard/{module}");
                assert!(page(&path).is_some(), "{path} in {own}");
            }
        }
        assert!(page("/dashboard/").is_none());
        assert!(page("/dashboard/../index.html").is_none());
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_no_text_becomes_markup() {
        for (own, _, bytes) in FILES {
            let allowed = text(bytes).replace("http://www.w3.org/2000/svg", "");
            for outside in [
                "src=\"http",
                "href=\"http",
                "src=\"//",
                "@import",
                "url(",
                "from \"http",
            ] {
                assert!(!allowed.contains(outside), "{outside} in {own}");
            }
            for markup in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!allowed.contains(markup), "{markup} in {own}");
            }
        }
    }

    #[test]
    fn what_the_policy_forbids_is_not_in_the_page() {
        let (_, html) = page("/").unwrap();
        for inline in ["<script>", " onclick=", " onload=", "javascript:"] {
            assert!(!text(html).contains(inline), "{inline}");
        }
    }
}

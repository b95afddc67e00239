//! Cross-origin requests, as the Fetch standard's CORS protocol has them.

use forebay_config::settings::Cors as Settings;
use forebay_http::fields::write_line;
use forebay_http::glob;

/// What a site allows scripts of other origins.
#[derive(Clone, Debug)]
pub struct Cors {
    settings: Settings,
    /// Every origin may, and none is told apart.
    any: bool,
}

/// The response's own fields, which this site's settings replace.
pub const REPLACED: &[&[u8]] = &[
    b"access-control-allow-origin",
    b"access-control-allow-credentials",
    b"access-control-expose-headers",
];

/// The longest list of fields that is repeated to whoever asks for `*`.
const ASKED_BYTES: usize = 4096;

impl Cors {
    /// Takes the settings.
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            any: settings.origins.iter().any(|origin| origin == "*") && !settings.credentials,
        }
    }

    /// Whether scripts of this origin may.
    fn allows(&self, origin: &[u8]) -> bool {
        // A browser sends scheme, host and port; a glob must not reach further.
        let rest = origin.splitn(2, |&b| b == b':').nth(1).unwrap_or_default();
        let host = rest.strip_prefix(b"//").unwrap_or(rest);
        if host
            .iter()
            .any(|b| !b.is_ascii_graphic() || b"/?#@\\".contains(b))
        {
            return false;
        }
        let lower = origin.to_ascii_lowercase();
        let mut own = self.settings.origins.iter();
        own.any(|own| own == "*" && self.any || own != "*" && glob::matches(own.as_bytes(), &lower))
    }

    /// Lines of every response, to a request with this `Origin` or none.
    pub fn write(&self, origin: Option<&[u8]>, out: &mut Vec<u8>) {
        if self.any {
            // Also to requests without `Origin`: what caches keep of the answer is for both.
            write_line(out, b"Access-Control-Allow-Origin", b"*");
            self.write_exposed(out);
            return;
        }
        // Also where it is not allowed: what caches keep of this answer is not for others.
        write_line(out, b"Vary", b"Origin");
        let Some(origin) = origin.filter(|origin| self.allows(origin)) else {
            return;
        };
        write_line(out, b"Access-Control-Allow-Origin", origin);
        if self.settings.credentials {
            write_line(out, b"Access-Control-Allow-Credentials", b"true");
        }
        self.write_exposed(out);
    }

    fn write_exposed(&self, out: &mut Vec<u8>) {
        if !self.settings.expose.is_empty() {
            let names = self.settings.expose.join(", ");
            write_line(out, b"Access-Control-Expose-Headers", names.as_bytes());
        }
    }

    /// Lines of the answer to a preflight: a request from `origin` to use `method` and, with
    /// `headers`, these fields. Without the lines that allow it the browser refuses.
    pub fn write_preflight(
        &self,
        origin: &[u8],
        method: &[u8],
        headers: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) {
        let varies = b"Access-Control-Request-Method, Access-Control-Request-Headers";
        write_line(out, b"Vary", varies);
        let settings = &self.settings;
        let allowed = self.any || self.allows(origin);
        let known = |own: &String| own.as_bytes() == method;
        if !allowed || !settings.methods.iter().any(known) {
            if !self.any {
                write_line(out, b"Vary", b"Origin");
            }
            return;
        }
        self.write(Some(origin), out);
        let methods = settings.methods.join(", ");
        write_line(out, b"Access-Control-Allow-Methods", methods.as_bytes());
        let plain = |asked: &&[u8]| asked.len() <= ASKED_BYTES;
        if settings.headers.iter().any(|name| name == "*") {
            if let Some(asked) = headers.filter(plain) {
                write_line(out, b"Access-Control-Allow-Headers", asked);
            }
        } else if !settings.headers.is_empty() {
            let names = settings.headers.join(", ");
            write_line(out, b"Access-Control-Allow-Headers", names.as_bytes());
        }
        let age = settings.max_age.as_secs().to_string();
        write_line(out, b"Access-Control-Max-Age", age.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(settings: &Settings, origin: Option<&str>) -> String {
        let mut out = Vec::new();
        Cors::new(settings).write(origin.map(str::as_bytes), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn of(origins: &[&str], credentials: bool) -> Settings {
        Settings {
            origins: origins.iter().map(|origin| (*origin).into()).collect(),
            credentials,
            ..Settings::default()
        }
    }

    #[test]
    fn an_origin_that_may_is_named_and_the_answer_varies_by_it() {
        let settings = of(&["https://a.example", "https://*.b.example"], true);
        let allowed = "Vary: Origin\r\nAccess-Control-Allow-Origin: https://x.b.example\r\n\
                       Access-Control-Allow-Credentials: true\r\n";
        assert_eq!(lines(&settings, Some("https://x.b.example")), allowed);
        for other in [
            None,
            Some("https://b.example"),
            Some("http://a.example"),
            Some("https://evil.example/.b.example"),
            Some("https://evil.example#.b.example"),
            Some("null"),
        ] {
            assert_eq!(lines(&settings, other), "Vary: Origin\r\n", "{other:?}");
        }
    }

    #[test]
    fn any_origin_is_a_star_and_varies_by_nothing() {
        let settings = of(&["*"], false);
        let star = "Access-Control-Allow-Origin: *\r\n";
        assert_eq!(lines(&settings, Some("https://x")), star);
        assert_eq!(lines(&settings, None), star);
    }

    #[test]
    fn a_star_with_credentials_allows_nobody() {
        let settings = of(&["*"], true);
        assert_eq!(lines(&settings, Some("https://x")), "Vary: Origin\r\n");
    }

    #[test]
    fn preflights() {
        let settings = Settings {
            headers: vec!["X-A".into()],
            ..of(&["https://a.example"], false)
        };
        let ask = |origin: &str, method: &str| {
            let mut out = Vec::new();
            let cors = Cors::new(&settings);
            cors.write_preflight(origin.as_bytes(), method.as_bytes(), Some(b"x-a"), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let good = ask("https://a.example", "POST");
        for part in [
            "Access-Control-Allow-Origin: https://a.example\r\n",
            "Access-Control-Allow-Methods: GET, HEAD, POST\r\n",
            "Access-Control-Allow-Headers: X-A\r\n",
            "Access-Control-Max-Age: 600\r\n",
        ] {
            assert!(good.contains(part), "{part} is not in {good}");
        }
        assert!(!ask("https://a.example", "DELETE").contains("Allow-"));
        assert!(!ask("https://b.example", "POST").contains("Allow-"));
    }
}

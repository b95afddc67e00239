//! Words of HTTP and of the log as an operator writes them in settings.

mod files;
mod pool;
mod rules;

pub(crate) use files::{coding, extension, file_name, media_glob, media_type, media_type_of};
pub(crate) use pool::{
    cookie_name, hash_by, join_token, plain_name, request_path, retry_on, statuses, variable,
};
pub(crate) use rules::{
    Side, error_page, error_pages, field_edit, field_removed, rate, realm, redirect_target,
    rewrite_target, template, try_file, web_origin,
};

use std::path::PathBuf;

use crate::address::Refused;
use crate::log_fields::parse_template;
use crate::nearest::nearest;
use crate::settings::{KeyPart, LogFormat, LogTarget};

/// Methods that RFC 9110 section 9.3 and RFC 5789 define, for suggestions.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
];

/// Whether `text` is a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let other = |b: u8| b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || other(b))
}

/// A method; they are case-sensitive (RFC 9110 section 9.1), so `get` is probably not meant.
pub(crate) fn method(text: &str) -> Result<String, Refused> {
    if !is_token(text) {
        return Err(Refused::new(format!("`{text}` is not a method")));
    }
    match METHODS
        .iter()
        .find(|known| known.eq_ignore_ascii_case(text))
    {
        Some(known) if *known != text => {
            Err(Refused::write("methods are written in capitals", known))
        }
        _ => Ok(text.into()),
    }
}

/// The name of a field.
pub(crate) fn field_name(text: &str) -> Result<String, Refused> {
    match is_token(text) {
        true => Ok(text.into()),
        false => Err(Refused::new(format!("`{text}` is not the name of a field"))),
    }
}

/// Permissions of a file in octal digits, as `chmod` takes them.
pub(crate) fn socket_mode(text: &str) -> Result<u32, Refused> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let mode = u32::from_str_radix(text, 8).ok();
    let mode = mode.filter(|mode| is_octal && *mode <= 0o777);
    mode.ok_or_else(|| Refused::write(format!("`{text}` are no permissions"), "0660"))
}

/// A bearer token (RFC 6750 section 2.1), long enough not to be guessed.
pub(crate) fn token(text: &str) -> Result<String, Refused> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    match (16..=256).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.into()),
        // It is a secret: it is not repeated in a log.
        false => Err(Refused::new(
            "a token has 16 to 256 letters, digits and `-._~+/=`",
        )),
    }
}

/// This server's name: a pseudonym in `Via` (RFC 9110 section 7.6.3) and a token in
/// `Cache-Status` (RFC 9211 section 2), which begins with a letter.
pub(crate) fn server_name(text: &str) -> Result<String, Refused> {
    match is_token(text) && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.len() <= 64
    {
        true => Ok(text.into()),
        false => Err(Refused::new(
            "a name is a letter followed by letters, digits, `-`, `.` or `_`, at most 64 in all",
        )),
    }
}

/// A glob over names of cookies, query parameters, or paths.
pub(crate) fn glob(text: &str) -> Result<String, Refused> {
    match text {
        "" => Err(Refused::new("an empty pattern matches nothing")),
        _ => Ok(text.into()),
    }
}

/// A pattern over paths: `/img/*`, `*.php`.
pub(crate) fn path_pattern(text: &str) -> Result<String, Refused> {
    if text.starts_with(['/', '*', '?']) {
        return Ok(text.into());
    }
    let message = format!("`{text}` matches no path: they begin with `/`");
    Err(Refused::write(message, format_args!("/{text}")))
}

/// A part of a cache key: `host`, `path`, `query`, `header:NAME`, `cookie:NAME`.
pub(crate) fn key_part(text: &str) -> Result<KeyPart, Refused> {
    match (text, text.split_once(':')) {
        ("host", _) => Ok(KeyPart::Host),
        ("path", _) => Ok(KeyPart::Path),
        ("query", _) => Ok(KeyPart::Query),
        (_, Some(("header", name))) => {
            field_name(name).map(|name| KeyPart::Header(name.to_lowercase()))
        }
        (_, Some(("cookie", name))) if is_token(name) => Ok(KeyPart::Cookie(name.into())),
        (_, Some(("cookie", name))) => Err(Refused::new(format!(
            "`{name}` is not the name of a cookie"
        ))),
        _ => Err(unknown_part(text, ["host", "path", "query"])),
    }
}

/// What is no part of a key: neither `header:NAME`, `cookie:NAME` nor one of `words`.
fn unknown_part(text: &str, words: [&'static str; 3]) -> Refused {
    Refused {
        message: format!("unknown part of a key `{text}`"),
        suggestion: match text.split_once(':') {
            Some((kind, name)) => nearest(kind, ["header", "cookie"])
                .map(|kind| format!("did you mean `{kind}:{name}`?")),
            None => nearest(text, words).map(|part| format!("did you mean `{part}`?")),
        },
    }
}

/// Where a log goes: `off`, `stdout`, `stderr`, or a file. A file is known by
/// the `/` in it, so that a misspelt word does not become one.
pub(crate) fn log_target(text: &str) -> Result<LogTarget, Refused> {
    match text {
        "off" => Ok(LogTarget::Off),
        "stdout" => Ok(LogTarget::Stdout),
        "stderr" => Ok(LogTarget::Stderr),
        _ if text.contains('/') && !text.ends_with('/') && !text.contains('\0') => {
            Ok(LogTarget::File(PathBuf::from(text)))
        }
        _ => Err(match nearest(text, ["off", "stdout", "stderr"]) {
            Some(word) => Refused::write(format!("unknown place `{text}`"), word),
            None => Refused::write(
                format!("`{text}` is not the path of a file"),
                format_args!("./{text}"),
            ),
        }),
    }
}

/// `combined`, `json`, or a template with `{field}` in it.
pub(crate) fn log_format(text: &str) -> Result<LogFormat, Refused> {
    match text {
        "combined" => return Ok(LogFormat::Combined),
        "json" => return Ok(LogFormat::Json),
        _ => {}
    }
    if !text.contains(['{', '}']) {
        return Err(Refused {
            message: format!("unknown format `{text}`"),
            suggestion: nearest(text, ["combined", "json"])
                .map(|word| format!("did you mean `{word}`?")),
        });
    }
    match parse_template(text) {
        Ok(_) => Ok(LogFormat::Custom(text.into())),
        Err(error) => Err(Refused {
            message: error.message,
            suggestion: error
                .nearest
                .map(|name| format!("did you mean `{{{name}}}`?")),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn good_words() {
        assert_eq!(method("GET").unwrap(), "GET");
        assert_eq!(method("PURGE").unwrap(), "PURGE");
        assert_eq!(key_part("host").unwrap(), KeyPart::Host);
        assert_eq!(
            key_part("header:X-Lang").unwrap(),
            KeyPart::Header("x-lang".into())
        );
        assert_eq!(
            key_part("cookie:Lang").unwrap(),
            KeyPart::Cookie("Lang".into())
        );
        assert_eq!(log_target("stdout").unwrap(), LogTarget::Stdout);
        assert_eq!(
            log_target("/var/log/a").unwrap(),
            LogTarget::File("/var/log/a".into())
        );
        assert_eq!(log_format("json").unwrap(), LogFormat::Json);
        assert_eq!(
            log_format("{host}").unwrap(),
            LogFormat::Custom("{host}".into())
        );
        assert_eq!(path_pattern("/img/*").unwrap(), "/img/*");
        assert_eq!(server_name("edge-1.example").unwrap(), "edge-1.example");
    }

    #[test]
    fn bad_words_and_what_to_write() {
        let suggestion =
            |refused: Result<(), Refused>| refused.unwrap_err().suggestion.unwrap_or_default();
        for (refused, part) in [
            (method("get").map(drop), "\"GET\""),
            (method("G T").map(drop), ""),
            (field_name("a b").map(drop), ""),
            (server_name("1 x").map(drop), ""),
            (glob("").map(drop), ""),
            (path_pattern("img/*").map(drop), "\"/img/*\""),
            (key_part("hosts").map(drop), "`host`"),
            (key_part("headr:X-A").map(drop), "`header:X-A`"),
            (key_part("cookie:").map(drop), ""),
            (key_part("header:a b").map(drop), ""),
            (log_target("stdotu").map(drop), "\"stdout\""),
            (log_target("access.log").map(drop), "\"./access.log\""),
            (log_format("combind").map(drop), "`combined`"),
            (log_format("{stauts}").map(drop), "`{status}`"),
        ] {
            let text = suggestion(refused);
            assert!(text.contains(part), "{text} has no {part}");
        }
    }
}

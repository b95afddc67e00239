//! Words of static files: names, extensions, media types, codings.

use crate::address::Refused;
use crate::nearest::nearest;
use crate::settings::Coding;

use super::is_token;

/// The name of a file in its directory.
pub(crate) fn file_name(text: &str) -> Result<String, Refused> {
    match text.is_empty() || text == "." || text == ".." || text.contains(['/', '\0']) {
        false => Ok(text.into()),
        true => Err(Refused::new(format!("`{text}` is not the name of a file"))),
    }
}

/// `.php`, or nothing.
pub(crate) fn extension(text: &str) -> Result<String, Refused> {
    if text.contains(['/', '\0']) {
        return Err(Refused::new(format!("`{text}` is not an extension")));
    }
    match text.is_empty() || text.starts_with('.') {
        true => Ok(text.into()),
        false => Err(Refused::write(
            "an extension begins with a dot",
            format_args!(".{text}"),
        )),
    }
}

/// A media type (RFC 9110 section 8.3.1), perhaps with parameters.
pub(crate) fn media_type(text: &str) -> Result<String, Refused> {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let plain = parameters.bytes().all(|b| (0x20..0x7f).contains(&b));
    match essence.trim().split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) && plain => Ok(text.into()),
        _ => Err(Refused::new(format!("`{text}` is not a media type"))),
    }
}

/// An extension without its dot, in lower case, and a media type.
pub(crate) fn media_type_of(extension: &str, text: &str) -> Result<(String, String), Refused> {
    if extension.starts_with('.') {
        let bare = extension.trim_start_matches('.');
        return Err(Refused {
            message: "an extension stands here without its dot".into(),
            suggestion: Some(format!("write {bare} = \"{text}\"")),
        });
    }
    Ok((extension.to_lowercase(), media_type(text)?))
}

/// A media type in which `*` stands for anything.
pub(crate) fn media_glob(text: &str) -> Result<String, Refused> {
    media_type(text).map(|text| text.to_lowercase())
}

/// `br`, `zstd` or `gzip`.
pub(crate) fn coding(text: &str) -> Result<Coding, Refused> {
    match text {
        "br" => Ok(Coding::Brotli),
        "zstd" => Ok(Coding::Zstd),
        "gzip" => Ok(Coding::Gzip),
        "brotli" => Err(Refused::write("unknown coding `brotli`", "br")),
        "gz" => Err(Refused::write("unknown coding `gz`", "gzip")),
        "zst" => Err(Refused::write("unknown coding `zst`", "zstd")),
        _ => Err(Refused {
            message: format!("unknown coding `{text}`"),
            suggestion: nearest(text, ["br", "zstd", "gzip"])
                .map(|near| format!("did you mean `{near}`?")),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_of_files() {
        assert_eq!(coding("br").unwrap(), Coding::Brotli);
        assert!(
            coding("gz")
                .unwrap_err()
                .suggestion
                .unwrap()
                .contains("gzip")
        );
        assert_eq!(extension(".php").unwrap(), ".php");
        assert!(extension("php").unwrap_err().suggestion.is_some());
        assert!(file_name("../x").is_err());
        assert!(media_type("text/html; charset=utf-8").is_ok());
        assert!(media_type("text").is_err());
        assert!(media_glob("text/*").is_ok());
        assert!(media_type_of(".mjs", "text/javascript").is_err());
    }
}

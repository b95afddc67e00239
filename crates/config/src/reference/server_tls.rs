//! The rows of a certificate that clients are shown.

/// What the files are.
pub(crate) const PEM: &str = "the absolute path of a PEM file";

/// A row of a section whose draft has a `ServerTlsDraft` in its field `tls`.
macro_rules! pem {
    ($draft:ty, $section:literal, $name:ident, $default:literal, $example:literal, $doc:literal) => {
        Setting::text(
            stringify!($name),
            crate::reference::server_tls::PEM,
            |draft: &mut $draft, text| {
                draft.tls.$name = Some(Spanned {
                    value: PathBuf::from(absolute(&text.value)?),
                    span: text.span,
                });
                Ok(())
            },
        )
        .row($section, $default, $example, $doc)
    };
}

pub(crate) use pem;

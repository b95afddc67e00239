//! Certificates that clients are shown: what their settings say together.

use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::draft::{Draft, ServerTlsDraft, Spanned};
use crate::settings::{ListenAddress, ServerTls};

/// Those of the listening addresses.
pub(super) fn listeners(
    draft: &Draft,
    out: &mut Vec<Diagnostic>,
) -> Vec<(ListenAddress, ServerTls)> {
    let mut secured = Vec::new();
    for (address, own) in &draft.secured {
        let is_unix = matches!(address.value, ListenAddress::Unix(_));
        let Some(tls) = check("[[listen]]", own, is_unix, out) else {
            continue;
        };
        if draft.introduced.contains(&address.value) {
            let message = format!(
                "`{}`: no header of the PROXY protocol is read before TLS",
                address.value
            );
            let expected = "`proxy_protocol` or `certificate`, not both";
            out.push(Diagnostic::error(address.span.clone(), message).expected(expected));
        }
        let same = |other: &&Spanned<ListenAddress>| other.value == address.value;
        if draft.listen.iter().filter(same).count() > 1 {
            let message = format!(
                "`{}` is the address of several [[listen]]: which of them is it that speaks TLS?",
                address.value
            );
            let expected = "an address that no other has";
            out.push(Diagnostic::error(address.span.clone(), message).expected(expected));
        }
        secured.push((address.value.clone(), tls));
    }
    secured
}

/// A certificate is nothing without its key, and the other way round. `is_unix`: there are
/// addresses, and none that TLS is spoken on.
pub(super) fn check(
    place: &str,
    own: &ServerTlsDraft,
    is_unix: bool,
    out: &mut Vec<Diagnostic>,
) -> Option<ServerTls> {
    if let (Some(certificate), true) = (&own.certificate, is_unix) {
        let message = format!("{place}: a Unix socket does not speak TLS");
        let expected = "no certificate, or a TCP address";
        out.push(Diagnostic::error(certificate.span.clone(), message).expected(expected));
    }
    let path = |given: &Option<Spanned<PathBuf>>| given.as_ref().map(|path| path.value.clone());
    if let (Some(certificate), Some(key)) = (path(&own.certificate), path(&own.key)) {
        return Some(ServerTls {
            certificate,
            key,
            client_ca: path(&own.client_ca),
        });
    }
    let alone = [&own.certificate, &own.key, &own.client_ca];
    if let Some(alone) = alone.into_iter().flatten().next() {
        let message = format!("{place}: TLS takes both `certificate` and `key`");
        out.push(Diagnostic::error(alone.span.clone(), message).expected("both"));
    }
    None
}

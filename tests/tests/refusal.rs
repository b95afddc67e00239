//! What a refusal is: a status, a close, and an origin that heard nothing.

use forebay_tests::{Broken, Forebay, Origin, reply};

/// Sends each of `requests` on a connection of its own and expects one of
/// `statuses`, a close, and an origin that heard nothing at all.
#[track_caller]
pub(crate) fn refused(statuses: &[u16], requests: &[&[u8]]) {
    let (forebay, origin) = refuse_all(statuses, requests);
    drop(forebay);
    assert_eq!(origin.count(), 0, "forwarded: {:?}", origin.requests());
    let stray = origin.stray();
    assert!(
        stray.is_empty(),
        "the origin got {:?}",
        String::from_utf8_lossy(&stray)
    );
}

/// The same for what shows only in the body: a head may have gone, a whole
/// request must not.
#[track_caller]
pub(crate) fn refused_in_the_body(requests: &[&[u8]]) {
    let (forebay, origin) = refuse_all(&[400], requests);
    drop(forebay);
    assert_eq!(origin.count(), 0, "forwarded: {:?}", origin.requests());
}

#[track_caller]
fn refuse_all(statuses: &[u16], requests: &[&[u8]]) -> (Forebay, Origin) {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "wrong"));
    let forebay = Forebay::before(&origin);
    let mut failures = Vec::new();
    for request in requests {
        let shown = String::from_utf8_lossy(request)
            .chars()
            .take(200)
            .collect::<String>();
        let mut client = forebay.client();
        client.send_anyway(request);
        match client.try_read() {
            Err((_, why)) => failures.push(format!("{shown:?}: {why:?} instead of a status")),
            Ok(response) if !statuses.contains(&response.status) => {
                failures.push(format!(
                    "{shown:?}: {} instead of {statuses:?}",
                    response.status
                ));
            }
            Ok(response) => {
                if !response.fields.lists("connection", "close") {
                    failures.push(format!(
                        "{shown:?}: {} without Connection: close",
                        response.status
                    ));
                }
                let (bytes, end) = client.read_to_end();
                if !bytes.is_empty() || end == Broken::Silent {
                    failures.push(format!(
                        "{shown:?}: not closed, {} more bytes, {end:?}",
                        bytes.len()
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    (forebay, origin)
}

//! What the stories of purging share: a server that is asked by those who may.

use forebay_tests::{Config, Forebay, Origin, Response, reply};

/// In front of `origin`, purged by everybody on this machine.
pub(crate) fn open(origin: &Origin) -> Config {
    Config::to(origin).set("purge", "allow = [\"127.0.0.1\"]")
}

/// Answers each request with its number, fresh for ten minutes, with the fields that stand
/// behind its target: `/news` of `[("/news", &["xkey: a"])]`.
pub(crate) fn with_fields(fields: &'static [(&'static str, &'static [&'static str])]) -> Origin {
    Origin::start(move |request, connection| {
        let of_target = fields
            .iter()
            .find(|(target, _)| *target == request.target)
            .map_or(&[][..], |(_, fields)| fields);
        let mut all = vec!["Cache-Control: max-age=600"];
        all.extend_from_slice(of_target);
        connection.send(reply(200, &all, &format!("n{}", request.number)));
    })
}

/// Fetches each target once.
#[track_caller]
pub(crate) fn fill(forebay: &Forebay, targets: &[&str]) {
    for target in targets {
        assert_eq!(forebay.get(target).status, 200, "{target}");
    }
}

/// Which of `targets` are served without the origin.
#[track_caller]
pub(crate) fn kept<'a>(forebay: &Forebay, targets: &[&'a str]) -> Vec<&'a str> {
    let is_kept = |target: &&&str| {
        let response = forebay.get_with(target, &["Cache-Control: only-if-cached"]);
        assert!(matches!(response.status, 200 | 504), "{response:?}");
        response.status == 200
    };
    targets.iter().filter(is_kept).copied().collect()
}

/// Sends a purge that is to be carried out.
#[track_caller]
pub(crate) fn purge(forebay: &Forebay, method: &str, target: &str, fields: &[&str]) -> Response {
    let response = forebay.exchange(method, target, fields, "");
    assert_eq!(response.status, 200, "{response:?}");
    response
}

/// What a JSON answer says.
#[track_caller]
pub(crate) fn json(response: &Response) -> serde_json::Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|e| panic!("{e}: {response:?}"))
}

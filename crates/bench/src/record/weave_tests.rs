#![allow(clippy::unwrap_used)]

use std::time::Duration;

use forebay_workload::Target;

use super::*;

/// An exchange that took 50 ms.
fn taken(at_ms: u64, method: &str, path: &str, status: u16) -> Taken {
    Taken {
        at: Duration::from_millis(at_ms),
        end: Duration::from_millis(at_ms + 50),
        method: method.into(),
        url: Target::parse("http://shop.example")
            .unwrap()
            .join(path)
            .unwrap(),
        headers: vec![
            ("Accept".into(), "text/html,*/*".into()),
            ("Accept-Language".into(), "de".into()),
        ],
        body: Vec::new(),
        status,
        response: vec![("Content-Type".into(), "text/html".into())],
        content: Vec::new(),
    }
}

impl Taken {
    fn answers(mut self, name: &str, value: &str) -> Self {
        self.response.retain(|(known, _)| known != name);
        self.response.push((name.into(), value.into()));
        self
    }

    fn content(mut self, content: &str) -> Self {
        self.content = content.into();
        self
    }

    fn sends(mut self, kind: &str, body: &str) -> Self {
        self.headers.push(("Content-Type".into(), kind.into()));
        self.body = body.into();
        self
    }
}

fn wishes() -> Wishes {
    Wishes {
        name: "shop".into(),
        stem: "shop".into(),
        ..Wishes::default()
    }
}

fn steps(woven: &Woven) -> &[Step] {
    &woven.scenario.flow[0].step
}

const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn a_visit_becomes_a_scenario_that_can_be_read_again() {
    let form = "<form method=post><input type=hidden name=csrf value='t0ken-123'></form>";
    let recording = [
        taken(0, "GET", "/login", 200).content(form),
        taken(60, "GET", "/style.css", 200).answers("Content-Type", "text/css"),
        taken(70, "GET", "/logo.png", 200).answers("Content-Type", "image/png"),
        taken(4_120, "POST", "/login", 302)
            .sends(FORM, "name=carol&password=x&csrf=t0ken-123")
            .answers("Location", "/account?welcome=1"),
        taken(4_180, "GET", "/account?welcome=1", 200),
        taken(6_030, "GET", "/missing", 404),
    ];
    let woven = weave(&recording, &wishes());
    let names: Vec<&str> = steps(&woven)
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    let loads = "resources of /login";
    assert_eq!(names, ["/login", loads, loads, "POST /login", "/missing"]);
    assert_eq!(woven.scenario.base.as_deref(), Some("http://shop.example"));
    assert_eq!(
        woven.scenario.headers.len(),
        2,
        "{:?}",
        woven.scenario.headers
    );

    let [login, _, logo, post, missing] = steps(&woven) else {
        panic!("{woven:?}");
    };
    assert_eq!(login.extract[0].variable, "csrf");
    assert_eq!(login.pause, None);
    assert_eq!(logo.pause, Some(Pause("4s".into())));
    assert_eq!(post.form.get("csrf").unwrap(), "${csrf}");
    assert_eq!(post.form.get("name").unwrap(), "carol");
    assert_eq!((post.method.as_deref(), post.follow), (None, 1));
    assert_eq!(post.expect.status, ["200"]);
    assert_eq!(post.pause, Some(Pause("1800ms".into())));
    assert_eq!(missing.expect.status, ["404"]);
    assert!(
        woven.notes.iter().any(|note| note.contains("password")),
        "{:?}",
        woven.notes
    );

    let again = Scenario::parse(&woven.scenario.to_toml(), "shop.toml");
    assert_eq!(
        again.map_err(|errors| errors.to_string()).unwrap(),
        woven.scenario
    );
}

#[test]
fn each_new_token_gets_a_name_of_its_own() {
    let page = |token: &str| format!("<input type=hidden name=csrf value=\"{token}\">");
    let recording = [
        taken(0, "GET", "/a", 200).content(&page("first-1")),
        taken(100, "POST", "/a", 200)
            .sends(FORM, "csrf=first-1")
            .content(&page("second-2")),
        taken(200, "POST", "/b", 200).sends(FORM, "csrf=first-1&csrf2=second-2"),
        taken(300, "POST", "/c", 200).sends(FORM, "csrf=second-2"),
    ];
    let woven = weave(&recording, &wishes());
    let [a, post, both, last] = steps(&woven) else {
        panic!("{woven:?}");
    };
    assert_eq!(a.extract[0].variable, "csrf");
    assert_eq!(post.extract[0].variable, "csrf_2");
    assert_eq!(both.form.get("csrf").unwrap(), "${csrf}");
    assert_eq!(last.form.get("csrf").unwrap(), "${csrf_2}");
}

#[test]
fn a_call_uses_what_an_earlier_call_returned() {
    let mut order = taken(500, "GET", "/api/orders/5f3a9c01d2e4b6a8", 200);
    order.headers = vec![("Authorization".into(), "Bearer abcdefgh12345678".into())];
    let recording = [
        taken(0, "POST", "/api/login", 200)
            .sends("application/json", r#"{"user":"carol"}"#)
            .answers("Content-Type", "application/json")
            .content(r#"{"auth":{"jwt":"abcdefgh12345678"},"order":"5f3a9c01d2e4b6a8"}"#),
        order,
    ];
    let woven = weave(&recording, &wishes());
    let [login, order] = steps(&woven) else {
        panic!("{woven:?}");
    };
    assert_eq!(login.body.as_deref(), Some(r#"{"user":"carol"}"#));
    assert_eq!(login.extract.len(), 2);
    assert_eq!(order.url.as_deref(), Some("/api/orders/${id}"));
    assert_eq!(
        order.headers.get("Authorization").unwrap(),
        "Bearer ${authorization}"
    );
    // It is no secret any more: each user has its own.
    assert!(
        woven.notes.iter().all(|note| !note.contains("SECRET")),
        "{:?}",
        woven.notes
    );
}

#[test]
fn what_is_not_wanted_is_counted() {
    let mut elsewhere = taken(20, "GET", "/x", 200);
    elsewhere.url = Target::parse("http://tracker.example/x").unwrap();
    let recording = [
        taken(0, "GET", "/", 200),
        taken(10, "GET", "/logo.png", 200).answers("Content-Type", "image/png"),
        elsewhere,
    ];
    let wishes = Wishes {
        without_resources: true,
        keep_hosts: vec!["*shop.example".into()],
        ..wishes()
    };
    let woven = weave(&recording, &wishes);
    assert_eq!(steps(&woven).len(), 1);
    assert_eq!(woven.notes.len(), 2, "{:?}", woven.notes);
    assert!(
        woven
            .notes
            .iter()
            .any(|note| note.contains("tracker.example"))
    );
}

#[test]
fn a_redirection_that_nobody_followed_is_what_is_expected() {
    let recording = [
        taken(0, "GET", "/old", 301).answers("Location", "https://elsewhere.example/"),
        taken(100, "GET", "/b", 304),
    ];
    let woven = weave(&recording, &wishes());
    assert_eq!(
        (
            steps(&woven)[0].follow,
            steps(&woven)[0].expect.status.as_slice()
        ),
        (0, &["301".to_owned()][..])
    );
    assert_eq!(steps(&woven)[1].expect.status, ["200"]);
}

#[test]
fn a_body_that_is_no_text_is_a_file() {
    let upload = taken(0, "PUT", "/up", 204).sends("multipart/form-data; boundary=x", "--x\r\n…");
    let woven = weave(&[upload], &wishes());
    assert_eq!(
        woven.files,
        [("shop.body-1".to_owned(), "--x\r\n…".as_bytes().to_vec())]
    );
    assert_eq!(steps(&woven)[0].body_file.as_deref(), Some("shop.body-1"));
    assert_eq!(steps(&woven)[0].method.as_deref(), Some("PUT"));
}

#[test]
fn cookies_from_before_the_recording_are_noted() {
    let mut first = taken(0, "GET", "/", 200).answers("Set-Cookie", "new=1; Path=/");
    first.headers.push(("Cookie".into(), "old=1; new=2".into()));
    let woven = weave(&[first], &wishes());
    let note = woven
        .notes
        .iter()
        .find(|note| note.contains("cookies"))
        .unwrap();
    assert!(note.contains("(old)"), "{note}");
}

#[test]
fn nothing_recorded_is_an_empty_flow() {
    let woven = weave(&[], &wishes());
    assert!(steps(&woven).is_empty());
    assert_eq!(woven.scenario.base, None);
}

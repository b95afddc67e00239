//! One plan with everything that plans usually have.

use super::{check, noted, outline};
use crate::import::{Fate, Imported, Options, import};

fn shop() -> Imported {
    let text = include_str!("../fixtures/shop.jmx");
    let imported = import(text, "shop.jmx", Options::default()).unwrap();
    check(&imported);
    imported
}

#[test]
fn the_whole_plan_is_there() {
    let scenario = shop().scenario;
    assert_eq!(scenario.name, "Shop");
    assert_eq!(scenario.base.as_deref(), Some("https://shop.example:8443"));
    assert_eq!(scenario.headers["Accept-Language"], "de");
    assert_eq!(scenario.headers["Accept"], "text/html");
    assert_eq!(scenario.data[0].columns, ["user_", "password"]);
    assert_eq!(scenario.data[0].separator, ';');
    assert_eq!(scenario.variables["users"], "30");
    let (buyers, visitors) = (&scenario.flow[0], &scenario.flow[1]);
    assert_eq!(
        (buyers.weight, buyers.iterations, buyers.stop_on_failure),
        (30.0, None, true)
    );
    assert_eq!((visitors.weight, visitors.iterations), (90.0, Some(10)));
    assert!(!buyers.keep_cookies);
    assert_eq!(outline(&visitors.step), "[300ms] [2s~500ms] /");
    let think = "[1500ms..2500ms]";
    assert_eq!(
        outline(&buyers.step),
        format!(
            "({think} /login {think} /login) \
             Fixed(3)*({think} /api/item/${{random:1:500}}?q=a+%26+b&r=${{uuid}}) \
             ${{price}} != 0?(${{user_}} == anna?({think} /api/order {think} [2s] \
             ${{order.number_1}}?({think} /order/${{order.number_1}}?s=${{signature}}) \
             ${{order.number_2}}?({think} /order/${{order.number_2}}?s=${{signature}}))) \
             ${{iteration}} == 1?({think} /admin/stats ({think} /logout)) ({think} /news)"
        )
    );
}

#[test]
fn each_request_has_what_belongs_to_it() {
    let scenario = shop().scenario;
    let steps = &scenario.flow[0].step;
    let (form, send) = (&steps[0].step[1], &steps[0].step[3]);
    assert_eq!(form.name, "Sign in: Form");
    assert_eq!(form.follow, 20);
    assert_eq!(form.expect.header["Content-Type"], "text/html");
    assert_eq!(form.extract[0].default.as_deref(), Some("NONE"));
    assert_eq!(send.method.as_deref(), Some("POST"));
    assert_eq!(send.form["back"], "/cart now");
    assert_eq!(send.form["name"], "${user_}");
    assert_eq!(send.expect.contains, ["Welcome, ${user_}", "Sign out"]);
    assert_eq!(send.expect.within.as_deref(), Some("800ms"));
    let item = &steps[1].step[1];
    assert_eq!(item.headers["accept"], "application/json");
    assert_eq!(item.expect.json["$.currency"], "EUR");
    let order = &steps[2].step[0].step[1];
    assert_eq!(order.expect.status, ["200", "201"]);
    assert_eq!(order.headers["Connection"], "close");
    assert!(
        order
            .body
            .as_deref()
            .unwrap()
            .starts_with(r#"{"price": "${dollar}${price}""#)
    );
    assert_eq!(order.extract.len(), 2);
    let admin = &steps[3].step[1];
    assert_eq!(admin.basic_auth, Some(("root".into(), "secret".into())));
    assert!(item.basic_auth.is_none());
}

#[test]
fn how_it_was_to_be_run_is_suggested() {
    let suggested = shop().suggested;
    assert_eq!(suggested.users, Some(120));
    assert_eq!(suggested.ramp_seconds, Some(20.0));
    assert_eq!(suggested.iterations, None);
    assert_eq!(suggested.duration_seconds, Some(600.0));
    assert_eq!(suggested.rate_per_second, Some(20.0));
}

#[test]
fn everything_else_is_noted_by_name() {
    let notes = shop().notes;
    for (kind, fate, words) in [
        ("listeners", Fate::LeftOut, "2 in all"),
        ("CacheManager", Fate::LeftOut, "no cache"),
        ("Mystery", Fate::LeftOut, "not known"),
        ("SetupThreadGroup", Fate::LeftOut, "once before"),
        ("HTTPSamplerProxy", Fate::LeftOut, "switched off"),
        ("TransactionController", Fate::Changed, "one by one"),
        ("HTTPSamplerProxy", Fate::Changed, "embeds"),
        ("JSONPostProcessor", Fate::LeftOut, "`stock`"),
        ("SizeAssertion", Fate::LeftOut, "no such check"),
        ("JSR223PostProcessor", Fate::LeftOut, "script"),
        ("function", Fate::Changed, "no time"),
        ("RandomController", Fate::Changed, "every round"),
        ("JDBCSampler", Fate::LeftOut, "only HTTP"),
        (
            "ConstantThroughputTimer",
            Fate::LeftOut,
            "20.000 requests/s",
        ),
        (
            "variable",
            Fate::Changed,
            "nothing that was understood sets it",
        ),
        ("variable", Fate::Hint, "it is called `user_`"),
    ] {
        assert!(
            noted(&notes, kind, fate, words),
            "{kind} {words}\n{notes:#?}"
        );
    }
    let path = notes
        .iter()
        .find(|note| note.kind == "SizeAssertion")
        .map(|note| note.path.clone());
    assert_eq!(path.as_deref(), Some("Shop / Buyers / Look around / Item"));
    // The fragment is used, and the plan has a cookie manager.
    assert!(
        !notes
            .iter()
            .any(|note| note.kind == "TestFragmentController" || note.kind == "TestPlan")
    );
}

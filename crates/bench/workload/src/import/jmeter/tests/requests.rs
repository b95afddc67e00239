//! Samplers: URLs, parameters, bodies, fields, logins.

use super::{element, noted, plan, run, sampler, steps};
use crate::import::Fate;
use crate::scenario::Step;

/// A sampler with properties, parameters (name, value, encoded) and elements below it.
fn request(properties: &[(&str, &str)], arguments: &[(&str, &str, bool)]) -> String {
    let arguments: String = arguments
        .iter()
        .map(|(name, value, encode)| {
            let value = value.replace('&', "&amp;");
            format!(
                r#"<elementProp name="{name}" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">{encode}</boolProp><stringProp name="Argument.value">{value}</stringProp><stringProp name="Argument.name">{name}</stringProp></elementProp>"#
            )
        })
        .collect();
    let properties: String = properties
        .iter()
        .map(|(name, value)| {
            format!(r#"<stringProp name="HTTPSampler.{name}">{value}</stringProp>"#)
        })
        .collect();
    format!(
        r#"<HTTPSamplerProxy testname="R">{properties}<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">{arguments}</collectionProp></elementProp></HTTPSamplerProxy><hashTree/>"#
    )
}

fn one(inside: &str) -> Step {
    let (mut steps, notes) = steps(inside);
    assert_eq!(steps.len(), 1, "{notes:#?}");
    steps.remove(0)
}

#[test]
fn urls_are_put_together() {
    for (properties, base, url) in [
        (
            &[("domain", "a"), ("path", "x")] as &[_],
            Some("http://a"),
            "/x",
        ),
        (
            &[("domain", "a"), ("port", "80"), ("path", "/")],
            Some("http://a"),
            "/",
        ),
        (
            &[
                ("domain", "a"),
                ("port", "443"),
                ("protocol", "https"),
                ("path", "/x y"),
            ],
            Some("https://a"),
            "/x%20y",
        ),
        (
            &[
                ("domain", "a"),
                ("port", "8080"),
                ("protocol", "HTTPS"),
                ("path", "/?q"),
            ],
            Some("https://a:8080"),
            "/?q",
        ),
        (
            &[("domain", "b"), ("path", "https://c:1/x")],
            Some("https://c:1"),
            "/x",
        ),
        (&[("path", "/x")], None, "/x"),
        (&[("domain", "${h}"), ("path", "/x")], None, "http://${h}/x"),
        (
            &[("domain", "a"), ("protocol", "ftp"), ("path", "/x")],
            Some("http://a"),
            "/x",
        ),
    ] {
        let imported = run(&plan(&[], &request(properties, &[])));
        assert_eq!(imported.scenario.base.as_deref(), base, "{properties:?}");
        assert_eq!(
            imported.scenario.flow[0].step[0].url.as_deref(),
            Some(url),
            "{properties:?}"
        );
    }
    let imported = run(&plan(
        &[("h", "a.example")],
        &request(&[("domain", "${h}"), ("path", "/x")], &[]),
    ));
    assert_eq!(imported.scenario.base.as_deref(), Some("http://a.example"));
}

#[test]
fn parameters_go_into_the_query_in_order() {
    let get = [("domain", "a"), ("path", "/x?z=0"), ("method", "GET")];
    let step = one(&request(
        &get,
        &[
            ("b", "1 2&3", true),
            ("a", "%20", false),
            ("a", "${__Random(1,9)}", true),
        ],
    ));
    assert_eq!(
        step.url.as_deref(),
        Some("/x?z=0&b=1+2%263&a=%20&a=${random:1:9}")
    );
    let step = one(&request(
        &get,
        &[("b", "${late}", true), ("c", "${late}", false)],
    ));
    assert_eq!(step.url.as_deref(), Some("/x?z=0&c=${late}"));
    assert_eq!(step.query["b"], "${late}");
}

#[test]
fn bodies_are_forms_texts_or_parts() {
    let post = |more: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        [("domain", "a"), ("path", "/"), ("method", "POST")]
            .into_iter()
            .chain(more.iter().copied())
            .collect()
    };
    let step = one(&request(
        &post(&[]),
        &[("a", "x y", true), ("b", "x+y%21", false)],
    ));
    assert_eq!(
        (step.form["a"].as_str(), step.form["b"].as_str()),
        ("x y", "x y!")
    );
    let step = one(&request(&post(&[]), &[("a", "1", true), ("a", "2 ", true)]));
    assert_eq!(step.body.as_deref(), Some("a=1&a=2+"));
    assert_eq!(
        step.headers["Content-Type"],
        "application/x-www-form-urlencoded"
    );
    let step = one(&request(
        &post(&[("postBodyRaw", "true")]),
        &[("", "{\"a\": \"${v}\"}", false)],
    ));
    assert_eq!(step.body.as_deref(), Some("{\"a\": \"${v}\"}"));
    let step = one(&request(
        &post(&[("DO_MULTIPART_POST", "true")]),
        &[("a", "1", false)],
    ));
    assert!(
        step.body
            .as_deref()
            .unwrap()
            .contains("name=\"a\"\r\n\r\n1\r\n--")
    );
    assert!(step.headers["Content-Type"].starts_with("multipart/form-data; boundary="));
    let step = one(&request(&post(&[]), &[]));
    assert_eq!((step.method.as_deref(), step.body), (Some("POST"), None));
}

#[test]
fn an_uploaded_file_is_a_body_or_is_noted() {
    let file = |name: &str| {
        format!(
            r#"<HTTPSamplerProxy testname="R"><stringProp name="HTTPSampler.domain">a</stringProp><stringProp name="HTTPSampler.method">PUT</stringProp>
            <elementProp name="HTTPsampler.Files" elementType="HTTPFileArgs"><collectionProp name="HTTPFileArgs.files"><elementProp name="f" elementType="HTTPFileArg">
            <stringProp name="File.path">dir/f.bin</stringProp><stringProp name="File.paramname">{name}</stringProp><stringProp name="File.mimetype">image/png</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>"#
        )
    };
    let step = one(&file(""));
    assert_eq!(step.body_file.as_deref(), Some("dir/f.bin"));
    assert_eq!(step.headers["Content-Type"], "image/png");
    let (_, notes) = steps(&file("picture"));
    assert!(noted(&notes, "HTTPSamplerProxy", Fate::LeftOut, "uploads"));
}

#[test]
fn fields_hold_for_their_scope_and_the_innermost_wins() {
    let manager = |value: &str| {
        format!(
            r#"<HeaderManager testname="H"><collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header"><stringProp name="Header.name">X-A</stringProp><stringProp name="Header.value">{value}</stringProp></elementProp></collectionProp></HeaderManager><hashTree/>"#
        )
    };
    let inside = sampler("/own", &manager("own"))
        + &element(
            "GenericController",
            "G",
            &[],
            &(manager("group") + &sampler("/group", "")),
        )
        + &sampler("/outer", "")
        + &sampler("/outer2", "")
        + &manager("outer");
    let imported = run(&plan(&[], &inside));
    assert_eq!(imported.scenario.headers["X-A"], "outer");
    let steps = &imported.scenario.flow[0].step;
    assert_eq!(steps[0].headers["X-A"], "own");
    assert_eq!(steps[1].step[0].headers["X-A"], "group");
    assert!(steps[2].headers.is_empty());
    let (_, notes) = super::steps(&sampler("/", &manager("a\nb")));
    assert!(noted(&notes, "HeaderManager", Fate::LeftOut, "`X-A`"));
}

#[test]
fn variables_keep_their_meaning() {
    let variables = [
        ("base", "/shop"),
        ("url", "${base}/cart"),
        ("id", "${__UUID}"),
        ("who", "u${__threadNum}"),
    ];
    let inside = sampler("${url}?id=${id}&who=${who}&x=${unknown}", "");
    let imported = run(&plan(&variables, &inside));
    let url = imported.scenario.flow[0].step[0].url.clone().unwrap();
    assert_eq!(url, "/${url}?id=${id}&who=u${user}&x=${unknown}");
    assert_eq!(imported.scenario.variables["url"], "/shop/cart");
    assert_eq!(imported.scenario.variables["id"], "${uuid}");
    assert_eq!(imported.scenario.variables["unknown"], "");
    assert!(noted(
        &imported.notes,
        "variable",
        Fate::Changed,
        "nothing that was understood"
    ));
}

#[test]
fn unknown_functions_become_variables_to_fill_in() {
    let inside = sampler("/${__groovy(1+1)}/${__groovy(1+1)}/${__groovy(2)}", "");
    let imported = run(&plan(&[], &inside));
    let url = imported.scenario.flow[0].step[0].url.clone().unwrap();
    assert_eq!(url, "/${groovy}/${groovy}/${groovy_}");
    assert!(noted(
        &imported.notes,
        "function",
        Fate::LeftOut,
        "give the variable `groovy` a value"
    ));
}

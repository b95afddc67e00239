//! Tests of templates.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn names() -> Names {
    let mut names = Names::default();
    let known = [
        ("c", Name::Constant("a b".into())),
        ("s", Name::Value(Value::Slot(0))),
        ("user", Name::Value(Value::Slot(1))),
    ];
    names
        .known
        .extend(known.map(|(name, value)| (name.to_owned(), value)));
    names
}

fn written(text: &str, coding: Coding) -> String {
    let mut memory = Memory::new(2, 0, 6, 1);
    memory.set(0, "x/y&ü");
    memory.set(1, "mine");
    memory.iteration = 3;
    Template::parse(text, &names(), coding)
        .unwrap()
        .text(&[], &mut memory)
}

#[test]
fn variables_are_put_in() {
    for (text, coding, expected) in [
        ("", Coding::Plain, ""),
        ("a$b$", Coding::Plain, "a$b$"),
        ("${c}", Coding::Plain, "a b"),
        ("<${s}>${iteration}", Coding::Plain, "<x/y&ü>3"),
        ("${random:5:5}${random:-3:-3}", Coding::Plain, "5-3"),
        // What the scenario defines comes before what is built in.
        ("${user}", Coding::Plain, "mine"),
        ("$${c} $$${c}", Coding::Plain, "${c} $${c}"),
        ("?${s}", Coding::Url, "?x/y&%C3%BC"),
        ("${c}=${s}", Coding::Component, "a%20b%3Dx%2Fy%26%C3%BC"),
        ("${c}", Coding::Form, "a+b"),
        ("^${c}.${s}$", Coding::Pattern, "^a b.x/y\\&ü$"),
    ] {
        assert_eq!(written(text, coding), expected, "{text}");
    }
    assert_eq!(written("${random}", Coding::Plain).len(), 16);
}

#[test]
fn what_means_nothing_is_said_for_each() {
    let wrong =
        Template::parse("${nope}${random:6:1}${usr}${}", &names(), Coding::Plain).unwrap_err();
    let words: Vec<_> = wrong.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(words.len(), 4, "{words:?}");
    assert_eq!(words[0], "unknown variable `${nope}`");
    assert!(words[1].contains("random:1:6"), "{words:?}");
    assert_eq!(wrong[2].nearest.as_deref(), Some("${user}"));
    let open = Template::parse("a ${b", &names(), Coding::Plain).unwrap_err();
    assert!(open[0].message.contains("without a `}`"), "{open:?}");
}

#[test]
fn only_what_changes_is_left_for_later() {
    let parse = |text| Template::parse(text, &names(), Coding::Plain).unwrap();
    assert_eq!(parse("x${c}y$${").fixed(), Some("xa by${"));
    assert_eq!(parse("x${s}").fixed(), None);
    assert_eq!(parse("x${c}${s}").beginning(), "xa b");
}

proptest! {
    #[test]
    fn escaped_text_comes_back(text in "(\\$|\\{|\\}|a|c|é| ){0,20}", any in "\\PC{0,20}") {
        for text in [text, any] {
            prop_assert_eq!(written(&escape(&text), Coding::Plain), text);
        }
    }

    #[test]
    fn no_text_panics(text in "(\\$|\\{|\\}|c|s|random|:|1|-|é){0,20}") {
        for coding in [Coding::Plain, Coding::Url, Coding::Form, Coding::Pattern] {
            if let Ok(template) = Template::parse(&text, &names(), coding) {
                let _ = template.text(&[], &mut Memory::new(2, 0, 0, 0));
            }
        }
    }
}

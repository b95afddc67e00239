//! How users go through flows.

use super::*;

#[test]
fn a_failure_ends_the_iteration_only_when_asked() {
    let steps =
        "[[flow.step]]\nrepeat=5\n[[flow.step.step]]\nurl=\"/a\"\n[[flow.step]]\nurl=\"/b\"\n";
    let mut story = Story::of(&format!("[[flow]]\nstop_on_failure=true\n{steps}"));
    story.line();
    story.answer(500, &[], "").unwrap_err();
    assert_eq!(story.act().0, Act::EndOfIteration);
    story.line();
    story.user.failed();
    assert_eq!(story.act().0, Act::EndOfIteration);
    let mut story = Story::of(&format!("[[flow]]\n{steps}"));
    for expected in ["GET /a", "GET /a", "GET /a", "GET /a", "GET /a", "GET /b"] {
        assert_eq!(story.line(), expected);
        story.user.failed();
    }
}

#[test]
fn groups_repeat_conditions_hold_and_pauses_come_between() {
    let text = r#"
[variables]
n = "2"
[[flow]]
pause = "1s"
iterations = 1
[[flow.step]]
repeat = "${n}"
pause = "5s"
[[flow.step.step]]
url = "/a${iteration}"
repeat = 2
pause = "2s"
[[flow.step.step]]
url = "/never"
when = "${n} == 3"
[[flow.step]]
repeat = 0
url = "/never"
[[flow.step]]
pause = "7s"
[[flow.step]]
url = "/b"
"#;
    let mut story = Story::of(text);
    let mut seen = Vec::new();
    loop {
        let (act, text) = story.act();
        match act {
            Act::Send(_) => {
                seen.push(text.split(' ').nth(1).unwrap().to_owned());
                story.ok();
            }
            Act::Pause(time) => seen.push(format!("{}s", time.as_secs())),
            Act::EndOfIteration => seen.push("end".into()),
            Act::Finished => break,
            Act::Unsendable { .. } => panic!("{act:?}"),
        }
    }
    assert_eq!(
        seen.join(" "),
        "/a1 2s /a1 2s 5s /a1 2s /a1 2s 5s 7s /b 1s end"
    );
    assert_eq!(story.act().0, Act::Finished);
}

#[test]
fn a_condition_ends_polling() {
    let text = step(
        "url=\"/state\"\nrepeat=9\nwhen=\"${state} != done\"\nextract=[{ variable=\"state\", json=\"state\" }]\n[[flow.step]]\nurl=\"/next\"",
    );
    let mut story = Story::of(&text);
    for state in ["new", "busy", "done"] {
        assert_eq!(story.line(), "GET /state");
        story
            .answer(200, &[], &format!("{{\"state\":\"{state}\"}}"))
            .unwrap();
    }
    assert_eq!(story.line(), "GET /next");
}

#[test]
fn an_iteration_that_does_nothing_rests() {
    let text = step("url=\"/\"\nwhen=\"${iteration} == 0\"");
    let mut story = Story::of(&text);
    assert_eq!(story.act().0, Act::Pause(REST));
    assert_eq!(story.act().0, Act::EndOfIteration);
    let mut story = Story::of(&step(
        "url=\"/\"\nrepeat=9000000000\nwhen=\"${iteration} == 0\"",
    ));
    assert_eq!(story.act().0, Act::Pause(REST));
}

#[test]
fn rows_of_data_are_taken_in_turn() {
    let text = format!(
        "[[data]]\nfile=\"users.csv\"\non_end=\"stop\"\n{}",
        step("url=\"/\"\nform={ l=\"${login}\", p=\"${password}\" }")
    );
    let compiled = compiled(&text);
    let (mut first, mut second) = (Story::with(&compiled, 0, 1), Story::with(&compiled, 1, 1));
    assert!(first.request().ends_with("l=ann&p=a+b"));
    assert!(second.request().ends_with("l=bob&p=b%26c"));
    first.ok();
    assert_eq!(first.act().0, Act::EndOfIteration);
    assert_eq!(first.act().0, Act::Finished);
}

#[test]
fn a_column_that_a_response_changes_begins_with_its_row() {
    let text = format!(
        "[[data]]\nfile=\"users.csv\"\n{}",
        step(
            "url=\"/${login}\"\nextract=[{ variable=\"login\", json=\"v\" }]\n[[flow.step]]\nurl=\"/${login}\""
        )
    );
    let mut story = Story::of(&text);
    assert_eq!(story.line(), "GET /ann");
    story.answer(200, &[], r#"{"v":"other"}"#).unwrap();
    assert_eq!(story.line(), "GET /other");
    story.ok();
    story.act();
    assert_eq!(story.line(), "GET /bob");
}

#[test]
fn users_are_dealt_out_by_weight_and_reproducible() {
    let text = "[[flow]]\nweight=3\n[[flow.step]]\nurl=\"/a${random}\"\n[[flow]]\n[[flow.step]]\nurl=\"/b${random:1:1000000}${uuid}\"\n";
    let compiled = compiled(text);
    let lines = |seed| -> Vec<String> {
        (0..8)
            .map(|number| Story::with(&compiled, number, seed).line())
            .collect()
    };
    let first = lines(1);
    assert_eq!(
        first
            .iter()
            .filter(|line| line.starts_with("GET /a"))
            .count(),
        6
    );
    assert_eq!(first, lines(1));
    assert_ne!(first, lines(2));
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert_eq!(distinct.len(), 8);
    let uuid = &first
        .iter()
        .find(|line| line.starts_with("GET /b"))
        .unwrap();
    let uuid = &uuid[uuid.len() - 36..];
    assert!(
        uuid[14..15] == *"4" && "89ab".contains(&uuid[19..20]),
        "{uuid}"
    );
}

#[test]
fn variables_of_a_user_are_drawn_once() {
    let text = format!(
        "[variables]\nhost = \"/x\"\nvisit = \"${{host}}/${{uuid}}\"\n{}",
        step("url=\"${visit}\"")
    );
    let compiled = compiled(&text);
    let mut story = Story::with(&compiled, 0, 1);
    let first = story.line();
    assert!(first.starts_with("GET /x/"), "{first}");
    story.ok();
    story.act();
    assert_eq!(story.line(), first);
    assert_ne!(Story::with(&compiled, 1, 1).line(), first);
}

#[test]
fn ten_thousand_users_are_small() {
    let compiled = compiled(&step("url=\"/${user}\""));
    let mut user = User::new(&compiled, 0, 1);
    user.next(0, &mut Vec::new());
    let heap = user.path.capacity() + user.body.capacity() + 8 * user.loops.capacity();
    let size = size_of::<User>() + heap;
    assert!(size < 512, "{size}");
}

#[test]
fn users_and_scenarios_go_to_any_thread() {
    fn goes<T: Send>() {}
    fn shared<T: Sync>() {}
    goes::<User>();
    shared::<Compiled>();
}

//! From a recording to a scenario: the visits as steps, tokens as variables,
//! what all steps share taken out, and notes on what a person must look at.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use forebay_results::format;
use forebay_workload::scenario::{Expect, Extract, Flow, Pause, Scenario, Source, Step};

use super::draft::{Body, Draft};
use super::hosts::{self, Use};
use super::pages::{self, Kind, Visit};
use super::tape::Taken;
use super::tokens::{self, Origin};

/// What the user wants of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// Name of the scenario.
    pub(super) name: String,
    /// Images, styles, scripts and fonts are left out.
    pub(super) without_resources: bool,
    /// Globs of hosts; none keeps all.
    pub(super) keep_hosts: Vec<String>,
    /// Beginning of the names of files beside the scenario.
    pub(super) stem: String,
}

/// A scenario, and what goes with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Woven {
    pub(super) scenario: Scenario,
    /// For a person.
    pub(super) notes: Vec<String>,
    /// Bodies that are no text, to be written beside the scenario.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Makes the scenario of a recording, which is in the order of sending.
pub(super) fn weave(taken: &[Taken], wishes: &Wishes) -> Woven {
    let (kept, mut notes) = keep(taken, wishes);
    let visits = pages::visits(&kept);
    let draft = |visit: &Visit| Draft::of(&kept[visit.first], visit.name.clone());
    let mut drafts: Vec<Draft> = visits.iter().map(draft).collect();
    let extracts = variables(&kept, &visits, &mut drafts, &mut notes);
    remarks(&kept, &drafts, &mut notes);
    let base = most_common(drafts.iter().map(|draft| draft.origin.clone()));
    let shared = shared_headers(&mut drafts);
    let mut files = Vec::new();
    let mut steps = Vec::new();
    for ((visit, draft), extract) in visits.iter().zip(drafts).zip(extracts) {
        let mut step = step(
            draft,
            base.as_deref().unwrap_or_default(),
            wishes,
            &mut files,
        );
        step.follow = visit.follow;
        step.extract = extract;
        step.pause = visit.pause.map(|time| Pause(pages::pause(time)));
        step.expect = expect(&kept[visit.last]);
        steps.push(step);
    }
    Woven {
        scenario: Scenario {
            name: wishes.name.clone(),
            base,
            headers: shared,
            flow: vec![Flow {
                name: "recorded".into(),
                weight: 1.0,
                iterations: None,
                pause: None,
                keep_cookies: false,
                stop_on_failure: false,
                step: steps,
            }],
            ..Scenario::default()
        },
        notes,
        files,
    }
}

/// The exchanges that the user wants, and words on the others.
fn keep(taken: &[Taken], wishes: &Wishes) -> (Vec<Taken>, Vec<String>) {
    let (mut resources, mut own, mut unwanted) = (0, 0, BTreeMap::<&str, u64>::new());
    let mut kept = Vec::new();
    for one in taken {
        let is_resource = || pages::kind(one) == Kind::Resource;
        match hosts::of(&one.url.host, &wishes.keep_hosts) {
            Use::Unwanted => *unwanted.entry(&one.url.host).or_default() += 1,
            Use::BrowsersOwn => own += 1,
            Use::Kept if wishes.without_resources && is_resource() => resources += 1,
            Use::Kept => kept.push(one.clone()),
        }
    }
    let mut notes = Vec::new();
    let mut count = |count: u64, words: &str| {
        if count > 0 {
            let requests = format::counted(count, "request", "requests");
            notes.push(format!("left out: {requests} {words}"));
        }
    };
    count(resources, "for images, styles, scripts and fonts");
    count(own, "that the browser made by itself");
    for (host, requests) in unwanted {
        count(requests, &format!("to {host}"));
    }
    (kept, notes)
}

/// Finds tokens, puts variables in their places, and returns each visit's extractions.
fn variables(
    taken: &[Taken],
    visits: &[Visit],
    drafts: &mut [Draft],
    notes: &mut Vec<String>,
) -> Vec<Vec<Extract>> {
    let mut extracts: Vec<Vec<Extract>> = vec![Vec::new(); visits.len()];
    let mut names = BTreeSet::new();
    let mut noted = BTreeSet::new();
    for to in 0..drafts.len() {
        for (name, value) in drafts[to].sent() {
            if !tokens::is_candidate(&name, &value) {
                continue;
            }
            let (from, origin) = match source(taken, visits, to, &name, &value) {
                Some(found) => found,
                None => continue,
            };
            match origin {
                Origin::Certain(source, occurrence) => {
                    let variable = variable(&mut extracts[from], &mut names, &name, source, occurrence);
                    drafts[to].replace(&value, &variable);
                }
                Origin::Somewhere if noted.insert(value.clone()) => notes.push(format!(
                    "`{}`: the value of `{name}` came from the server (`{}` has it) and is written here as it was \
                     recorded; if it differs from user to user, add an `extract` there",
                    visits[to].name, visits[from].name
                )),
                Origin::Somewhere => {}
            }
        }
    }
    extracts
}

/// The latest earlier visit whose response has the value, certain finds before others.
fn source(
    taken: &[Taken],
    visits: &[Visit],
    to: usize,
    name: &str,
    value: &str,
) -> Option<(usize, Origin)> {
    let sent = taken[visits[to].first].at;
    let mut somewhere = None;
    for from in (0..to).rev() {
        let response = &taken[visits[from].last];
        if response.end > sent {
            continue;
        }
        match tokens::find(response, name, value) {
            Some(origin @ Origin::Certain(..)) => return Some((from, origin)),
            Some(origin) if somewhere.is_none() => somewhere = Some((from, origin)),
            _ => {}
        }
    }
    somewhere
}

/// The name of the variable that is taken from this place, with the extraction added when it is new.
fn variable(
    extracts: &mut Vec<Extract>,
    names: &mut BTreeSet<String>,
    name: &str,
    from: Source,
    occurrence: i32,
) -> String {
    let is_it = |known: &&Extract| known.from == from && known.occurrence == occurrence;
    if let Some(known) = extracts.iter().find(is_it) {
        return known.variable.clone();
    }
    let letters = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let plain: String = name.chars().map(letters).take(40).collect();
    let plain = plain.trim_matches('_');
    // `user`, `random` and so on mean something else.
    let is_built_in = ["user", "iteration", "random", "uuid"].contains(&plain);
    let begins_well = plain.starts_with(|c: char| c.is_ascii_alphabetic());
    let stem = if begins_well && !is_built_in {
        plain.to_owned()
    } else {
        format!("value_{plain}")
    };
    let numbered = (2..).map(|number| format!("{stem}_{number}"));
    let mut free = std::iter::once(stem.clone()).chain(numbered);
    let variable = free.find(|name| !names.contains(name)).unwrap_or(stem);
    names.insert(variable.clone());
    extracts.push(Extract {
        variable: variable.clone(),
        from,
        occurrence,
        default: None,
    });
    variable
}

/// Things that a person must know.
fn remarks(taken: &[Taken], drafts: &[Draft], notes: &mut Vec<String>) {
    let has = |draft: &Draft, name: &str| {
        let mut headers = draft.headers.iter();
        headers.any(|(known, value)| known.eq_ignore_ascii_case(name) && !value.contains("${"))
    };
    if let Some(draft) = drafts.iter().find(|draft| has(draft, "Authorization")) {
        notes.push(format!(
            "SECRET: `{}` and perhaps others send an Authorization as it was recorded; keep this file to yourself, or \
             put a variable there",
            draft.name
        ));
    }
    let is_password = |draft: &&Draft| match &draft.body {
        Body::Form(form) => form
            .keys()
            .any(|name| name.to_ascii_lowercase().contains("pass")),
        Body::Text(text) => text.to_ascii_lowercase().contains("\"password\""),
        _ => false,
    };
    if let Some(draft) = drafts.iter().find(is_password) {
        notes.push(format!(
            "SECRET: `{}` sends a password as it was typed; data from a CSV file gives each user its own (`[[data]]`)",
            draft.name
        ));
    }
    let set: BTreeSet<String> = taken.iter().flat_map(set_cookies).collect();
    let sent = taken
        .iter()
        .filter_map(|one| one.header("Cookie"))
        .flat_map(|value| value.split("; "));
    let old: BTreeSet<&str> = sent
        .filter_map(|pair| pair.split('=').next())
        .filter(|name| !set.contains(*name))
        .collect();
    if !old.is_empty() {
        let names: Vec<&str> = old.into_iter().collect();
        notes.push(format!(
            "the browser sent cookies that no recorded response set ({}): users start without them; record in a new \
             private window, or from the login on",
            names.join(", ")
        ));
    }
}

fn set_cookies(taken: &Taken) -> Vec<String> {
    let cookies = taken
        .response
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie"));
    cookies
        .filter_map(|(_, value)| Some(value.split('=').next()?.trim().to_owned()))
        .collect()
}

fn most_common(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(text, _)| text)
}

/// Takes the fields that all steps send alike out of them.
fn shared_headers(drafts: &mut [Draft]) -> BTreeMap<String, String> {
    let mut shared = match drafts {
        [first, _, ..] => first.headers.clone(),
        _ => BTreeMap::new(),
    };
    shared.retain(|name, value| {
        !value.contains("${")
            && drafts
                .iter()
                .all(|draft| draft.headers.get(name) == Some(value))
    });
    for draft in drafts {
        draft.headers.retain(|name, _| !shared.contains_key(name));
    }
    shared
}

fn step(draft: Draft, base: &str, wishes: &Wishes, files: &mut Vec<(String, Vec<u8>)>) -> Step {
    let url = draft.url(base);
    let default = if draft.body == Body::None {
        "GET"
    } else {
        "POST"
    };
    let mut step = Step {
        name: draft.name,
        method: (draft.method != default).then_some(draft.method),
        url: Some(url),
        query: draft.query,
        headers: draft.headers,
        ..Step::default()
    };
    match draft.body {
        Body::None => {}
        Body::Form(form) => step.form = form,
        Body::Text(text) => step.body = Some(text),
        Body::Bytes(bytes) => {
            let name = format!("{}.body-{}", wishes.stem, files.len() + 1);
            step.body_file = Some(name.clone());
            files.push((name, bytes));
        }
    }
    step
}

/// The status as it was seen. A user has no browser's cache: what was not modified then comes whole.
fn expect(taken: &Taken) -> Expect {
    let status = if taken.status == 304 {
        200
    } else {
        taken.status
    };
    Expect {
        status: vec![status.to_string()],
        ..Expect::default()
    }
}

#[cfg(test)]
#[path = "weave_tests.rs"]
mod tests;

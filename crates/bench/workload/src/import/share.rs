//! What the requests of a scenario have in common moves to its head.

use std::collections::BTreeMap;

use crate::scenario::{Scenario, Step};

/// Takes the server that most URLs name out of them. Nothing is done when some name none.
pub(super) fn base(scenario: &mut Scenario) {
    let mut servers: BTreeMap<String, usize> = BTreeMap::new();
    let mut relative = false;
    each(scenario, &mut |step| {
        if let Some(url) = &step.url {
            relative |= !url.contains("://");
            if let Some(server) = server(url) {
                *servers.entry(server.to_owned()).or_default() += 1;
            }
        }
    });
    let Some(base) = most_frequent(servers).filter(|_| !relative) else {
        return;
    };
    each(scenario, &mut |step| {
        if let Some(url) = &mut step.url
            && server(url) == Some(&base)
        {
            let rest = url[base.len()..].to_owned();
            // That would be a URL of another server (RFC 3986 section 4.2).
            if rest.starts_with("//") {
                return;
            }
            *url = if rest.starts_with('/') {
                rest
            } else {
                format!("/{rest}")
            };
        }
    });
    scenario.base = Some(base);
}

/// Takes fields that every request has out of those that have the most frequent value.
pub(super) fn headers(scenario: &mut Scenario) {
    let mut requests = 0;
    let mut fields: BTreeMap<String, BTreeMap<(String, String), usize>> = BTreeMap::new();
    each(scenario, &mut |step| {
        if step.url.is_none() {
            return;
        }
        requests += 1;
        for (name, value) in &step.headers {
            let values = fields.entry(name.to_ascii_lowercase()).or_default();
            *values.entry((name.clone(), value.clone())).or_default() += 1;
        }
    });
    fields.retain(|_, values| requests > 1 && values.values().sum::<usize>() == requests);
    let shared: BTreeMap<String, String> = fields.into_values().filter_map(most_frequent).collect();
    each(scenario, &mut |step| {
        step.headers
            .retain(|name, value| shared.get(name) != Some(value));
    });
    scenario.headers = shared;
}

/// Does something to every step, groups before what is in them.
pub(super) fn each(scenario: &mut Scenario, act: &mut dyn FnMut(&mut Step)) {
    fn below(steps: &mut [Step], act: &mut dyn FnMut(&mut Step)) {
        for step in steps {
            act(step);
            below(&mut step.step, act);
        }
    }
    for flow in &mut scenario.flow {
        below(&mut flow.step, act);
    }
}

/// `http://host:port` of a URL, when no variable is in it.
pub(super) fn server(url: &str) -> Option<&str> {
    let after = url.find("://")? + 3;
    let end = url[after..]
        .find(['/', '?'])
        .map_or(url.len(), |end| after + end);
    let server = &url[..end];
    (!server.contains("${")).then_some(server)
}

/// The first of those that occur most often.
fn most_frequent<T: Ord>(counts: BTreeMap<T, usize>) -> Option<T> {
    counts
        .into_iter()
        .fold(
            None,
            |best: Option<(T, usize)>, (value, count)| match best {
                Some((_, most)) if most >= count => best,
                _ => Some((value, count)),
            },
        )
        .map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Flow;

    fn scenario(requests: &[(&str, &str)]) -> Scenario {
        let step = |(url, accept): &(&str, &str)| Step {
            url: Some((*url).into()),
            headers: [("Accept".to_owned(), (*accept).to_owned())].into(),
            ..Step::default()
        };
        Scenario {
            flow: vec![Flow {
                name: String::new(),
                weight: 1.0,
                iterations: None,
                pause: None,
                keep_cookies: false,
                stop_on_failure: false,
                step: requests.iter().map(step).collect(),
            }],
            ..Scenario::default()
        }
    }

    #[test]
    fn the_most_frequent_server_becomes_the_base() {
        let mut shared = scenario(&[
            ("http://a/x", "1"),
            ("http://a?y", "1"),
            ("http://${h}/z", "2"),
            ("http://b/", "1"),
        ]);
        base(&mut shared);
        headers(&mut shared);
        assert_eq!(shared.base.as_deref(), Some("http://a"));
        let steps = &shared.flow[0].step;
        let urls: Vec<_> = steps.iter().map(|step| step.url.as_deref()).collect();
        assert_eq!(
            urls,
            [
                Some("/x"),
                Some("/?y"),
                Some("http://${h}/z"),
                Some("http://b/")
            ]
        );
        assert_eq!(shared.headers["Accept"], "1");
        assert_eq!(steps[2].headers["Accept"], "2");
        assert!(steps[0].headers.is_empty());
    }

    #[test]
    fn a_url_without_a_server_keeps_its_meaning() {
        let mut shared = scenario(&[("http://a/x", "1"), ("/y", "1")]);
        base(&mut shared);
        assert_eq!(shared.base, None);
    }
}

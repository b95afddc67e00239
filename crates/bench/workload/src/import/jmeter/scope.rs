//! What holds for an element and everything below it: an element's children
//! that are no controllers and no samplers, wherever they stand among them.

use super::super::notes::Fate;
use super::assertions::Checks;
use super::context::Context;
use super::extractors::Extractions;
use super::headers;
use super::roles::{self, Role};
use super::sampler::Defaults;
use super::timers::Waits;
use super::tree::Element;

/// So many logins are in one scope.
const MAX_LOGINS: usize = 1_000;

/// Everything that the elements above and beside a sampler add to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) headers: Vec<(String, String)>,
    pub(super) defaults: Defaults,
    pub(super) waits: Waits,
    pub(super) logins: Vec<Login>,
    pub(super) checks: Checks,
    pub(super) extractions: Extractions,
    /// What the names of requests begin with.
    pub(super) label: String,
}

/// A name and password, and the URLs that get it.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// What the URL begins with, constants put in; empty for all.
    pub(super) url: String,
    pub(super) name: String,
    pub(super) password: String,
}

impl Scope {
    /// This scope with what the children of an element add.
    pub(super) fn with(&self, context: &mut Context, children: &[Element<'_>]) -> Self {
        let mut scope = self.clone();
        context.spend(scope.bytes());
        for child in children {
            context.at(child);
            if child.enabled {
                scope.add(context, child);
            } else if child.kind != "TestFragmentController" {
                switched_off(context, child);
            }
        }
        scope
    }

    /// What a request costs by this scope.
    pub(super) fn bytes(&self) -> usize {
        let headers: usize = self
            .headers
            .iter()
            .map(|(name, value)| 64 + name.len() + value.len())
            .sum();
        let logins: usize = self.logins.iter().map(|login| 64 + login.url.len()).sum();
        headers
            + logins
            + self.defaults.bytes()
            + self.waits.bytes()
            + self.checks.bytes()
            + self.extractions.bytes()
            + self.label.len()
    }

    fn add(&mut self, context: &mut Context, element: &Element<'_>) {
        if self.waits.add(context, element)
            || self.checks.add(context, element, &mut self.extractions)
            || self.extractions.add(context, element)
        {
            return;
        }
        match element.kind {
            "HeaderManager" => headers::add(context, element, &mut self.headers),
            "AuthManager" => self.login(context, element),
            "ConfigTestElement" if element.gui.ends_with("HttpDefaultsGui") => {
                self.defaults.add(element);
            }
            kind if roles::is_listener(kind) || kind.ends_with("ThreadGroup") => {}
            _ if roles::role(element) == Role::Config => roles::remark(context, element),
            _ => {}
        }
    }

    fn login(&mut self, context: &mut Context, manager: &Element<'_>) {
        for member in manager.properties.members("AuthManager.auth_list") {
            if self.logins.len() >= MAX_LOGINS {
                return context.note(Fate::LeftOut, format!("logins beyond {MAX_LOGINS}"));
            }
            let mechanism = member.text("Authorization.mechanism").trim();
            if matches!(mechanism, "DIGEST" | "KERBEROS") {
                context.note(
                    Fate::LeftOut,
                    format!("{mechanism} authentication is not spoken; only basic is"),
                );
                continue;
            }
            let login = Login {
                url: context.settled(member.text("Authorization.url").trim()),
                name: context.text(member.text("Authorization.username")),
                password: context.text(member.text("Authorization.password")),
            };
            self.logins.retain(|known| known.url != login.url);
            self.logins.push(login);
        }
    }

    /// The login for a URL: that of the longest beginning.
    pub(super) fn login_for(&self, url: &str) -> Option<&Login> {
        self.logins
            .iter()
            .filter(|login| url.starts_with(&login.url))
            .max_by_key(|login| login.url.len())
    }
}

fn switched_off(context: &mut Context, element: &Element<'_>) {
    let words = match element.count() {
        0 => "it is switched off in the plan".to_owned(),
        count => format!("it is switched off in the plan, with {count} elements below it"),
    };
    context.note(Fate::LeftOut, words);
}

//! What holds for a request: a site's own settings, or those of one of its path rules.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use forebay_config::Settings;
use forebay_config::settings::{Cgi, Policy, Protocol, Service, Site, When};
use forebay_config::template::Groups;
use forebay_rules::when::Asked;
use forebay_rules::{Condition, Context, Limiter, Subject, Template, path};
use forebay_upstream::{Pool, Pools};

use crate::coding::CodingRules;
use crate::files::FilePlace;
use crate::rules::Rules;

pub(crate) const SURROGATE_CONTROL: &str = "Surrogate-Control";

/// Settings that hold for some of a site's requests.
#[derive(Debug)]
pub(crate) struct Location {
    /// Its place in the snapshot, by which it is found again.
    pub(crate) number: usize,
    /// The site's place in the settings; `usize::MAX` where there is no site.
    pub(crate) site: usize,
    /// Which requests of the site it is for; of the site's own: all.
    condition: Condition,
    pub(crate) policy: Policy,
    /// `Surrogate-Control` is heeded here: it was for us, and is not for clients.
    pub(crate) heeds_surrogate_control: bool,
    pub(crate) service: Service,
    /// Names who answers in the keys of its objects; empty where it is who answers for the site.
    pub(crate) answerer: Box<[u8]>,
    /// Who answers, if somebody beside us does.
    pub(crate) pool: Option<Arc<Pool>>,
    /// Files that answer before anybody else is asked.
    pub(crate) files: Option<FilePlace>,
    /// In which content codings its responses are.
    pub(crate) codings: Option<Box<CodingRules>>,
    /// Who runs its scripts, if `php` says that somebody does.
    pub(crate) php: Option<Arc<Pool>>,
    /// What its applications are told over the usual.
    cgi_params: Vec<(Box<str>, Template)>,
    /// The site has path rules: which one holds depends on the path.
    pub(crate) by_path: bool,
    /// What is done with its requests before cache and origin; most have none.
    pub(crate) rules: Option<Box<Rules>>,
}

/// All locations, those of a site together: its rules in their order, then its own.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    all: Vec<Location>,
    /// Where the locations of each site begin.
    first: Vec<usize>,
    /// What holds for requests that no site is for.
    nowhere: usize,
    /// Counts what limits are for, over reloads.
    pub(crate) limiter: Arc<Limiter>,
}

impl Locations {
    pub(crate) fn new(settings: &Settings, pools: &Pools, previous: Option<&Self>) -> Self {
        let mut locations = Self {
            limiter: previous.map_or_else(Arc::default, |own| Arc::clone(&own.limiter)),
            ..Self::default()
        };
        for (number, site) in settings.sites.iter().enumerate() {
            locations.first.push(locations.all.len());
            let has_rules = !site.paths.is_empty();
            for rule in &site.paths {
                let own = (&rule.when, &rule.policy, &rule.service);
                locations.push(Some((site, number)), own, (pools, true));
            }
            let own = (&When::default(), &site.policy, &site.service);
            locations.push(Some((site, number)), own, (pools, has_rules));
        }
        locations.nowhere = locations.all.len();
        let (policy, service) = (&settings.cache.policy, &Service::default());
        locations.push(None, (&When::default(), policy, service), (pools, false));
        locations
    }

    fn push(
        &mut self,
        site: Option<(&Site, usize)>,
        (when, policy, service): (&When, &Policy, &Service),
        (pools, by_path): (&Pools, bool),
    ) {
        let pool = service.pool.as_ref().and_then(|name| pools.get(name));
        let php = service.cgi.php.as_ref().and_then(|name| pools.get(name));
        let is_cgi = |pool: &&Arc<Pool>| pool.settings.protocol != Protocol::Http;
        let runs_scripts = php.is_some() || pool.as_ref().is_some_and(is_cgi);
        let condition = Condition::new(when);
        let groups = condition.groups();
        let own = site.map_or(service, |(site, _)| &site.service);
        let answerer = Some(answerer(service)).filter(|name| *name != answerer(own));
        let number_in_site = site.map_or(0, |(_, site)| self.all.len() - self.first[site]);
        self.all.push(Location {
            number: self.all.len(),
            site: site.map_or(usize::MAX, |(_, number)| number),
            rules: site
                .and_then(|(site, _)| Rules::of(&condition, service, (site, number_in_site))),
            condition,
            policy: policy.clone(),
            heeds_surrogate_control: policy.heeds(SURROGATE_CONTROL),
            service: service.clone(),
            answerer: answerer.unwrap_or_default(),
            // The configuration's check has seen that every pool exists.
            pool: pool.map(Arc::clone),
            php: php.map(Arc::clone),
            cgi_params: cgi_params(&service.cgi, &groups),
            files: FilePlace::of(service, runs_scripts),
            codings: CodingRules::of(service),
            by_path,
        });
    }

    /// Those of a site: its rules in their order, then its own.
    fn of_site(&self, site: usize) -> &[Location] {
        let from = self.first.get(site).copied().unwrap_or(self.nowhere);
        let to = self.first.get(site + 1).copied().unwrap_or(self.nowhere);
        &self.all[from..to]
    }

    /// The one that holds for a request to a site.
    #[inline]
    pub(crate) fn find_for(&self, site: usize, asked: &Asked<'_>) -> &Location {
        match self.of_site(site) {
            [own] => own,
            all => self.select(all, asked),
        }
    }

    fn select<'a>(&'a self, all: &'a [Location], asked: &Asked<'_>) -> &'a Location {
        let sent = forebay_http::uri::split_path(asked.target).0;
        let path = path::normal(sent);
        let mut holding = all.iter();
        let found = holding.find(|location| location.condition.holds(&path, asked));
        found.unwrap_or_else(|| self.nowhere())
    }

    /// The one that holds for a path of a site, whoever asks: rules that look at more are for others.
    pub(crate) fn find(&self, site: usize, path: &[u8]) -> &Location {
        let path = path::normal(path);
        let found = self.of_site(site).iter().find(|location| {
            !location.condition.looks_beyond_path() && location.condition.holds_for_path(&path)
        });
        found.unwrap_or_else(|| self.nowhere())
    }

    /// All that the keys of a site's objects may name as who answers.
    pub(crate) fn answerers(&self, site: usize) -> Vec<&[u8]> {
        let mut all: Vec<&[u8]> = self
            .of_site(site)
            .iter()
            .map(|own| &*own.answerer)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The one of this number.
    pub(crate) fn get(&self, number: usize) -> &Location {
        &self.all[number.min(self.nowhere)]
    }

    /// What holds for requests that no site is for.
    pub(crate) fn nowhere(&self) -> &Location {
        &self.all[self.nowhere]
    }
}

/// Who answers, as a text that two services have in common only if it is the same one.
fn answerer(service: &Service) -> Box<[u8]> {
    let root = service.files.as_ref().map(|files| &*files.root);
    let roots = [root, service.cgi.root.as_deref()];
    let roots = roots.map(|root| root.map_or(&b""[..], |root| root.as_os_str().as_bytes()));
    let name = |name: &Option<String>| name.clone().unwrap_or_default().into_bytes();
    let pools = [name(&service.pool), name(&service.cgi.php)];
    // Neither names nor paths have such a byte.
    [&*pools[0], &*pools[1], roots[0], roots[1]].join(&1).into()
}

/// The templates of `cgi_params`, by the names of the parameters.
fn cgi_params(cgi: &Cgi, groups: &Groups) -> Vec<(Box<str>, Template)> {
    let params = cgi.params.iter();
    params
        .map(|(name, text)| (name.as_str().into(), Template::new(text, groups)))
        .collect()
}

impl Location {
    /// What its applications are told over the usual of a request, by name.
    pub(crate) fn cgi_params(&self, subject: &Subject<'_>) -> Vec<(Box<str>, Vec<u8>)> {
        if self.cgi_params.is_empty() {
            return Vec::new();
        }
        let sent = forebay_http::uri::split_path(subject.target).0;
        let path = path::normal(sent);
        let captures = self
            .condition
            .regex()
            .and_then(|regex| regex.captures(&path));
        let value = |template: &Template| {
            let mut value = Vec::new();
            template.expand(subject, captures.as_ref(), Context::Text, &mut value);
            value
        };
        let params = self.cgi_params.iter();
        params
            .map(|(name, template)| (name.clone(), value(template)))
            .collect()
    }

    /// Bytes of a request body; beyond: 413.
    pub(crate) fn body_limit(&self, settings: &Settings) -> u64 {
        let own = self.service.request_body_bytes;
        own.unwrap_or(settings.limits.request_body_bytes)
    }

    /// The site's settings, if there is a site.
    pub(crate) fn site_of<'a>(&self, settings: &'a Settings) -> Option<&'a Site> {
        settings.sites.get(self.site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_config::settings::PathRule;
    use forebay_http::fields::Fields;

    fn rule(when: When) -> PathRule {
        PathRule {
            when,
            policy: Policy::default(),
            service: Service::default(),
        }
    }

    #[test]
    fn the_first_rule_that_holds_decides_and_then_the_site() {
        let mut settings = Settings::default();
        let glob = |pattern: &str| When {
            pattern: Some(pattern.into()),
            ..When::default()
        };
        let posted = When {
            methods: vec!["POST".into()],
            ..glob("/a/*")
        };
        settings.sites.push(Site {
            name: "s".into(),
            hosts: Vec::new(),
            methods: Vec::new(),
            policy: Policy::default(),
            service: Service::default(),
            paths: vec![rule(posted), rule(glob("/a/*")), rule(glob("/b"))],
        });
        let pools = Pools::new(forebay_upstream::Prepared::default(), None);
        let locations = Locations::new(&settings, &pools, None);
        let fields = Fields::default();
        for (method, target, number) in [
            ("POST", "/a/x", 0),
            ("GET", "/a/x", 1),
            ("GET", "/%61/x?y", 1),
            ("GET", "/c/../b", 2),
            ("GET", "/bb", 3),
        ] {
            let asked = Asked {
                method: method.as_bytes(),
                target: target.as_bytes(),
                fields: &fields,
                client: None,
            };
            assert_eq!(
                locations.find_for(0, &asked).number,
                number,
                "{method} {target}"
            );
        }
        // By the path alone, rules that look at more are left out.
        assert_eq!(locations.find(0, b"/a/x").number, 1);
        assert_eq!(locations.find(7, b"/a/x").number, 4);
    }
}

//! What has been read of `[site.NAME]` and `[[site.NAME.path]]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{Coding, Compress, Files, Policy, ServerAddress, Service, When};
use crate::template::Groups;

use super::Spanned;

/// `[site.NAME]`
#[derive(Debug, Default)]
pub(crate) struct SiteDraft {
    pub(crate) hosts: Vec<Spanned<String>>,
    /// Whether `hosts` stands in the file, if only with errors.
    pub(crate) hosts_written: bool,
    pub(crate) methods: Vec<String>,
    pub(crate) policy: Policy,
    pub(crate) service: ServiceDraft,
    pub(crate) paths: Vec<PathDraft>,
}

/// `[[site.NAME.path]]`
#[derive(Debug, Default)]
pub(crate) struct PathDraft {
    /// Where it begins.
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) when: When,
    pub(crate) policy: Policy,
    pub(crate) service: ServiceDraft,
}

/// What is done with requests; a path starts with a copy of its site's.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceDraft {
    /// What needs no check against the rest.
    pub(crate) service: Service,
    /// Which groups its templates may name: those of the rule's `regex`.
    pub(crate) groups: Groups,
    pub(crate) pool: Option<Spanned<String>>,
    pub(crate) php: Option<Spanned<Php>>,
    pub(crate) root: Option<PathBuf>,
    /// Without root and index.
    pub(crate) files: Files,
    pub(crate) index: Option<Vec<String>>,
    pub(crate) cgi_extension: Option<String>,
    pub(crate) compress: bool,
    pub(crate) codings: Option<Vec<Coding>>,
    /// Without codings.
    pub(crate) compressing: Compress,
    pub(crate) rate: Option<(u32, Duration)>,
    pub(crate) burst: Option<u32>,
    /// The settings that stand in this very section.
    pub(crate) written: Vec<Spanned<&'static str>>,
}

/// `php` or `php_pool`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Php {
    /// Its servers.
    Servers(Vec<ServerAddress>),
    /// The pool of this name.
    Pool(String),
}

impl ServiceDraft {
    /// What a path rule with these groups starts from.
    pub(crate) fn inherited(&self, groups: Groups) -> Self {
        Self {
            groups,
            written: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether something here answers requests without the site's pool.
    pub(crate) fn answers(&self) -> bool {
        let service = &self.service;
        self.root.is_some()
            || self.php.is_some()
            || service.respond.is_some()
            || !service.redirect.is_empty()
    }

    /// The first of `keys` that stands in this very section.
    pub(crate) fn written_of(&self, keys: &[&str]) -> Option<&Spanned<&'static str>> {
        self.written.iter().find(|key| keys.contains(&key.value))
    }
}

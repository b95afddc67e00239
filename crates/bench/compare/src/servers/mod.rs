//! The servers that can be compared: one table, one file a family.
//!
//! A server is data: what brings it, the files it is configured with, and its
//! command line. Files, arguments and environment may hold the placeholders
//! that [`crate::place::Place::values`] lists.

mod apache;
mod apps;
mod beside;
mod forebay;
mod fronts;
mod haproxy;
mod nginx;
mod own;
mod plain;
mod squid;
mod stores;
mod trafficserver;
mod varnish;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::command;

pub(crate) use apps::{PAGE, PAGE_BYTES};
pub(crate) use beside::{Companion, Listens, Observed, Requirement};
pub(crate) use nginx::origin;
pub(crate) use own::read as read_own;

/// What a server does in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// It stores what the origin answers.
    #[default]
    Cache,
    /// It serves the origin's files itself.
    Files,
    /// It answers the same bytes to whatever is asked.
    Bare,
    /// It stands before an application.
    Front,
    /// An application keeps its sessions in it.
    Store,
}

impl Role {
    /// Whether servers of this role compete for the first place.
    pub(crate) fn competes(self) -> bool {
        matches!(self, Self::Cache | Self::Front | Self::Store)
    }

    /// The role that those compete in with whom it can be compared.
    pub(crate) fn group(self) -> Self {
        match self {
            Self::Cache | Self::Files | Self::Bare => Self::Cache,
            Self::Front | Self::Store => self,
        }
    }
}

/// What brings the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This program, or the other build of it that was asked for.
    Forebay,
    /// Built beside this program, and not installed anywhere.
    Beside(&'static str),
    /// Installed by a Debian package.
    Packaged {
        program: &'static str,
        package: &'static str,
    },
    /// Packaged by nobody.
    Built {
        program: &'static str,
        remedy: &'static str,
    },
    /// The operator's own, in `PATH` or with its folder.
    Own(String),
}

/// A file that is written before the server starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Below the server's folder.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A server that can be compared.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// What it is, in a few words.
    pub(crate) about: String,
    pub(crate) role: Role,
    pub(crate) program: Program,
    pub(crate) files: Vec<Template>,
    /// Run to their ends before it starts, as whom it runs; each a list of arguments of the program.
    pub(crate) prepare: Vec<Vec<String>>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Arguments that make it print its version; none when it has no such.
    pub(crate) version: Vec<String>,
    /// The account that it changes to when it is started by root, and that must own its folders.
    pub(crate) account: Option<&'static str>,
    /// Its cache lies in a memory file system.
    pub(crate) cache_in_memory: bool,
    /// The folder in which its cache lies, where that matters.
    pub(crate) cache_above: Option<PathBuf>,
    /// Programs that run beside it, in the order in which they are started, before it.
    pub(crate) beside: Vec<Companion>,
    /// What it needs otherwise.
    pub(crate) requires: Vec<Requirement>,
    /// Whose processor time and memory count.
    pub(crate) observed: Observed,
    /// It answers a body of one length, so it takes part where there is one document only.
    pub(crate) one_document: bool,
    /// Asked until it answers; the case's own document when `None`.
    pub(crate) ready_path: Option<String>,
}

impl Server {
    /// One without files, arguments or peculiarities.
    fn new(name: &str, about: &str, role: Role, program: Program) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            role,
            program,
            files: Vec::new(),
            prepare: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            version: Vec::new(),
            account: None,
            cache_in_memory: false,
            cache_above: None,
            beside: Vec::new(),
            requires: Vec::new(),
            observed: Observed::default(),
            one_document: false,
            ready_path: None,
        }
    }

    fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.push(Template {
            path: path.into(),
            text: text.into(),
        });
        self
    }

    /// Arguments, separated by blanks.
    fn arguments(mut self, line: &str) -> Self {
        self.arguments
            .extend(line.split_whitespace().map(str::to_owned));
        self
    }

    fn version(mut self, line: &str) -> Self {
        self.version = line.split_whitespace().map(str::to_owned).collect();
        self
    }

    /// Finds its program and those of its companions.
    ///
    /// # Errors
    /// Why it cannot take part, and what would help.
    pub(crate) fn resolve(&mut self, forebay: &Path) -> Result<PathBuf, String> {
        let absent = |program: &Program| format!("not installed: {}", program.remedy());
        if let Some(why) = self.requires.iter().find_map(|r| r.missing(forebay)) {
            return Err(why);
        }
        for companion in &mut self.beside {
            let found = companion.program.path(forebay);
            companion.found = found.ok_or_else(|| absent(&companion.program))?;
        }
        let found = self.program.path(forebay);
        found.ok_or_else(|| absent(&self.program))
    }

    /// The packages that bring what is missing of it.
    pub(crate) fn missing_packages(&self, forebay: &Path) -> Vec<&'static str> {
        let programs = self.beside.iter().map(|c| &c.program);
        let programs = std::iter::once(&self.program)
            .chain(programs)
            .filter(|p| p.path(forebay).is_none())
            .filter_map(Program::package);
        let others = self
            .requires
            .iter()
            .filter(|r| r.missing(forebay).is_some())
            .filter_map(Requirement::package);
        programs.chain(others).collect()
    }
}

impl Program {
    /// The program's file, if it is on this machine. `forebay` is the one to use as Forebay.
    pub(crate) fn path(&self, forebay: &Path) -> Option<PathBuf> {
        match self {
            Self::Forebay => Some(forebay.to_path_buf()),
            Self::Beside(name) => Some(forebay.with_file_name(name)).filter(|f| f.is_file()),
            Self::Packaged { program, .. } | Self::Built { program, .. } => command::find(program),
            Self::Own(program) => command::find(program),
        }
    }

    /// How to get the program when [`Program::path`] finds none.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Forebay => "this program".into(),
            Self::Beside(name) => format!("cargo build --release --package {name}"),
            Self::Packaged { package, .. } => format!("apt-get install {package}"),
            Self::Built { remedy, .. } => (*remedy).into(),
            Self::Own(program) => format!("{program} is not in PATH"),
        }
    }

    fn package(&self) -> Option<&'static str> {
        match self {
            Self::Packaged { package, .. } => Some(package),
            _ => None,
        }
    }
}

/// All that are built in, in the order of reports.
pub(crate) fn built_in() -> Vec<Server> {
    [
        forebay::servers(),
        varnish::servers(),
        squid::servers(),
        nginx::servers(),
        apache::servers(),
        trafficserver::servers(),
        haproxy::servers(),
        plain::servers(),
        forebay::bare(),
        fronts::servers(),
        stores::servers(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_server_has_a_name_of_its_own_and_says_what_it_is() {
        let servers = built_in();
        let names: BTreeSet<_> = servers.iter().map(|s| &s.name).collect();
        assert_eq!(names.len(), servers.len());
        for server in &servers {
            assert!(!server.about.is_empty(), "{}", server.name);
            assert!(!server.program.remedy().is_empty(), "{}", server.name);
        }
    }

    #[test]
    fn no_template_is_left_with_a_part_that_its_family_fills_in() {
        for server in built_in() {
            for file in &server.files {
                for part in [
                    "{part}",
                    "{storage}",
                    "{sending}",
                    "{durability}",
                    "{persistence}",
                ] {
                    assert!(!file.text.contains(part), "{}: {part}", server.name);
                }
            }
        }
    }
}

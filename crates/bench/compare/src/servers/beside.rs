//! What a server needs besides its own program: processes that run beside it
//! (an application behind a front, a store behind an application), and things
//! that must be on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Program;
use crate::command;

/// A program that runs beside a server, once or several times, each on a place of its own.
///
/// The server's files and arguments know these places as `{NAME_1}`, `{NAME_2}` and so on; the companion's own
/// arguments know theirs as `{own}`, and that of the first companion's process of the same number as `{peer}`.
#[derive(Clone, Debug)]
pub(crate) struct Companion {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// The program's file, once [`super::Server::resolve`] has found it.
    pub(crate) found: PathBuf,
    pub(crate) count: usize,
    pub(crate) listens: Listens,
    pub(crate) arguments: Vec<String>,
    /// Arguments that make it print its version.
    pub(crate) version: Vec<String>,
}

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listens {
    /// A port of 127.0.0.1; the placeholder is its number.
    Port,
    /// A Unix socket; the placeholder is its path.
    Socket,
    /// None: it connects to others.
    Nowhere,
}

/// Whose processor time and memory are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Observed {
    /// The server's.
    #[default]
    Server,
    /// The companion's of this name.
    Companion(&'static str),
    /// Nobody's: what is compared is not a process.
    Nobody,
}

/// What must be on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// A file that a package brings.
    File {
        path: &'static str,
        package: &'static str,
    },
    /// A module of PHP that a package brings.
    PhpModule {
        name: &'static str,
        package: &'static str,
    },
    /// Forebay must understand this configuration.
    Understood(&'static str),
    /// A network file system that we may write to; see [`nfs`].
    Nfs,
}

impl Companion {
    pub(super) fn new(name: &'static str, program: &'static str, package: &'static str) -> Self {
        Self::of(name, Program::Packaged { program, package })
    }

    pub(super) fn of(name: &'static str, program: Program) -> Self {
        Self {
            name,
            program,
            found: PathBuf::new(),
            count: 1,
            listens: Listens::Port,
            arguments: Vec::new(),
            version: Vec::new(),
        }
    }

    /// Arguments, separated by blanks.
    pub(super) fn arguments(mut self, line: &str) -> Self {
        self.arguments = words(line);
        self
    }

    pub(super) fn version(mut self, line: &str) -> Self {
        self.version = words(line);
        self
    }

    pub(super) fn times(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    pub(super) fn listens(mut self, listens: Listens) -> Self {
        self.listens = listens;
        self
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Requirement {
    /// Why this machine does not have it; `None` when it has. `forebay` is the program that is compared as Forebay.
    pub(crate) fn missing(&self, forebay: &Path) -> Option<String> {
        match self {
            Self::File { path, package } => (!Path::new(path).is_file())
                .then(|| format!("not installed: apt-get install {package}")),
            Self::PhpModule { name, package } => (!has_php_module(name)).then(|| {
                format!("not installed: apt-get install {package} (PHP's module {name})")
            }),
            Self::Understood(config) => {
                (!understood(forebay, config)).then(|| "not in this version".into())
            }
            Self::Nfs => nfs().is_none().then(|| {
                "no NFS that may be written to is mounted here: apt-get install nfs-kernel-server, export a folder and \
                 mount it"
                    .into()
            }),
        }
    }

    /// The package that brings it.
    pub(crate) fn package(&self) -> Option<&'static str> {
        match self {
            Self::File { package, .. } | Self::PhpModule { package, .. } => Some(package),
            Self::Understood(_) | Self::Nfs => None,
        }
    }
}

/// Modules lie in a folder named for the version of PHP's interface.
fn has_php_module(name: &str) -> bool {
    let versions = fs::read_dir("/usr/lib/php").into_iter().flatten().flatten();
    versions
        .into_iter()
        .any(|version| version.path().join(format!("{name}.so")).is_file())
}

/// Whether `forebay check` has nothing against a configuration.
fn understood(forebay: &Path, config: &str) -> bool {
    let Ok(dir) = tempfile::tempdir() else {
        return false;
    };
    let file = dir.path().join("forebay.toml");
    let config = config.replace("{dir}", &dir.path().display().to_string());
    fs::write(&file, config).is_ok()
        && command::capture(Command::new(forebay).args(["check", "-c"]).arg(&file)).is_ok()
}

/// The first mounted NFS in which we may make a folder.
pub(super) fn nfs() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    nfs_mounts(&mounts).find(|folder| {
        tempfile::Builder::new()
            .prefix("forebay-compare-")
            .tempdir_in(folder)
            .is_ok()
    })
}

/// The mount points of type NFS. Blanks in them are written `\040`.
fn nfs_mounts(mounts: &str) -> impl Iterator<Item = PathBuf> + '_ {
    mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind) = (fields.next()?, fields.next()?);
        matches!(kind, "nfs" | "nfs4").then(|| PathBuf::from(folder.replace("\\040", " ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_others() {
        let mounts = "proc /proc proc rw 0 0\nnfsd /proc/fs/nfsd nfsd rw 0 0\nhost:/a /mnt/a\\040b nfs4 rw 0 0\n\
                      host:/b /mnt/c nfs rw 0 0\n/dev/sda1 /nfs ext4 rw 0 0\n";
        let found: Vec<_> = nfs_mounts(mounts).collect();
        assert_eq!(found, [Path::new("/mnt/a b"), Path::new("/mnt/c")]);
    }

    #[test]
    fn what_is_missing_says_what_brings_it() {
        let file = Requirement::File {
            path: "/nonexistent/module.so",
            package: "the-package",
        };
        let nowhere = Path::new("/nonexistent/forebay");
        assert!(
            file.missing(nowhere)
                .is_some_and(|why| why.contains("the-package"))
        );
        assert_eq!(
            Requirement::Understood("").missing(nowhere).as_deref(),
            Some("not in this version")
        );
    }
}

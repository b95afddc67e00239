//! From the root to a file, name by name, without the system's help against leaving the root.
//!
//! Each name is opened below the directory before it and is not followed when it is a symbolic
//! link; links are read and resolved here, so that no renaming meanwhile leads outside. An
//! absolute target counts when it begins with the root's own path.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use crate::root::LOOK;

/// Links on the way to one file; as many as Linux follows.
const MOST_LINKS: usize = 40;
/// Names on the way to one file, those in links included.
const MOST_NAMES: usize = 512;

/// A root that is walked from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) root: BorrowedFd<'a>,
    /// What absolute targets of links have to begin with.
    pub(crate) root_path: &'a Path,
    /// Whether links are followed at all.
    pub(crate) follow: bool,
}

impl Walk<'_> {
    /// Opens the file at `path` with `flags`.
    ///
    /// # Errors
    /// `XDEV` when it lies outside, `LOOP` for a link that may not be followed, and whatever the
    /// system says.
    pub(crate) fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        // The names that are still to come, the next one last.
        let mut names = reversed(path);
        // The directories below the root that lead to where we are.
        let mut way: Vec<OwnedFd> = Vec::new();
        let (mut links, mut steps) = (0, 0);
        while let Some(name) = names.pop() {
            steps += 1;
            if steps > MOST_NAMES {
                return Err(Errno::NAMETOOLONG);
            }
            if *name == *b".." {
                way.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let here = way.last().map_or(self.root, |directory| directory.as_fd());
            let found = openat(here, &name[..], LOOK | OFlags::NOFOLLOW, Mode::empty())?;
            let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
            if kind == FileType::Symlink {
                links += 1;
                if !self.follow || links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = readlinkat(&found, "", Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    way.clear();
                }
                names.extend(reversed(self.below(&target)?));
                continue;
            }
            if names.is_empty() {
                return self.open_last(here, &name, &found, flags);
            }
            if kind != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            way.push(found);
        }
        let here = way.last().map_or(self.root, |directory| directory.as_fd());
        openat(here, ".", flags, Mode::empty())
    }

    /// Opens the last name for what it is wanted for. It was no link a moment ago: should it be
    /// one now, it is not followed.
    fn open_last(
        &self,
        here: BorrowedFd<'_>,
        name: &[u8],
        found: &OwnedFd,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        if flags.contains(OFlags::PATH) {
            return rustix::io::fcntl_dupfd_cloexec(found, 0);
        }
        openat(here, name, flags | OFlags::NOFOLLOW, Mode::empty())
    }

    /// A link's target as a path below the root, or below where the link is.
    fn below<'t>(&self, target: &'t [u8]) -> Result<&'t [u8], Errno> {
        if !target.starts_with(b"/") {
            return Ok(target);
        }
        let target_path = Path::new(OsStr::from_bytes(target));
        if let Ok(rest) = target_path.strip_prefix(self.root_path) {
            return Ok(rest.as_os_str().as_bytes());
        }
        let canonical = std::fs::canonicalize(self.root_path).map_err(|_| Errno::XDEV)?;
        let rest = target_path
            .strip_prefix(canonical)
            .map_err(|_| Errno::XDEV)?;
        Ok(rest.as_os_str().as_bytes())
    }
}

fn reversed(path: &[u8]) -> Vec<Box<[u8]>> {
    let names = path.rsplit(|&byte| byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.map(Into::into).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::root::{READ, Root};
    use forebay_config::settings::Symlinks;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    /// A root beside a file that must not be reached, and what leads there.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(tree.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("file"), "file").unwrap();
        std::fs::write(root.join("a/b/deep"), "deep").unwrap();
        for (target, link) in [
            ("file", "link"),
            ("../file", "a/up"),
            ("../../secret", "a/out"),
            ("../secret", "out"),
            ("..", "parent"),
            ("a/b", "directory"),
            ("a/../file", "around"),
            ("loop", "loop"),
            ("/etc/passwd", "absolute"),
            ("missing", "dangling"),
            ("a/b/../../../secret", "far"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("file"), root.join("home")).unwrap();
        symlink(root.join("../secret"), root.join("sly")).unwrap();
        symlink(format!("{}x", root.display()), root.join("beside")).unwrap();
        tree
    }

    fn text(file: Result<OwnedFd, impl Sized>) -> Option<String> {
        let mut text = String::new();
        let mut file = std::fs::File::from(file.ok()?);
        file.read_to_string(&mut text).ok()?;
        Some(text)
    }

    const PATHS: [(&str, Option<&str>, Option<&str>); 17] = [
        ("file", Some("file"), Some("file")),
        ("a/b/deep", Some("deep"), Some("deep")),
        ("link", Some("file"), None),
        ("a/up", Some("file"), None),
        ("directory/deep", Some("deep"), None),
        ("around", Some("file"), None),
        ("home", Some("file"), None),
        ("a/out", None, None),
        ("out", None, None),
        ("parent/secret", None, None),
        ("loop", None, None),
        ("absolute", None, None),
        ("dangling", None, None),
        ("far", None, None),
        ("sly", None, None),
        ("beside", None, None),
        ("file/deep", None, None),
    ];

    #[test]
    fn a_walk_and_the_system_agree_and_nothing_leads_outside() {
        let tree = tree();
        let root_path = tree.path().join("root");
        let handle = std::fs::File::open(&root_path).unwrap();
        for (path, inside, never) in PATHS {
            for (symlinks, expected) in [(Symlinks::Inside, inside), (Symlinks::Never, never)] {
                let root = Root::new(&root_path, symlinks);
                let directory = root.directory(0, 0).unwrap();
                let opened = text(root.open(&directory, path.as_bytes()));
                assert_eq!(opened.as_deref(), expected, "{path}, {symlinks:?}");
                let walk = Walk {
                    root: handle.as_fd(),
                    root_path: &root_path,
                    follow: symlinks == Symlinks::Inside,
                };
                let walked = text(walk.open(path.as_bytes(), READ));
                assert_eq!(walked.as_deref(), expected, "walking {path}, {symlinks:?}");
            }
        }
    }

    #[test]
    fn whoever_wants_it_may_leave_the_root() {
        let tree = tree();
        let root = Root::new(&tree.path().join("root"), Symlinks::Follow);
        let directory = root.directory(0, 0).unwrap();
        let opened = text(root.open(&directory, b"out"));
        assert_eq!(opened.as_deref(), Some("secret"));
    }
}

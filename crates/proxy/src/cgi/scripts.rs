//! Which scripts there are, remembered for as long as files of the site are.
//!
//! A script is a regular file below `root`, and where symbolic links lead is looked at as for
//! static files. Where only `cgi_root` is set the files are on another machine (or seen from
//! another root directory) and nothing is looked at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use forebay_cgi::script::{Naming, Script};
use forebay_config::settings::{Files, Service, Symlinks};
use rapidhash::quality::RandomState;

use crate::worker::Worker;

/// Scripts remembered by each worker; beyond, all are forgotten.
const MOST_SCRIPTS: usize = 4096;

/// A worker's memory of scripts that were there when it looked.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    /// Until when, in milliseconds since the epoch, by their path.
    until_ms: RefCell<HashMap<Box<[u8]>, u64, RandomState>>,
}

impl Scripts {
    /// Whether the file `path`, made of the root of `files` and of `name`, is a script.
    fn has(&self, files: &Files, path: &[u8], name: &[u8], now_ms: u64) -> bool {
        let mut known = self.until_ms.borrow_mut();
        if known.get(path).is_some_and(|&until_ms| until_ms > now_ms) {
            return true;
        }
        known.remove(path);
        if !is_file_below(files, path, name) {
            return false;
        }
        if known.len() == MOST_SCRIPTS {
            known.clear();
        }
        known.insert(path.into(), now_ms + files.check.as_millis() as u64);
        true
    }
}

/// The script of a path, if there is one.
pub(super) fn find<'a>(
    worker: &Worker,
    service: &Service,
    path: &[u8],
    decoded: &'a mut Vec<u8>,
) -> Option<Script<'a>> {
    let naming = Naming {
        extension: service.cgi.extension.as_bytes(),
        index: service.cgi.index.as_bytes(),
    };
    let Some(files) = &service.files else {
        return Script::find(path, &naming, decoded, |_| true);
    };
    let mut whole = worker.take_scratch();
    let script = Script::find(path, &naming, decoded, |name| {
        whole.clear();
        whole.extend_from_slice(trimmed(&files.root));
        whole.extend_from_slice(name);
        worker.scripts.has(files, &whole, name, worker.now_ms())
    });
    whole.clear();
    worker.put_scratch(whole);
    script
}

/// A directory without the slash that it may end in: names behind it begin with one.
pub(super) fn trimmed(directory: &Path) -> &[u8] {
    let bytes = directory.as_os_str().as_bytes();
    bytes.strip_suffix(b"/").unwrap_or(bytes)
}

fn is_file_below(files: &Files, path: &[u8], name: &[u8]) -> bool {
    let is_hidden = |segment: &[u8]| segment.first() == Some(&b'.') && segment != b".well-known";
    if !files.hidden && name.split(|&byte| byte == b'/').any(is_hidden) {
        return false;
    }
    let path = Path::new(OsStr::from_bytes(path));
    let is_within = || {
        let root = files.root.canonicalize()?;
        let real = path.canonicalize()?;
        Ok::<_, std::io::Error>(match files.symlinks {
            Symlinks::Follow => true,
            Symlinks::Inside => real.starts_with(root),
            Symlinks::Never => {
                let name = name.strip_prefix(b"/").unwrap_or(name);
                real == root.join(OsStr::from_bytes(name))
            }
        })
    };
    is_within().unwrap_or(false) && path.metadata().is_ok_and(|found| found.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    struct Site {
        files: Files,
        scripts: Scripts,
        _directory: tempfile::TempDir,
    }

    fn site(symlinks: Symlinks) -> Site {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("site");
        fs::create_dir_all(root.join("dir.php")).unwrap();
        for name in ["site/a.php", "site/.secret.php", "outside.php"] {
            fs::write(directory.path().join(name), "<?php").unwrap();
        }
        symlink(root.join("a.php"), root.join("in.php")).unwrap();
        symlink(directory.path().join("outside.php"), root.join("out.php")).unwrap();
        let files = Files {
            root,
            symlinks,
            check: Duration::from_millis(10),
            ..Files::default()
        };
        Site {
            files,
            scripts: Scripts::default(),
            _directory: directory,
        }
    }

    impl Site {
        fn has(&self, name: &str, now_ms: u64) -> bool {
            let path = [trimmed(&self.files.root), name.as_bytes()].concat();
            self.scripts
                .has(&self.files, &path, name.as_bytes(), now_ms)
        }
    }

    #[test]
    fn scripts_are_files_below_the_root() {
        for (symlinks, inside, outside) in [
            (Symlinks::Inside, true, false),
            (Symlinks::Never, false, false),
            (Symlinks::Follow, true, true),
        ] {
            let site = site(symlinks);
            assert!(site.has("/a.php", 0));
            assert!(!site.has("/dir.php", 0) && !site.has("/none.php", 0));
            assert!(!site.has("/.secret.php", 0));
            assert_eq!(site.has("/in.php", 0), inside, "{symlinks:?}");
            assert_eq!(site.has("/out.php", 0), outside, "{symlinks:?}");
        }
    }

    #[test]
    fn what_was_there_is_looked_for_again_after_a_while() {
        let site = site(Symlinks::Inside);
        assert!(site.has("/a.php", 0));
        fs::remove_file(site.files.root.join("a.php")).unwrap();
        assert!(site.has("/a.php", 9));
        assert!(!site.has("/a.php", 10));
        fs::write(site.files.root.join("a.php"), "").unwrap();
        assert!(site.has("/a.php", 10), "that it was gone is not remembered");
    }
}

//! The directory in which application processes have their sockets. It belongs to this process
//! alone; what one that was killed has left is removed at the next start.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::{FlockOperation, flock};

use crate::guard::RunAs;
use crate::place::{Kind, Place};

/// What its name begins with; the process id follows.
const PREFIX: &str = "forebay-apps-";
/// Held locked for as long as the process lives: so that others see whether it does.
const LOCK: &str = "lock";
/// What `sun_path` holds (unix(7)), with its end.
const SOCKET_PATH_BYTES: usize = 107;

/// Lives as long as the supervisor; removed when dropped.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Makes it, below the first of: `RUNTIME_DIRECTORY` (systemd's), `XDG_RUNTIME_DIR`, `/run`
    /// as root, or the directory for temporary files.
    pub(crate) fn make() -> io::Result<Self> {
        Self::make_below(&base())
    }

    fn make_below(base: &Path) -> io::Result<Self> {
        remove_stale(base);
        // More than one in a process happens only in tests.
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let name = match NUMBER.fetch_add(1, Relaxed) {
            1 => format!("{PREFIX}{}", std::process::id()),
            number => format!("{PREFIX}{}-{number}", std::process::id()),
        };
        // It gets the name by which others find it once its lock is held: for a moment without
        // one it would be a dead one's, and theirs to remove.
        let (path, new) = (base.join(&name), base.join(format!(".{name}")));
        // Those of this number, if there are any, belong to nobody who lives.
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_dir_all(&new);
        // Others may pass through it to the socket that is theirs, and see nothing.
        DirBuilder::new().mode(0o711).create(&new)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o711))?;
        let lock = File::create(new.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(&new, &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// A place for the process `name`-`number`, which it alone (and Forebay) can use.
    pub(crate) fn place(
        &self,
        kind: Kind,
        (name, number): (&str, u32),
        run_as: Option<&RunAs>,
    ) -> io::Result<Place> {
        if kind == Kind::Port {
            // Free a moment ago. If somebody else is faster, the process fails and is started
            // again with another one.
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            return Ok(Place::Port(listener.local_addr()?.port()));
        }
        let own = self.path.join(format!("{name}-{number}"));
        let _ = fs::remove_dir_all(&own);
        DirBuilder::new().mode(0o700).create(&own)?;
        if let Some(run_as) = run_as {
            chown(&own, Some(run_as.user), Some(run_as.group))?;
        }
        let socket = own.join("socket");
        if socket.as_os_str().len() > SOCKET_PATH_BYTES {
            let text = format!("the socket's path would be too long: {}", socket.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(match kind {
            Kind::Stdin => Place::Stdin(socket),
            _ => Place::Socket(socket),
        })
    }

    /// The process that had `place` is gone.
    pub(crate) fn free(&self, place: &Place) {
        if let Some(own) = place.socket().and_then(Path::parent)
            && own.starts_with(&self.path)
        {
            // What stays is removed with the whole, or at the next start.
            let _ = fs::remove_dir_all(own);
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn base() -> PathBuf {
    let variable = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute() && path.is_dir())
    };
    // systemd may give several, with colons between them, which then are no directory.
    variable("RUNTIME_DIRECTORY")
        .or_else(|| variable("XDG_RUNTIME_DIR"))
        .or_else(|| {
            let root = rustix::process::geteuid().is_root();
            Some(PathBuf::from("/run")).filter(|run| root && run.is_dir())
        })
        .unwrap_or_else(std::env::temp_dir)
}

/// Removes the directories of processes that are gone: their locks can be had.
fn remove_stale(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX));
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if ours && is_directory && is_stale(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_stale(path: &Path) -> bool {
    // One without a lock, or with one that cannot be opened, is not ours.
    let lock = File::open(path.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_the_dead_have_left_is_removed_and_the_living_stay() {
        let base = tempfile::tempdir().unwrap();
        let stale = base.path().join("forebay-apps-1");
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join(LOCK), "").unwrap();
        let living = base.path().join("forebay-apps-2");
        fs::create_dir(&living).unwrap();
        let lock = File::create(living.join(LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let other = base.path().join("something");
        fs::create_dir(&other).unwrap();
        let directory = Directory::make_below(base.path()).unwrap();
        assert!(!stale.exists() && living.exists() && other.exists());
        let path = directory.path.clone();
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn many_are_made_at_once_and_none_is_taken_for_a_dead_one() {
        let base = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let directory = Directory::make_below(base.path()).unwrap();
                        assert!(directory.path.join(LOCK).exists());
                    }
                });
            }
        });
    }

    #[test]
    fn a_place_is_private_and_goes_when_it_is_freed() {
        let base = tempfile::tempdir().unwrap();
        let directory = Directory::make_below(base.path()).unwrap();
        let place = directory.place(Kind::Socket, ("shop", 1), None).unwrap();
        let own = place.socket().unwrap().parent().unwrap().to_owned();
        let mode = fs::metadata(&own).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(place.socket().unwrap(), "").unwrap();
        directory.free(&place);
        assert!(!own.exists());
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused_in_words() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("d".repeat(90));
        fs::create_dir(&deep).unwrap();
        let directory = Directory::make_below(&deep).unwrap();
        let error = directory
            .place(Kind::Socket, ("shop", 1), None)
            .unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }
}

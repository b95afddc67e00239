//! Folders of a comparison, and what the placeholders of servers stand for.
//!
//! Everything lies below two temporary folders, one on disk and one in a
//! memory file system, which go when the comparison ends.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::servers::Server;

/// The placeholders of files, arguments and environment, and what each stands for.
pub(crate) const PLACEHOLDERS: [(&str, &str); 21] = [
    ("{port}", "the port of 127.0.0.1 to listen on"),
    ("{origin}", "the origin's address and port"),
    ("{origin_host}", "the origin's address"),
    ("{origin_port}", "the origin's port"),
    ("{root}", "the folder of the origin's files"),
    (
        "{dir}",
        "a folder for configuration and state, empty at each start",
    ),
    ("{cache}", "a folder for the cache, empty at each start"),
    (
        "{cores}",
        "how many cores there are for it, so how many workers it should have",
    ),
    ("{memory_mib}", "the memory for cached objects, in MiB"),
    ("{memory_bytes}", "the same in bytes"),
    ("{disk_mib}", "the disk space for cached objects, in MiB"),
    ("{descriptors}", "how many open files it may have"),
    ("{connections}", "more connections than it will get"),
    (
        "{body_bytes}",
        "the length of the document, where there is one only",
    ),
    ("{user}", "the account that it changes to"),
    (
        "{unique}",
        "a short word that nothing else on this machine is called by",
    ),
    ("{modules}", "the folder of Apache's modules"),
    ("{apache_threads}", "256 a core"),
    ("{further_processes}", "`{cores}`, or 0 for one"),
    (
        "{squid_mode}",
        "`-N` with one core, `--foreground` with more",
    ),
    (
        "{squid_process}",
        "0 with one core, with more Squid's word for the number of a process",
    ),
];

/// The first word in braces that looks like a placeholder and is none.
pub(crate) fn unknown_placeholder(text: &str) -> Option<&str> {
    text.match_indices('{').find_map(|(start, _)| {
        let rest = text.get(start..)?;
        let end = rest.find('}')?;
        let word = rest.get(..=end)?;
        let name = word.trim_matches(['{', '}']);
        let looks_like_one =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        (looks_like_one && PLACEHOLDERS.iter().all(|(known, _)| *known != word)).then_some(word)
    })
}

/// Replaces placeholders.
pub(crate) fn fill(text: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(name, value)
    })
}

/// What the servers of a comparison have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    /// Cores of the server, as `taskset` reads them; empty for any.
    pub(crate) cores: String,
    pub(crate) workers: usize,
    pub(crate) memory_bytes: u64,
    /// Of the case's documents together; a disk has room for several times as much.
    pub(crate) set_bytes: u64,
    pub(crate) descriptors: u64,
    pub(crate) connections: u64,
}

/// The folders.
#[derive(Debug)]
pub(crate) struct Place {
    disk: TempDir,
    memory: TempDir,
    turns: u32,
}

/// The folders of one start of a server; they go when this is dropped.
#[derive(Debug)]
pub(crate) struct Folders {
    pub(crate) dir: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Drop for Folders {
    fn drop(&mut self) {
        // What is left goes with the whole place.
        let _ = fs::remove_dir_all(&self.cache);
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Place {
    /// Makes both folders.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(crate) fn new() -> Result<Self, String> {
        let make = |folder: &Path| {
            let made = tempfile::Builder::new()
                .prefix("forebay-compare-")
                .tempdir_in(folder);
            let made = made.map_err(|e| format!("{}: {e}", folder.display()))?;
            // Servers that give up root must get in.
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(made.path(), open).map_err(|e| e.to_string())?;
            Ok::<_, String>(made)
        };
        let disk = make(&std::env::temp_dir())?;
        let shm = Path::new("/dev/shm");
        let memory = make(if shm.is_dir() { shm } else { disk.path() })?;
        for name in ["root", "lists"] {
            fs::create_dir(disk.path().join(name)).map_err(|e| e.to_string())?;
        }
        Ok(Self {
            disk,
            memory,
            turns: 0,
        })
    }

    /// The folder of the origin's files.
    pub(crate) fn root(&self) -> PathBuf {
        self.disk.path().join("root")
    }

    /// The folder of logs and lists of URLs.
    pub(crate) fn lists(&self) -> PathBuf {
        self.disk.path().join("lists")
    }

    /// New folders for a start of `server`.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(crate) fn folders(&mut self, server: &Server) -> Result<Folders, String> {
        self.turns += 1;
        let name = format!("{}-{}", server.name, self.turns);
        let above = match &server.cache_above {
            Some(folder) => folder.as_path(),
            None if server.cache_in_memory => self.memory.path(),
            None => self.disk.path(),
        };
        let folders = Folders {
            dir: self.disk.path().join(&name),
            // In a folder that is not ours alone no other process has this name.
            cache: above.join(format!("{name}-cache-{}", std::process::id())),
        };
        for folder in [&folders.dir, &folders.cache] {
            fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(folders)
    }

    /// What the placeholders stand for in a start of `server`.
    pub(crate) fn values(
        &self,
        server: &Server,
        folders: &Folders,
        common: &Common,
        port: u16,
        origin: SocketAddr,
        body_bytes: u64,
    ) -> Vec<(&'static str, String)> {
        let one = common.workers <= 1;
        let mib = common.memory_bytes >> 20;
        // Four times the set: stores in slots take up to twice as much as they hold, and throw things out before they are full.
        let disk_mib = (mib * 2).max(common.set_bytes.div_ceil(1 << 18)).max(1024);
        vec![
            ("{port}", port.to_string()),
            ("{origin}", origin.to_string()),
            ("{origin_host}", origin.ip().to_string()),
            ("{origin_port}", origin.port().to_string()),
            ("{root}", self.root().display().to_string()),
            ("{dir}", folders.dir.display().to_string()),
            ("{cache}", folders.cache.display().to_string()),
            ("{cores}", common.workers.to_string()),
            ("{memory_mib}", mib.to_string()),
            ("{memory_bytes}", common.memory_bytes.to_string()),
            ("{disk_mib}", disk_mib.to_string()),
            ("{descriptors}", common.descriptors.to_string()),
            ("{connections}", common.connections.to_string()),
            ("{body_bytes}", body_bytes.to_string()),
            ("{user}", user(server)),
            ("{unique}", format!("forebay{port}")),
            ("{modules}", "/usr/lib/apache2/modules".into()),
            ("{apache_threads}", (256 * common.workers).to_string()),
            (
                "{further_processes}",
                if one { 0 } else { common.workers }.to_string(),
            ),
            (
                "{squid_mode}",
                if one { "-N" } else { "--foreground" }.into(),
            ),
            (
                "{squid_process}",
                if one { "0" } else { "${process_number}" }.into(),
            ),
        ]
    }
}

/// The account a server changes to; ours when we are not root.
fn user(server: &Server) -> String {
    match server.account {
        Some(account) if rustix::process::geteuid().is_root() => account.into(),
        _ => std::env::var("USER").unwrap_or_else(|_| "root".into()),
    }
}

/// Gives the folders to the account that `server` changes to.
///
/// # Errors
/// When there is no such account.
pub(crate) fn hand_over(server: &Server, folders: &Folders) -> Result<(), String> {
    let Some(account) = server
        .account
        .filter(|_| rustix::process::geteuid().is_root())
    else {
        return Ok(());
    };
    let passwd = fs::read_to_string("/etc/passwd").map_err(|e| format!("/etc/passwd: {e}"))?;
    let (uid, gid) =
        find_account(&passwd, account).ok_or_else(|| format!("there is no account {account}"))?;
    give(&folders.dir, uid, gid)
        .and_then(|()| give(&folders.cache, uid, gid))
        .map_err(|e| format!("{}: {e}", folders.dir.display()))
}

fn find_account(passwd: &str, account: &str) -> Option<(u32, u32)> {
    let line = passwd
        .lines()
        .find(|l| l.split(':').next() == Some(account))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn give(path: &Path, uid: u32, gid: u32) -> std::io::Result<()> {
    chown(path, Some(uid), Some(gid))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), uid, gid)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_placeholder_that_is_promised_has_a_value_and_the_other_way_round() {
        let mut place = Place::new().unwrap();
        let servers = crate::servers::built_in();
        let server = servers.first().unwrap();
        let folders = place.folders(server).unwrap();
        let origin = SocketAddr::from(([127, 0, 0, 1], 9));
        let values = place.values(server, &folders, &Common::default(), 1, origin, 1);
        let names: Vec<_> = values.iter().map(|(n, _)| *n).collect();
        assert_eq!(names, PLACEHOLDERS.map(|(n, _)| n));
    }

    #[test]
    fn built_in_servers_use_no_placeholder_that_stands_for_nothing() {
        for server in crate::servers::built_in() {
            let texts = server
                .files
                .iter()
                .map(|f| &f.text)
                .chain(&server.arguments)
                .chain(server.prepare.iter().flatten());
            for text in texts {
                assert_eq!(unknown_placeholder(text), None, "{}", server.name);
            }
        }
    }

    #[test]
    fn folders_go_with_their_guard() {
        let mut place = Place::new().unwrap();
        let servers = crate::servers::built_in();
        let folders = place.folders(servers.first().unwrap()).unwrap();
        let (dir, cache) = (folders.dir.clone(), folders.cache.clone());
        assert!(dir.is_dir() && cache.is_dir());
        drop(folders);
        assert!(!dir.exists() && !cache.exists());
    }

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0::/root:/bin/sh\nproxyd:x:1:2::/:\nproxy:x:13:14::/:\n";
        assert_eq!(find_account(passwd, "proxy"), Some((13, 14)));
        assert_eq!(find_account(passwd, "squid"), None);
    }
}

//! libmemcached's tools on a store of sessions, each in the text and in the binary protocol.

use std::path::Path;
use std::process::Command;

use forebay_tests::{Forebay, Said};

use crate::session_keep::store;

/// How a tool is told which protocol to speak.
const PROTOCOLS: [&[&str]; 2] = [&[], &["--binary"]];

/// A store, and files to copy into it.
struct Bench {
    forebay: Forebay,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let forebay = Forebay::start_text(&store(&directory, settings));
        Self { forebay, directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    /// Runs a tool to its end, among the files.
    #[track_caller]
    fn run(&self, tool: &str, arguments: &[&[&str]]) -> Said {
        let output = Command::new(tool)
            .args(arguments.concat())
            .env("MEMCACHED_SERVERS", self.forebay.sessions[0].1.to_string())
            .current_dir(self.path())
            .output()
            .expect("libmemcached-tools is installed");
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs a tool that must succeed and complain of nothing; what it printed.
    #[track_caller]
    fn ok(&self, tool: &str, arguments: &[&[&str]]) -> String {
        let said = self.run(tool, arguments);
        assert_eq!((said.status, &*said.stderr), (0, ""), "{}", said.stdout);
        said.stdout
    }

    /// Runs a tool that must fail; what it complained of.
    #[track_caller]
    fn fails(&self, tool: &str, arguments: &[&[&str]]) -> String {
        let said = self.run(tool, arguments);
        assert_eq!(said.status, 1, "{} {}", said.stdout, said.stderr);
        said.stderr
    }
}

#[test]
fn files_are_copied_in_shown_and_copied_out() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        let large: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        bench.write("small", "hello");
        bench.write("large", &large);
        bench.write("none", "");
        bench.ok("memccp", &[protocol, &["small", "large", "none"]]);
        assert_eq!(bench.ok("memccat", &[protocol, &["small"]]), "hello\n");
        bench.ok("memccat", &[protocol, &["--file=out", "large"]]);
        assert!(std::fs::read(bench.path().join("out")).unwrap() == large);
        bench.ok("memccat", &[protocol, &["none"]]);
        bench.fails("memccat", &[protocol, &["unknown"]]);
    }
}

#[test]
fn add_replace_and_set_are_told_apart() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        bench.write("file", "one");
        bench.fails("memccp", &[protocol, &["--replace", "file"]]);
        bench.ok("memccp", &[protocol, &["--add", "file"]]);
        bench.write("file", "two");
        let refused = bench.fails("memccp", &[protocol, &["--add", "file"]]);
        let refused = refused.lines().next().unwrap_or_default();
        let expected = match protocol {
            [] => "Error occurred during memcached_add('file'): NOT STORED",
            _ => "Error occurred during memcached_add('file'): CONNECTION DATA EXISTS",
        };
        assert_eq!(refused, expected);
        bench.ok("memccp", &[protocol, &["--replace", "file"]]);
        assert_eq!(bench.ok("memccat", &[protocol, &["file"]]), "two\n");
        bench.write("file", "three");
        bench.ok("memccp", &[protocol, &["--set", "file"]]);
        assert_eq!(bench.ok("memccat", &[protocol, &["file"]]), "three\n");
    }
}

#[test]
fn keys_are_asked_for_touched_listed_removed_and_flushed() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        for name in ["a", "b", "c"] {
            bench.write(name, name);
        }
        bench.ok("memccp", &[protocol, &["a", "b", "c"]]);
        bench.ok("memcexist", &[protocol, &["a"]]);
        bench.fails("memcexist", &[protocol, &["unknown"]]);
        bench.ok("memctouch", &[protocol, &["--expire=1000", "a"]]);
        bench.fails("memctouch", &[protocol, &["--expire=1000", "unknown"]]);
        // It has no binary protocol: there is no command for it.
        let keys = bench.ok("memcdump", &[]);
        let mut keys: Vec<&str> = keys.lines().collect();
        keys.sort_unstable();
        assert_eq!(keys, ["a", "b", "c"]);
        bench.ok("memcrm", &[protocol, &["a", "b"]]);
        bench.fails("memcrm", &[protocol, &["a"]]);
        bench.fails("memcexist", &[protocol, &["b"]]);
        bench.ok("memcexist", &[protocol, &["c"]]);
        bench.ok("memcflush", &[protocol]);
        bench.fails("memcexist", &[protocol, &["c"]]);
        assert_eq!(bench.ok("memcdump", &[]), "");
    }
}

#[test]
fn what_ends_at_once_by_touch_is_gone() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        bench.write("a", "a");
        bench.ok("memccp", &[protocol, &["--expire=1000", "a"]]);
        // The first second of 1970: long ago, and no span of seconds.
        bench.ok("memctouch", &[protocol, &["--expire=2592001", "a"]]);
        bench.fails("memcexist", &[protocol, &["a"]]);
    }
}

#[test]
fn server_is_pinged_and_tells_what_it_counts() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        bench.write("a", "a");
        bench.ok("memcping", &[]);
        bench.ok("memccp", &[protocol, &["a"]]);
        let rows = bench.ok("memcstat", &[protocol]);
        for row in ["\tversion: 1.6.18", "\tcurr_items: 1", "\tcmd_set: 1"] {
            assert!(rows.lines().any(|have| have.trim_end() == row), "{rows}");
        }
        let rows = bench.ok("memcstat", &[protocol, &["settings"]]);
        assert!(rows.contains("maxbytes"), "{rows}");
        let version = bench.run("memcstat", &[protocol, &["--server-version"]]);
        let version = version.stderr.trim_end();
        assert!(version.ends_with(" 1.6.18"), "{version}");
        let report = bench.ok("memcstat", &[protocol, &["--analyze"]]);
        assert!(report.contains("Number of Servers Analyzed"), "{report}");
    }
}

#[test]
fn codes_and_lists_of_servers_are_explained() {
    let bench = Bench::new("");
    assert_eq!(bench.ok("memcerror", &[&["16"]]), "NOT FOUND\n");
    let server = format!("--SERVER={}", bench.forebay.sessions[0].1);
    bench.ok("memcparse", &[&[&server]]);
    bench.fails("memcparse", &[&["--SERVER="]]);
}

#[test]
fn token_is_shown_by_sasl() {
    let bench = Bench::new("token = \"0123456789abcdef\"\nuser = \"shop\"\n");
    bench.write("a", "hello");
    let shop = ["--binary", "--username=shop", "--password=0123456789abcdef"];
    bench.ok("memccp", &[&shop, &["a"]]);
    assert_eq!(bench.ok("memccat", &[&shop, &["a"]]), "hello\n");
    let thief = ["--binary", "--username=shop", "--password=0123456789abcdee"];
    let refused = bench.fails("memccat", &[&thief, &["a"]]);
    assert!(refused.contains("AUTHENTICATION FAILURE"), "{refused}");
    bench.fails("memccat", &[&["--binary", "a"]]);
}

#[test]
fn load_of_the_slappers_is_answered_without_a_wrong_value() {
    for protocol in PROTOCOLS {
        let bench = Bench::new("");
        for test in ["--test=set", "--test=get", "--test=mget"] {
            let few = [test, "--concurrency=4", "--execute-number=100"];
            let said = bench.run("memcslap", &[protocol, &few]);
            assert_eq!(said.status, 0, "{} {}", said.stdout, said.stderr);
        }
        let address = bench.forebay.sessions[0].1.to_string();
        let servers = format!("--servers={address}");
        let few = [
            &servers,
            "--execute_number=4000",
            "--threads=1",
            "--concurrency=8",
            "--verify=1.0",
        ];
        let said = bench.ok("memcaslap", &[protocol, &few]);
        for row in ["get_misses: 0", "verify_misses: 0", "verify_failed: 0"] {
            assert!(said.contains(row), "{row} in {said}");
        }
    }
}

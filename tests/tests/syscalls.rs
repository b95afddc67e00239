//! The path of a hit, counted in system calls: they do not depend on the
//! machine's mood (design: invariant 1).

use std::process::{Child, Command, Stdio};

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::common::eventually;

/// An strace on every thread of a process; stopped when dropped.
struct Trace {
    child: Child,
    file: tempfile::NamedTempFile,
}

impl Trace {
    fn attach(pid: u32) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        let calls = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,futex,epoll_wait,epoll_pwait";
        let child = Command::new("strace")
            .args(["-f", "-q", "-s", "24", "-e", calls, "-o"])
            .arg(file.path())
            .args(["-p", &pid.to_string()])
            .stderr(Stdio::null())
            .spawn()
            .expect("strace is installed");
        Self { child, file }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file.path()).unwrap()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines of calls whose name is one of `names`.
fn calls<'a>(text: &'a str, names: &[&str]) -> Vec<&'a str> {
    let name = |line: &'a str| {
        line.split_once(' ')
            .map(|(_, call)| call.trim().split('(').next().unwrap_or(""))
    };
    text.lines()
        .filter(|line| name(line).is_some_and(|n| names.contains(&n)))
        .collect()
}

#[test]
fn hit_in_steady_state_is_one_read_and_one_write() {
    const COUNT: usize = 200;
    for size in [100, 6 << 10, 75 << 10] {
        let body = "x".repeat(size);
        let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=600"], &body));
        let forebay = Forebay::start(&Config::to(&origin));
        let mut client = forebay.client();
        for _ in 0..50 {
            client.get("/");
        }
        let mut trace = Trace::attach(forebay.pid());
        // Asked until the trace has begun; what comes before the mark belongs to attaching.
        let mut permitted = true;
        eventually(|| {
            client.get("/mark-one");
            permitted = !matches!(trace.child.try_wait(), Ok(Some(_)));
            !permitted || trace.text().contains("GET /mark-one")
        });
        if !permitted {
            eprintln!(
                "\n*** NOT TESTED: strace may not attach to a process here; the system calls of a hit are not counted ***\n"
            );
            return;
        }
        for _ in 0..COUNT {
            assert!(client.get("/").is_hit());
        }
        client.get("/mark-two");
        eventually(|| trace.text().contains("GET /mark-two"));
        let text = trace.text();
        let from = text.rfind("GET /mark-one").unwrap();
        let to = text.find("GET /mark-two").unwrap();
        let between = &text[from..to];
        let requests = between.matches("\"GET / HTTP/1.1").count();
        assert_eq!(requests, COUNT, "the trace lost some");
        let reads = calls(between, &["read", "readv", "recvfrom", "recvmsg"]);
        // Timers wake their event loop by a write to itself, as often as time passes.
        let mut writes = calls(between, &["write", "writev", "sendto", "sendmsg"]);
        writes.retain(|line| !line.contains(r#""\1\0\0\0\0\0\0\0", 8)"#));
        // The exchange of the first mark, which is no hit, is among them.
        let slack = 12;
        assert!(
            reads.len() <= COUNT + slack,
            "{} reads for {COUNT} hits of {size} bytes: {:#?}",
            reads.len(),
            tail(&reads)
        );
        assert!(
            writes.len() <= COUNT + slack,
            "{} writes for {COUNT} hits of {size} bytes: {:#?}",
            writes.len(),
            tail(&writes)
        );
        let locks = calls(between, &["futex"]);
        assert!(
            locks.len() <= slack,
            "{} waits for a lock: {:#?}",
            locks.len(),
            tail(&locks)
        );
    }
}

fn tail<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines[lines.len().saturating_sub(6)..].to_vec()
}

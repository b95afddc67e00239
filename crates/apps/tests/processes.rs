//! The supervisor with real processes and a pool that only takes notes.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forebay_apps::{AppStatus, Apps, InstanceState, Queue, ServerLoad, Servers, Surroundings};
use forebay_config::settings::{App, ServerAddress};

/// A program that listens on the socket it is told, in so many forms.
const LISTEN: &str = r#"
import os, signal, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(os.environ["SOCKET"]); s.listen(8)
print("listening", os.environ["INSTANCE"], os.environ.get("COLOUR", ""), flush=True)
"#;

#[derive(Default)]
struct Notes {
    loads: Mutex<BTreeMap<String, ServerLoad>>,
    queue: Mutex<Queue>,
    said: Mutex<Vec<String>>,
}

impl Servers for Notes {
    fn add(&self, pool: &str, address: &ServerAddress) -> Result<(), String> {
        assert_eq!(pool, "shop");
        self.say("add", address);
        self.loads
            .lock()
            .unwrap()
            .insert(address.to_string(), ServerLoad::default());
        Ok(())
    }

    fn drain(&self, _: &str, address: &ServerAddress) {
        self.say("drain", address);
    }

    fn remove(&self, _: &str, address: &ServerAddress) {
        if self
            .loads
            .lock()
            .unwrap()
            .remove(&address.to_string())
            .is_some()
        {
            self.say("remove", address);
        }
    }

    fn load(&self, _: &str, address: &ServerAddress) -> Option<ServerLoad> {
        self.loads
            .lock()
            .unwrap()
            .get(&address.to_string())
            .copied()
    }

    fn queue(&self, _: &str) -> Queue {
        *self.queue.lock().unwrap()
    }
}

impl Notes {
    fn say(&self, what: &str, address: &ServerAddress) {
        let text = address.to_string();
        // `…/shop-1/socket`
        let instance = text.rsplit('/').nth(1).unwrap_or(&text).to_owned();
        self.said.lock().unwrap().push(format!("{what} {instance}"));
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    fn set_load(&self, instance: &str, load: ServerLoad) {
        let mut loads = self.loads.lock().unwrap();
        let of = loads
            .iter_mut()
            .find(|(address, _)| address.contains(instance));
        *of.unwrap().1 = load;
    }
}

/// An application that runs `script` in Python behind [`LISTEN`].
fn python(script: &str) -> App {
    App {
        command: vec!["python3".into(), "-c".into(), format!("{LISTEN}{script}")],
        environment: [("BIND".into(), "{socket}".into())].into(),
        start_timeout: Duration::from_secs(20),
        stop_timeout: Duration::from_secs(5),
        backoff: Duration::from_millis(50),
        ..App::default()
    }
}

fn serving() -> App {
    python("time.sleep(600)")
}

fn start(app: App) -> (Apps, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let surroundings = Surroundings {
        program: env!("CARGO_BIN_EXE_guarded").into(),
        open_files: Some(256),
    };
    let apps = BTreeMap::from([("shop".to_owned(), app)]);
    let servers: Arc<dyn Servers> = Arc::<Notes>::clone(&notes);
    (Apps::start(apps, servers, surroundings).unwrap(), notes)
}

#[track_caller]
fn until(what: &str, mut wanted: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !wanted() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn shop(apps: &Apps) -> AppStatus {
    apps.status().into_iter().next().unwrap_or(AppStatus {
        name: String::new(),
        wanted: 0,
        bounds: (0, 0),
        restarts: 0,
        failures: 0,
        instances: Vec::new(),
    })
}

fn ready(apps: &Apps) -> usize {
    let shop = shop(apps);
    shop.instances
        .iter()
        .filter(|one| one.state == InstanceState::Ready)
        .count()
}

fn pids(apps: &Apps) -> Vec<u32> {
    shop(apps)
        .instances
        .iter()
        .filter_map(|one| one.pid)
        .collect()
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is only a number that nobody has asked for yet.
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn processes_become_servers_and_end_with_the_supervisor() {
    let (apps, notes) = start(App {
        instances: (2, 2),
        ..serving()
    });
    until("two are ready", || ready(&apps) == 2);
    let pids = pids(&apps);
    assert!(pids.len() == 2 && pids.iter().all(|&pid| lives(pid)));
    apps.stop();
    assert!(!pids.iter().any(|&pid| lives(pid)));
    let mut said = notes.said();
    said.sort();
    assert_eq!(said, ["add shop-1", "add shop-2"]);
}

#[test]
fn one_that_is_killed_is_replaced_at_once_and_taken_out_of_the_pool() {
    let (apps, notes) = start(serving());
    until("it is ready", || ready(&apps) == 1);
    let before = pids(&apps)[0];
    kill(before, 9);
    until("another one is ready", || {
        ready(&apps) == 1 && pids(&apps)[0] != before
    });
    assert_eq!(notes.said()[..2], ["add shop-1", "remove shop-1"]);
    assert_eq!((shop(&apps).restarts, shop(&apps).failures), (1, 1));
    apps.stop();
}

#[test]
fn one_that_dies_at_once_is_tried_again_with_growing_pauses() {
    let app = App {
        backoff: Duration::from_millis(20),
        ..python("sys.exit(3)")
    };
    let (apps, notes) = start(App {
        command: vec!["false".into()],
        ..app
    });
    until("it failed four times", || shop(&apps).failures >= 4);
    assert!(notes.said().is_empty());
    apps.stop();
}

#[test]
fn a_program_that_does_not_exist_fails_in_the_same_way() {
    let (apps, _) = start(App {
        command: vec!["/nonexistent/puma".into()],
        ..serving()
    });
    until("it failed twice", || shop(&apps).failures >= 2);
    apps.stop();
}

#[test]
fn one_that_is_never_ready_is_ended() {
    let app = App {
        command: vec!["sleep".into(), "600".into()],
        start_timeout: Duration::from_millis(100),
        ..serving()
    };
    let (apps, _) = start(app);
    until("it is known", || !pids(&apps).is_empty());
    let first = pids(&apps)[0];
    until("it was ended", || !lives(first));
    until("it is counted", || shop(&apps).restarts >= 1);
    apps.stop();
}

#[test]
fn one_that_ignores_sigterm_is_killed_with_its_children() {
    let app = python(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0: os.setsid()\ntime.sleep(600)",
    );
    let (apps, _) = start(App {
        stop_timeout: Duration::from_millis(200),
        ..app
    });
    until("it is ready", || ready(&apps) == 1);
    let pid = pids(&apps)[0];
    until("it has a child", || !children(pid).is_empty());
    let child = children(pid)[0];
    apps.stop();
    assert!(!lives(pid) && !lives(child));
}

#[test]
fn what_a_dead_process_leaves_behind_is_ended() {
    let script = "child = os.fork()\nif child == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(600)\n  os._exit(0)\nos.wait()\ntime.sleep(600)";
    let (apps, _) = start(python(script));
    until("it is ready", || ready(&apps) == 1);
    let pid = pids(&apps)[0];
    let guard = parent(pid);
    // The daemon's parent ended, so that it belongs to the guard now.
    until("a daemon has detached itself", || {
        children(guard).len() == 2
    });
    let daemon = *children(guard).iter().find(|&&one| one != pid).unwrap();
    kill(pid, 9);
    until("the daemon is ended", || !lives(daemon));
    apps.stop();
}

#[test]
fn a_killed_guard_takes_the_application_along() {
    let (apps, _) = start(python("os.fork()\ntime.sleep(600)"));
    until("it is ready", || ready(&apps) == 1);
    let pid = pids(&apps)[0];
    until("it has a child", || !children(pid).is_empty());
    let child = children(pid)[0];
    kill(parent(pid), 9);
    until("both are ended", || !lives(pid) && !lives(child));
    until("another one is ready", || ready(&apps) == 1);
    apps.stop();
}

#[test]
fn other_settings_replace_processes_one_by_one_and_never_with_less() {
    let (apps, notes) = start(App {
        instances: (2, 2),
        ..serving()
    });
    until("two are ready", || ready(&apps) == 2);
    let before = pids(&apps);
    let mut other = App {
        instances: (2, 2),
        ..serving()
    };
    other.environment.insert("COLOUR".into(), "green".into());
    apps.reload([("shop".to_owned(), other)].into());
    until("both are replaced", || {
        assert!(notes.loads.lock().unwrap().len() >= 2, "{:?}", notes.said());
        let now = pids(&apps);
        now.len() == 2 && ready(&apps) == 2 && now.iter().all(|pid| !before.contains(pid))
    });
    let said = notes.said();
    let order: Vec<&str> = said[2..]
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        order,
        ["add", "drain", "remove", "add", "drain", "remove"],
        "{said:?}"
    );
    apps.stop();
}

#[test]
fn a_replaced_process_ends_only_when_it_has_nothing_to_do() {
    let (apps, notes) = start(serving());
    until("it is ready", || ready(&apps) == 1);
    let old = pids(&apps)[0];
    notes.set_load(
        "shop-1",
        ServerLoad {
            active: 1,
            requests: 1,
        },
    );
    assert!(apps.replace("shop") && !apps.replace("other"));
    until("it is drained", || {
        notes.said().contains(&"drain shop-1".to_owned())
    });
    assert!(lives(old));
    assert!(!notes.said().contains(&"remove shop-1".to_owned()));
    notes.set_load(
        "shop-1",
        ServerLoad {
            active: 0,
            requests: 1,
        },
    );
    until("it is ended", || !lives(old));
    apps.stop();
}

#[test]
fn a_waiting_queue_adds_processes_and_silence_removes_them() {
    let app = App {
        instances: (1, 3),
        max_connections: Some(1),
        queue_time: Duration::from_millis(10),
        idle_timeout: Duration::from_millis(300),
        ..serving()
    };
    let (apps, notes) = start(app);
    until("one is ready", || ready(&apps) == 1);
    *notes.queue.lock().unwrap() = Queue {
        waiting: 5,
        longest: Duration::from_millis(50),
    };
    until("three are ready", || ready(&apps) == 3);
    *notes.queue.lock().unwrap() = Queue::default();
    until("one is left", || shop(&apps).instances.len() == 1);
    assert_eq!(ready(&apps), 1);
    apps.stop();
}

#[test]
fn an_application_may_have_no_process_until_somebody_waits() {
    let (apps, notes) = start(App {
        instances: (0, 1),
        ..serving()
    });
    until("it is known", || shop(&apps).name == "shop");
    assert_eq!(shop(&apps).instances.len(), 0);
    *notes.queue.lock().unwrap() = Queue {
        waiting: 1,
        longest: Duration::from_secs(1),
    };
    until("one is ready", || ready(&apps) == 1);
    apps.stop();
}

#[test]
fn too_much_memory_and_enough_requests_replace_a_process() {
    let hungry = python("hoard = b'x' * (200 << 20)\ntime.sleep(600)");
    let (apps, notes) = start(App {
        memory: Some(100 << 20),
        ..hungry
    });
    until("it is replaced", || {
        notes.said().contains(&"remove shop-1".to_owned())
    });
    apps.stop();
    let (apps, notes) = start(App {
        max_requests: Some(100),
        ..serving()
    });
    until("it is ready", || ready(&apps) == 1);
    notes.set_load(
        "shop-1",
        ServerLoad {
            active: 0,
            requests: 100,
        },
    );
    until("it is replaced", || {
        notes.said().contains(&"remove shop-1".to_owned())
    });
    until("another one is ready", || ready(&apps) == 1);
    apps.stop();
}

#[test]
fn an_application_that_is_not_in_the_configuration_any_more_ends() {
    let (apps, notes) = start(serving());
    until("it is ready", || ready(&apps) == 1);
    let pid = pids(&apps)[0];
    apps.reload(BTreeMap::new());
    until("it is ended", || !lives(pid) && apps.status().is_empty());
    assert_eq!(
        notes.said(),
        ["add shop-1", "drain shop-1", "remove shop-1"]
    );
    apps.stop();
}

/// A guard by itself, whose other end is in this process's hands.
fn guard(script: &str) -> (Child, UnixStream) {
    let (lifeline, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_guarded"))
        .args([
            "app-guard",
            "--stop-timeout-ms",
            "300",
            "--",
            "sh",
            "-c",
            script,
        ])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, lifeline)
}

#[test]
fn nothing_survives_the_end_of_the_lifeline() {
    let (mut child, lifeline) =
        guard("trap '' TERM; sleep 600 & setsid sleep 600 & wait; sleep 600");
    until("three processes run", || {
        let shell = children(child.id());
        shell
            .first()
            .is_some_and(|&shell| children(shell).len() == 2)
    });
    let shell = children(child.id())[0];
    let all: Vec<u32> = std::iter::once(shell).chain(children(shell)).collect();
    drop(lifeline);
    child.wait().unwrap();
    assert!(!all.iter().any(|&pid| lives(pid)));
}

#[test]
fn a_guard_ends_with_the_status_of_the_application() {
    let (mut child, mut lifeline) = guard("exit 7");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let mut said = String::new();
    lifeline.read_to_string(&mut said).unwrap();
    assert!(
        said.starts_with("pid ") && said.ends_with("\nexit 7\n"),
        "{said}"
    );
    let (mut child, _lifeline) = guard("kill -9 $$");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
}

fn kill(pid: u32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn parent(pid: u32) -> u32 {
    parent_of(pid).unwrap()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn children(parent: u32) -> Vec<u32> {
    let names = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent_of(pid) == Some(parent) && lives(pid))
        .collect()
}

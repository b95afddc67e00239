//! The step between guard and application: takes the user, the groups and the limits that the
//! application gets, and becomes it. A process of its own, because the guard stays what it is:
//! it must be able to end the application.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Gid, Resource, Rlimit, Signal, Uid, getrlimit, setrlimit};
use rustix::process::{getppid, set_parent_process_death_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::{Order, RunAs};

/// Variables that are between Forebay and those who started it.
const OURS: &[&str] = &[
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "FOREBAY_TOKEN",
];

/// Becomes the application; returns only when that fails, with a shell's statuses: 127 for a
/// program that is not there, 126 for one that cannot be run.
pub(super) fn become_application(order: Order) -> ExitCode {
    let Some((program, arguments)) = order.command.split_first() else {
        return ExitCode::from(126);
    };
    let name = program.to_string_lossy();
    if let Err(error) = prepare(&order) {
        eprintln!("forebay: {name} is not started: {error}");
        return ExitCode::from(126);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    OURS.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    let error = command.exec();
    eprintln!("forebay: {name} cannot be run: {error}");
    ExitCode::from(match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    })
}

fn prepare(order: &Order) -> Result<(), String> {
    if let Some(files) = order.open_files {
        let now = getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: Some(files),
            ..now
        };
        setrlimit(Resource::Nofile, limit)
            .map_err(|error| format!("its limit on open files cannot be set: {error}"))?;
    }
    if let Some(run_as) = &order.run_as {
        take(run_as).map_err(|error| format!("it cannot run as user {}: {error}", run_as.user))?;
    }
    // After the change of user, which would undo it. The guard may be gone already.
    let guard = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("it cannot be tied to its guard: {error}"))?;
    if getppid() != guard || guard.is_none_or(|pid| pid.is_init()) {
        return Err("its guard is gone".into());
    }
    Ok(())
}

/// There is one thread, so what is the thread's is the process's.
fn take(run_as: &RunAs) -> rustix::io::Result<()> {
    let groups: Vec<Gid> = run_as
        .groups
        .iter()
        .map(|&group| Gid::from_raw(group))
        .collect();
    let (group, user) = (Gid::from_raw(run_as.group), Uid::from_raw(run_as.user));
    set_thread_groups(&groups)?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

//! Starts one application process, behind its guard.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use forebay_config::settings::App;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::unix::pipe;

use crate::guard::{GUARD, Order};
use crate::place::Place;
use crate::user::User;

/// What application processes get of what Forebay has.
#[derive(Clone, Debug)]
pub(crate) struct Inheritance {
    /// This program, which is the guard as well.
    pub(crate) program: PathBuf,
    /// The soft limit on open files before Forebay raised it: programs that close every number
    /// up to the limit, or use select(2), suffer from a high one.
    pub(crate) open_files: Option<u64>,
}

/// A guard that was started, and the ends of its pipes.
#[derive(Debug)]
pub(crate) struct Launched {
    /// The guard.
    pub(crate) guard: Guarded,
    /// What it reports.
    pub(crate) reports: tokio::net::UnixStream,
    /// What the application prints.
    pub(crate) stdout: pipe::Receiver,
    /// Likewise.
    pub(crate) stderr: pipe::Receiver,
}

/// A guard as a child of ours. Its end is asked for once, after its reports have ended.
#[derive(Debug)]
pub(crate) struct Guarded(Child);

impl Guarded {
    /// Its process id.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Tells it to end the application and itself.
    pub(crate) fn stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it at once, when it did not obey; the system then ends the application.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // Until it was waited for, its number is its own, also when it has ended.
        let _ = kill_process(self.pid(), signal);
    }

    /// Asks for its status, so that it is forgotten by the system. Its reports have ended, so it
    /// has ended or is about to.
    pub(crate) fn forget(mut self) {
        let _ = self.0.wait();
    }
}

/// Starts `app`'s process number `instance` at `place`. Called within a tokio runtime.
///
/// # Errors
/// When the guard cannot be started. That the application itself cannot be is known later: the
/// guard ends with status 126 or 127.
pub(crate) fn launch(
    app: &App,
    instance: u32,
    place: &Place,
    user: Option<&User>,
    inheritance: &Inheritance,
) -> io::Result<Launched> {
    let order = Order {
        stop_timeout: app.stop_timeout,
        run_as: user.map(|user| user.run_as.clone()),
        open_files: inheritance.open_files,
        listen: match place {
            Place::Stdin(path) => Some(path.clone()),
            Place::Socket(_) | Place::Port(_) => None,
        },
        command: place
            .command(app, instance)
            .into_iter()
            .map(Into::into)
            .collect(),
    };
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&inheritance.program);
    command
        .arg(GUARD)
        .args(order.arguments())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(user) = user {
        command
            .env("HOME", &user.home)
            .env("USER", &user.name)
            .env("LOGNAME", &user.name);
    }
    command.envs(place.environment(app, instance));
    if let Some(directory) = &app.directory {
        command.current_dir(existing(directory)?);
    }
    let mut child = command.spawn()?;
    ours.set_nonblocking(true)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pipe = |end: Option<OwnedFd>| {
        end.ok_or_else(|| io::Error::other("a pipe is missing"))
            .and_then(pipe::Receiver::from_owned_fd)
    };
    Ok(Launched {
        reports: tokio::net::UnixStream::from_std(ours)?,
        stdout: pipe(stdout.map(Into::into))?,
        stderr: pipe(stderr.map(Into::into))?,
        guard: Guarded(child),
    })
}

/// std's error for a directory that is missing reads as if the program was.
fn existing(directory: &Path) -> io::Result<&Path> {
    let told = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("its directory {}: {error}", directory.display()),
        )
    };
    match std::fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => Ok(directory),
        Ok(_) => Err(told(io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(told(error)),
    }
}

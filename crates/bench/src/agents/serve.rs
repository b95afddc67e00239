//! The agent's side: `forebay bench agent`.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forebay_engine::Running;

use super::{Order, VERSION, Word, wire};
use crate::args::AgentArgs;
use crate::files::Files;
use crate::job::Job;
use crate::observe;
use crate::rung::{Rung, Share};

/// How long a leader may take for its first words.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for leaders, one at a time.
///
/// # Errors
/// When the address cannot be had.
pub(crate) fn serve(args: &AgentArgs) -> Result<(), String> {
    let listener = TcpListener::bind(args.listen)
        .map_err(|error| format!("the agent cannot listen on {}: {error}", args.listen))?;
    let address = listener
        .local_addr()
        .map_err(|error| format!("the agent cannot listen: {error}"))?;
    println!("agent on {address}");
    if args.secret.is_none() && !address.ip().is_loopback() {
        eprintln!(
            "forebay: whoever reaches {address} can send load from here; --secret limits that"
        );
    }
    loop {
        let (stream, leader) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("forebay: a leader was not accepted: {error}");
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        eprintln!("forebay: {leader} leads");
        match attend(stream, args.secret.as_deref()) {
            Ok(()) => eprintln!("forebay: {leader} is done"),
            Err(error) => eprintln!("forebay: {leader}: {error}"),
        }
        if args.once {
            return Ok(());
        }
    }
}

/// Follows one leader until it leaves.
fn attend(stream: TcpStream, secret: Option<&str>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mouth = Mouth(Arc::new(Mutex::new(stream)));
    match wire::read(&mut reader)? {
        Order::Hello { version, .. } if version != VERSION => {
            return mouth.say(&Word::Refused("its version of forebay is another".into()));
        }
        Order::Hello { secret: given, .. } if given.as_deref() != secret => {
            return mouth.say(&Word::Refused("the secret is not right".into()));
        }
        Order::Hello { .. } => {}
        _ => return mouth.say(&Word::Refused("no greeting".into())),
    }
    mouth.say(&Word::Ready(observe::machine()))?;
    let job = match wire::read(&mut reader)? {
        Order::Job { options, files } => prepare(&options, files),
        _ => Err("no job".into()),
    };
    let job = match job {
        Ok(job) => job,
        Err(why) => return mouth.say(&Word::Refused(why)),
    };
    mouth.say(&Word::Prepared)?;
    mouth.set_read_timeout(None)?;
    let mut stop = Arc::new(AtomicBool::new(false));
    loop {
        // A leader that goes away ends the load as well.
        let order = wire::read(&mut reader);
        if !matches!(order, Ok(Order::Stop)) || order.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        match order {
            Ok(Order::Start { rung, share }) => match begin(&job, &rung, share) {
                Ok(running) => {
                    stop = running.stopper();
                    pass_on(running, mouth.clone());
                }
                Err(error) => mouth.say(&Word::Refused(error.to_string()))?,
            },
            Ok(Order::Stop) => stop.store(true, Ordering::Relaxed),
            Ok(_) => return mouth.say(&Word::Refused("not now".into())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn prepare(options: &[String], files: BTreeMap<String, String>) -> Result<Job, String> {
    let mut decoded = BTreeMap::new();
    for (name, bytes) in files {
        let bytes = STANDARD
            .decode(bytes)
            .map_err(|error| format!("{name}: {error}"))?;
        decoded.insert(name, bytes);
    }
    let job = Job::of_options(options, &Files::sent(decoded))?;
    let most = job.shape.connections.iter().copied().max().unwrap_or(1);
    let shortage = crate::limits::missing_core(&job.shape.cores)
        .or_else(|| crate::limits::raise_open_files(most));
    match shortage {
        Some(shortage) => Err(shortage),
        None => Ok(job),
    }
}

fn begin(job: &Job, rung: &Rung, share: Share) -> io::Result<Running> {
    let plan = rung.plan(&job.shape, &job.work, job.times.as_ref(), share);
    job.work.start(&plan)
}

/// The agent's side of the connection, shared by those who have something to say.
#[derive(Clone)]
struct Mouth(Arc<Mutex<TcpStream>>);

impl Mouth {
    fn say(&self, word: &Word) -> io::Result<()> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wire::write(&stream, word)
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.set_read_timeout(timeout)
    }
}

/// Passes on what the threads measure.
fn pass_on(running: Running, mouth: Mouth) {
    use std::sync::mpsc::RecvTimeoutError;
    let pass = move || {
        loop {
            let word = match running.intervals.recv_timeout(Duration::from_secs(1)) {
                Ok(interval) => Word::Interval(Box::new(interval)),
                Err(RecvTimeoutError::Timeout) => Word::Alive,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if mouth.say(&word).is_err() {
                return;
            }
        }
        let _ = mouth.say(&Word::Ended);
    };
    // Without this thread the leader hears nothing and takes the agent for lost.
    let _ = std::thread::Builder::new()
        .name("report".into())
        .spawn(pass);
}

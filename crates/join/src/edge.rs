//! One edge: joined, kept supplied with connections, joined again when it was away.
//!
//! ```text
//!  local server accepts ─▶ control connection ─▶ as many connections as the edge says
//!        ▲                     │ lost: a pause, doubled each time
//!        └── it does not any more: leave, look until it does
//! ```

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use forebay_stream::Stream;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::Join;
use crate::address::EdgeAddress;
use crate::connection::{self, Ended, Refused, Upgraded};
use crate::pause::Pause;
use crate::protocol::{FromEdge, FromServer, Lines, PING_SECONDS, Role};
use crate::relay::Scratch;

/// Without a word of the edge for so long, it is gone.
const SILENCE: Duration = Duration::from_secs(3 * PING_SECONDS);
/// How often it is looked whether the local server is there.
const LOOK: Duration = Duration::from_millis(250);
/// After the edge refused a connection for requests, no more are opened for so long.
const REFUSED: Duration = Duration::from_millis(500);
/// Requests under way when we leave have so long.
const LEAVING: Duration = Duration::from_secs(60);
/// Connections that are being opened at once.
const OPENING: usize = 32;

/// One edge.
pub(crate) struct Edge {
    address: Rc<EdgeAddress>,
    join: Rc<Join>,
    leave: watch::Receiver<bool>,
    scratch: Scratch,
    pause: Pause,
    /// The failure that the log has.
    told: Option<String>,
}

/// Why a session with an edge ended.
enum Over {
    /// We are asked to leave, and have.
    Left,
    /// The local server is gone.
    LocalGone,
    /// The control connection is lost.
    Lost(io::Error),
}

impl Edge {
    pub(crate) fn new(address: &EdgeAddress, join: Rc<Join>, leave: watch::Receiver<bool>) -> Self {
        Self {
            address: Rc::new(address.clone()),
            join,
            leave,
            scratch: Scratch::default(),
            pause: Pause::default(),
            told: None,
        }
    }

    /// Joins until it is time to leave.
    pub(crate) async fn run(mut self) {
        let mut leave = self.leave.clone();
        loop {
            tokio::select! {
                () = self.local_is_there() => {}
                _ = leave.wait_for(|leave| *leave) => return,
            }
            let joined = tokio::select! {
                joined = connection::upgrade(&self.address, &self.join, Role::Control) => joined,
                _ = leave.wait_for(|leave| *leave) => return,
            };
            match joined {
                Ok(control) => {
                    self.pause.forget();
                    self.told = None;
                    tracing::info!("edge {}: joined pool {:?}", self.address, self.join.pool);
                    let session = Session::new(&self, control);
                    match session.run().await {
                        Over::Left => return tracing::info!("edge {}: left", self.address),
                        Over::LocalGone => continue,
                        Over::Lost(error) => {
                            tracing::warn!(
                                "edge {}: the connection is lost: {error}",
                                self.address
                            );
                        }
                    }
                }
                Err(refused) => self.tell(&refused),
            }
            let pause = self.pause.after_failure(fastrand::f64());
            tokio::select! {
                () = sleep(pause) => {}
                _ = leave.wait_for(|leave| *leave) => return,
            }
        }
    }

    /// The same failure again and again is one line of the log.
    fn tell(&mut self, refused: &Refused) {
        let text = refused.to_string();
        if self.told.as_ref() != Some(&text) {
            tracing::error!("edge {}: {text}; it is tried again and again", self.address);
            self.told = Some(text);
        }
    }

    async fn local_is_there(&mut self) {
        let local = &self.join.local;
        let mut told = false;
        while let Err(error) = local.connect().await {
            if !told {
                tracing::warn!("{local} does not accept connections ({error}); waiting for it");
                told = true;
            }
            sleep(LOOK).await;
        }
        if told {
            tracing::info!("{local} accepts connections");
        }
    }
}

/// One control connection, with the connections for requests that belong to it.
struct Session<'a> {
    edge: &'a Edge,
    control: Stream,
    lines: Lines,
    wanted: usize,
    /// Connections for requests, from the attempt on.
    open: usize,
    opening: Rc<Cell<usize>>,
    not_before: Option<Instant>,
    heard: Instant,
    /// We have said that we leave, and why.
    leaving: Option<Over>,
    leave_by: Option<Instant>,
    ended: mpsc::UnboundedReceiver<Ended>,
    ending: mpsc::UnboundedSender<Ended>,
}

impl<'a> Session<'a> {
    fn new(edge: &'a Edge, control: Upgraded) -> Self {
        let (ending, ended) = mpsc::unbounded_channel();
        let mut session = Self {
            edge,
            control: control.stream,
            lines: Lines::default(),
            wanted: 0,
            open: 0,
            opening: Rc::default(),
            not_before: None,
            heard: Instant::now(),
            leaving: None,
            leave_by: None,
            ended,
            ending,
        };
        session.hear(&control.read);
        session
    }

    async fn run(mut self) -> Over {
        let mut leave = self.edge.leave.clone();
        let mut buffer = [0; 512];
        loop {
            self.open_more();
            if self.open == 0
                && let Some(over) = self.leaving.take()
            {
                return over;
            }
            let silent_at = self.leave_by.unwrap_or(self.heard + SILENCE);
            let open_at = self.not_before.unwrap_or(silent_at);
            tokio::select! {
                read = self.control.read(&mut buffer) => {
                    let heard = match read {
                        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(read) => self.answer(&buffer[..read]).await,
                        Err(error) => Err(error),
                    };
                    if let Err(error) = heard {
                        return self.leaving.take().unwrap_or(Over::Lost(error));
                    }
                }
                Some(ended) = self.ended.recv() => self.one_ended(ended).await,
                _ = leave.wait_for(|leave| *leave), if self.leaving.is_none() => {
                    self.say_leaving(Over::Left).await;
                }
                () = sleep_until(open_at), if self.not_before.is_some() => self.not_before = None,
                () = sleep_until(silent_at) => {
                    return self.leaving.take().unwrap_or(Over::Lost(io::ErrorKind::TimedOut.into()));
                }
            }
        }
    }

    /// Takes lines of the edge; true: it wants to know whether we are there.
    fn hear(&mut self, read: &[u8]) -> (bool, bool) {
        self.heard = Instant::now();
        let (wanted, most, mut pinged) = (&mut self.wanted, self.edge.join.most, false);
        let good = self.lines.take(read, |line| match FromEdge::read(line) {
            Some(FromEdge::Connections(number)) => *wanted = number.min(most),
            Some(FromEdge::Ping) => pinged = true,
            // A later edge may say more.
            None => {}
        });
        (good, pinged)
    }

    async fn answer(&mut self, read: &[u8]) -> io::Result<()> {
        match self.hear(read) {
            (false, _) => Err(io::ErrorKind::InvalidData.into()),
            (true, true) => {
                self.control
                    .write_all(FromServer::Pong.line().as_bytes())
                    .await
            }
            (true, false) => Ok(()),
        }
    }

    fn open_more(&mut self) {
        if self.leaving.is_some() || self.not_before.is_some() {
            return;
        }
        while self.open < self.wanted && self.opening.get() < OPENING {
            self.open += 1;
            self.opening.set(self.opening.get() + 1);
            let (edge, join) = (Rc::clone(&self.edge.address), Rc::clone(&self.edge.join));
            let (scratch, opening) = (self.edge.scratch.clone(), Rc::clone(&self.opening));
            let ending = self.ending.clone();
            spawn_local(async move {
                let counted = Cell::new(true);
                let opened = || {
                    if counted.take() {
                        opening.set(opening.get() - 1);
                    }
                };
                let ended = connection::carry(edge, join, scratch, opened).await;
                opened();
                // A session that is over does not count any more.
                let _ = ending.send(ended);
            });
        }
    }

    async fn one_ended(&mut self, ended: Ended) {
        self.open = self.open.saturating_sub(1);
        match ended {
            Ended::Closed { used: true } => {}
            // The edge had no use for it, or it belonged to a server that is being left.
            Ended::Closed { used: false } => self.hold_back(),
            Ended::Refused(refused) => {
                tracing::debug!(
                    "edge {}: a connection was refused: {refused}",
                    self.edge.address
                );
                self.hold_back();
            }
            Ended::LocalGone(error) => {
                if self.leaving.is_none() {
                    let local = &self.edge.join.local;
                    tracing::warn!(
                        "{local} does not accept connections ({error}); leaving the pool"
                    );
                    self.say_leaving(Over::LocalGone).await;
                }
            }
        }
    }

    fn hold_back(&mut self) {
        self.not_before.get_or_insert(Instant::now() + REFUSED);
    }

    /// Tells the edge that no more requests are wanted; it closes the connections that carry
    /// none, and the others after their answers.
    async fn say_leaving(&mut self, why: Over) {
        self.leaving = Some(why);
        self.leave_by = Some(Instant::now() + LEAVING);
        let said = self
            .control
            .write_all(FromServer::Leaving.line().as_bytes());
        // If it cannot be told, the control connection is about to be found lost.
        let _ = timeout(Duration::from_secs(1), said).await;
    }
}

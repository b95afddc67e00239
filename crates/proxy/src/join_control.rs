//! The control connection of a back end that has joined: it is in the pool while this lasts, and
//! is told how many connections to have open, so that a burst finds them.

use std::future::pending;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_join::protocol::{FromEdge, FromServer, Lines, PING_SECONDS};
use forebay_stream::Stream;
use forebay_upstream::{NewServer, Owner, Pool, Server, ServerKind};
use tokio::time::timeout;

use crate::join_step::Joining;
use crate::worker::Worker;

/// How often it is looked how many connections are needed while requests wait for some.
const LOOK: Duration = Duration::from_millis(20);
/// The same while the back end works and nobody waits, and while it does not. Who begins to wait
/// is told at once.
const LOOK_BUSY: Duration = Duration::from_millis(100);
const LOOK_IDLE: Duration = Duration::from_millis(500);
/// Connections without a request that each back end has open, at least.
const READY: usize = 8;
/// How long the most requests at once are remembered: half of them is forgotten in it.
const MEMORY: Duration = Duration::from_secs(10);
/// Silence after which it is asked, and after which it is gone.
const PING: Duration = Duration::from_secs(PING_SECONDS);
const SILENCE: Duration = Duration::from_secs(3 * PING_SECONDS);

/// Why one is out after a reload.
const NOT_LET: &str = "the configuration does not let it be there any more";

/// Keeps the back end in its pool until it leaves, is lost, or may not be there any more.
pub(crate) async fn run(worker: &Rc<Worker>, stream: Stream, joining: Joining) {
    let joined = &worker.shared.joined;
    let snapshot = worker.snapshot();
    let Some(pool) = joining.pool(&snapshot).map(Arc::clone) else {
        // It was let in, and a reload has come in between.
        tracing::info!(
            "pool {}: {} is out: {NOT_LET}",
            joining.pool,
            joining.server
        );
        return;
    };
    drop(snapshot);
    let number = joined.begin(&joining);
    let server = enter(&pool, &joining);
    tracing::info!("pool {}: {} has joined", joining.pool, joining.server);
    let member = Member {
        worker,
        joining: &joining,
        number,
        server,
        pool,
    };
    let why = member.stay(stream).await;
    tracing::info!("pool {}: {} is out: {why}", joining.pool, joining.server);
}

/// Puts the back end into the pool. An older self, whose end was not noticed, goes.
fn enter(pool: &Arc<Pool>, joining: &Joining) -> Arc<Server> {
    let new = NewServer {
        kind: ServerKind::DialedIn(joining.server.as_str().into()),
        weight: 1,
        priority: 0,
        zone: None,
        max_connections: None,
        owner: Owner::Program,
    };
    match pool.add(&new) {
        Ok(server) => server,
        Err(older) => {
            pool.remove(&older);
            pool.add(&new).unwrap_or_else(|other| other)
        }
    }
}

/// A back end in its pool; out of it when dropped.
struct Member<'a> {
    worker: &'a Rc<Worker>,
    joining: &'a Joining,
    number: u64,
    server: Arc<Server>,
    pool: Arc<Pool>,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if self.worker.shared.joined.end(self.joining, self.number) {
            self.pool.remove(&self.server);
        }
    }
}

impl Member<'_> {
    /// Says why it is over.
    async fn stay(&self, mut stream: Stream) -> &'static str {
        let (mut lines, mut demand) = (Lines::default(), Demand::default());
        // When the back end was heard, when something was said to it, and when we were told last that
        // somebody waits.
        let start = Instant::now();
        let (mut heard, mut said, mut told) = (start, start, start);
        loop {
            if let Err(why) = self.may_stay() {
                return why;
            }
            // From before the look on: who begins to wait after it is not missed.
            let first_waits = self.pool.first_waits();
            let look = self.look();
            let ping = (said.elapsed() >= PING).then_some(FromEdge::Ping);
            if let Some(line) = demand.wanted(look).map(FromEdge::Connections).or(ping) {
                said = Instant::now();
                if send(&mut stream, &line.line()).await.is_err() {
                    return "its control connection broke off";
                }
            }
            // Not told of every request that waits for a moment: each would be a look by each back end.
            let listens = told.elapsed() >= LOOK;
            let (pause, first_waits) = match listens {
                true => (look.pause(), Some(first_waits)),
                false => (LOOK, None),
            };
            match next(&mut stream, &mut lines, pause, first_waits).await {
                Event::Nothing if heard.elapsed() >= SILENCE => return "it does not answer",
                Event::Nothing => {}
                Event::Waits => told = Instant::now(),
                Event::Heard => heard = Instant::now(),
                Event::Leaves => return self.let_go(stream).await,
                Event::Ended => return "its control connection has ended",
            }
        }
    }

    /// A reload may have taken the pool or the token away, or a newer connection the place.
    fn may_stay(&self) -> Result<(), &'static str> {
        if !self
            .worker
            .shared
            .joined
            .is_current(self.joining, self.number)
        {
            return Err("it has joined again");
        }
        match self.joining.pool(&self.worker.snapshot()) {
            Some(_) => Ok(()),
            None => Err(NOT_LET),
        }
    }

    fn look(&self) -> Look {
        let snapshot = self.worker.snapshot();
        let pool = self.joining.pool(&snapshot).unwrap_or(&self.pool);
        let servers = pool.len().max(1);
        Look {
            active: self.server.active() as usize,
            waiting: pool.waiting().div_ceil(servers),
            most: self.joining.most(pool),
            limited: pool.settings.max_connections.is_some(),
            now: Instant::now(),
        }
    }

    /// It wants no more requests: those under way are answered, then the connection ends.
    async fn let_go(&self, mut stream: Stream) -> &'static str {
        self.pool.remove(&self.server);
        let (mut lines, mut again) = (Lines::default(), false);
        while self.server.active() > 0 {
            let receiving = receive(&mut stream, &mut lines, &mut again);
            if matches!(timeout(LOOK, receiving).await, Ok(Err(_))) {
                break;
            }
        }
        "it has left"
    }
}

/// What is going on with a back end.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Requests it is working on.
    active: usize,
    /// Its share of those that wait for a server.
    waiting: usize,
    /// Connections that it may have.
    most: usize,
    /// The pool says how many.
    limited: bool,
    now: Instant,
}

impl Look {
    /// How long until the next one.
    fn pause(&self) -> Duration {
        match (self.waiting, self.active) {
            (0, 0) => LOOK_IDLE,
            (0, _) => LOOK_BUSY,
            _ => LOOK,
        }
    }
}

/// How many connections a back end should have open.
#[derive(Debug, Default)]
struct Demand {
    /// The most requests at once, fading.
    peak: f64,
    looked: Option<Instant>,
    /// What it was told.
    told: usize,
}

impl Demand {
    /// The number to tell, when it differs enough from what was told.
    fn wanted(&mut self, look: Look) -> Option<usize> {
        let since = self
            .looked
            .replace(look.now)
            .map_or(Duration::ZERO, |last| {
                look.now.saturating_duration_since(last)
            });
        self.peak *= 0.5_f64.powf(since.as_secs_f64() / MEMORY.as_secs_f64());
        let now = look.active + look.waiting;
        self.peak = self.peak.max(now as f64);
        // As many again as were needed lately: a burst of that size waits for no round trip.
        let enough = 2 * self.peak.ceil() as usize + READY;
        let wanted = match look.limited {
            true if look.most <= 8 * READY => look.most,
            _ => enough.min(look.most),
        };
        let differs = wanted > self.told || 2 * wanted < self.told || self.told > look.most;
        differs.then(|| {
            self.told = wanted;
            wanted
        })
    }
}

async fn send(stream: &mut Stream, line: &str) -> io::Result<()> {
    timeout(PING, stream.write_all(line.as_bytes())).await?
}

/// What a pause ended with.
enum Event {
    Nothing,
    /// Somebody waits for a server, and nobody did before.
    Waits,
    Heard,
    Leaves,
    Ended,
}

/// Passes the time until the next look.
async fn next(
    stream: &mut Stream,
    lines: &mut Lines,
    pause: Duration,
    first_waits: Option<impl Future<Output = ()>>,
) -> Event {
    let mut leaves = false;
    let waits = async {
        match first_waits {
            Some(first_waits) => first_waits.await,
            None => pending().await,
        }
    };
    let received = tokio::select! {
        received = timeout(pause, receive(stream, lines, &mut leaves)) => received,
        () = waits => return Event::Waits,
    };
    match received {
        Err(_) => Event::Nothing,
        Ok(Ok(())) if leaves => Event::Leaves,
        Ok(Ok(())) => Event::Heard,
        Ok(Err(_)) => Event::Ended,
    }
}

/// Waits for something of the back end; given up, nothing is lost.
async fn receive(stream: &mut Stream, lines: &mut Lines, leaving: &mut bool) -> io::Result<()> {
    let mut buffer = [0; 256];
    let read = stream.read(&mut buffer).await?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let good = lines.take(&buffer[..read], |line| {
        *leaving |= FromServer::read(line) == Some(FromServer::Leaving);
    });
    good.then_some(())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(active: usize, most: usize, limited: bool, now: Instant) -> Look {
        Look {
            active,
            waiting: 0,
            most,
            limited,
            now,
        }
    }

    #[test]
    fn as_many_again_as_were_needed_lately_are_ready() {
        let start = Instant::now();
        let mut demand = Demand::default();
        assert_eq!(demand.wanted(look(0, 1000, false, start)), Some(READY));
        assert_eq!(demand.wanted(look(0, 1000, false, start)), None);
        assert_eq!(
            demand.wanted(look(20, 1000, false, start)),
            Some(40 + READY)
        );
        assert_eq!(
            demand.wanted(look(3, 1000, false, start)),
            None,
            "the peak is remembered"
        );
        let later = start + 10 * MEMORY;
        assert_eq!(demand.wanted(look(0, 1000, false, later)), Some(2 + READY));
    }

    #[test]
    fn never_more_than_it_may_have() {
        let now = Instant::now();
        let mut demand = Demand::default();
        assert_eq!(demand.wanted(look(500, 100, false, now)), Some(100));
        assert_eq!(
            demand.wanted(look(500, 50, false, now)),
            Some(50),
            "a reload said so"
        );
    }

    #[test]
    fn where_the_pool_has_a_small_limit_all_are_ready_at_once() {
        let mut demand = Demand::default();
        assert_eq!(demand.wanted(look(0, 1, true, Instant::now())), Some(1));
        let mut demand = Demand::default();
        assert_eq!(demand.wanted(look(0, 10, true, Instant::now())), Some(10));
        let mut demand = Demand::default();
        assert_eq!(
            demand.wanted(look(0, 500, true, Instant::now())),
            Some(READY)
        );
    }

    #[test]
    fn it_is_looked_often_only_while_somebody_waits() {
        let idle = look(0, 100, false, Instant::now());
        let busy = Look { active: 3, ..idle };
        let waiting = Look { waiting: 1, ..busy };
        let pauses = [idle, busy, waiting].map(|look| look.pause());
        assert_eq!(pauses, [LOOK_IDLE, LOOK_BUSY, LOOK]);
    }

    #[test]
    fn those_who_wait_are_counted() {
        let mut demand = Demand::default();
        let waiting = Look {
            waiting: 30,
            ..look(8, 1000, false, Instant::now())
        };
        assert_eq!(demand.wanted(waiting), Some(76 + READY));
    }
}

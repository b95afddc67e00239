//! A pool: servers that give the same answers. Which one a request gets, and whether it gets one now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use arc_swap::ArcSwap;
use forebay_config::settings::{Balance, Pool as PoolSettings, Timeouts};
use forebay_stats::PoolSnapshot;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::acquire::{Ask, ConnectError, Tried};
use crate::balance::{By, Pick, Standing, View, pick, round_robin};
use crate::budget::Budget;
use crate::connection::{Place, ServerFailure};
use crate::gate::Lines;
use crate::idle::Local;
use crate::members::{Changing, Member, Members};
use crate::open::Way;
use crate::passive::Circuit;
use crate::queue::{Waiter, Waiting, Wants};
use crate::secure::Secure;
use crate::server::{Order, Server};
use crate::sticky::{self, Learned, Name};

/// One pool, with the settings of one configuration.
#[derive(Debug)]
pub struct Pool {
    /// Its name in the configuration.
    pub name: String,
    /// Its settings.
    pub settings: PoolSettings,
    /// How connections are encrypted.
    pub(crate) secure: Option<Secure>,
    /// How connections come about; those that came about in another way are of no use.
    pub(crate) way: Way,
    pub(crate) core: Arc<Core>,
}

/// What a pool knows of its servers. One for all configurations in which the pool is: limits hold,
/// and who waits keeps waiting, over a reload.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub(crate) members: ArcSwap<Members>,
    /// Held while members change.
    pub(crate) changing: Mutex<Changing>,
    /// Who waits. Its lock is held while a place at a limited server is taken.
    pub(crate) lines: Mutex<Lines<Waiter>>,
    /// How many wait, to be read without the lock.
    pub(crate) waiting: AtomicUsize,
    /// Told when somebody waits and nobody did before.
    pub(crate) first_waits: Notify,
    /// The virtual time of turns; see `balance::round_robin`.
    virtual_now: AtomicU64,
    pub(crate) budget: Budget,
    pub(crate) learned: Learned,
    pub(crate) figures: Figures,
    /// When it was last looked at; see `watch.rs`.
    pub(crate) looked_ms: AtomicU64,
}

/// What is counted for a pool as a whole.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) waited: AtomicU64,
    pub(crate) queue_full: AtomicU64,
    pub(crate) queue_timeouts: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) hedges: AtomicU64,
    pub(crate) budget_empty: AtomicU64,
}

/// What became of a request for a place.
pub(crate) enum Taken {
    Place(Place),
    /// It is in the queue.
    Wait(Waiting),
    QueueFull,
    /// No server takes requests.
    Nobody,
}

impl Pool {
    /// Its servers, with those that came by themselves.
    pub fn servers(&self) -> Vec<Arc<Server>> {
        let members = self.core.members.load();
        members
            .list
            .iter()
            .map(|member| Arc::clone(&member.server))
            .collect()
    }

    /// How many servers it has.
    pub fn len(&self) -> usize {
        self.core.members.load().list.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many requests wait for a place.
    pub fn waiting(&self) -> usize {
        self.core.waiting.load(Relaxed)
    }

    /// Ready when somebody waits and nobody did before, from this call on.
    pub fn first_waits(&self) -> Notified<'_> {
        self.core.first_waits.notified()
    }

    /// How long a request waits for a place at most.
    pub fn queue_timeout(&self, timeouts: &Timeouts) -> Duration {
        self.settings.queue_timeout.unwrap_or(timeouts.queue)
    }

    /// When a request that got no place may be sent again, in seconds: `Retry-After`.
    pub fn retry_after_s(&self, timeouts: &Timeouts) -> u64 {
        self.queue_timeout(timeouts)
            .as_millis()
            .div_ceil(1000)
            .clamp(1, 30) as u64
    }

    /// Takes one retry or hedge of the pool's budget, for which the time is `now_ms`.
    pub fn may_repeat(&self, now_ms: u64) -> bool {
        let requests = self.core.members.load().requests();
        let percent = self.settings.retry_budget_percent;
        let may = self.core.budget.spend(percent, requests, now_ms);
        if !may {
            self.core.figures.budget_empty.fetch_add(1, Relaxed);
        }
        may
    }

    /// A request is given to another connection or server.
    pub fn count_retry(&self) {
        self.core.figures.retries.fetch_add(1, Relaxed);
    }

    /// A second server is asked.
    pub fn count_hedge(&self) {
        self.core.figures.hedges.fetch_add(1, Relaxed);
    }

    /// Whether there is a server that was not tried and might answer.
    pub fn has_other(&self, tried: &Tried, now_ms: u64) -> bool {
        self.has(tried, |member| standing(member, now_ms) != Standing::Closed)
    }

    /// Whether there is a server that was not tried, is well, and has room for one more request.
    pub fn has_ready(&self, tried: &Tried, now_ms: u64) -> bool {
        self.has(tried, |member| {
            standing(member, now_ms) == Standing::Ready && has_room(&member.server)
        })
    }

    fn has(&self, tried: &Tried, is_so: impl Fn(&Member) -> bool) -> bool {
        let members = self.core.members.load();
        let mut others = members
            .list
            .iter()
            .filter(|member| !tried.has(&member.server));
        others.any(is_so)
    }

    /// The figures of the pool as a whole.
    pub fn figures(&self) -> PoolSnapshot {
        let figures = &self.core.figures;
        let (waiting, longest_ms) = self.core.queue();
        PoolSnapshot {
            pool: self.name.clone(),
            waiting,
            longest_ms,
            waited: figures.waited.load(Relaxed),
            queue_full: figures.queue_full.load(Relaxed),
            queue_timeouts: figures.queue_timeouts.load(Relaxed),
            retries: figures.retries.load(Relaxed),
            hedges: figures.hedges.load(Relaxed),
            budget_empty: figures.budget_empty.load(Relaxed),
        }
    }

    pub(crate) fn sticky_secret(&self) -> Option<&str> {
        self.settings.sticky.as_ref()?.secret.as_deref()
    }

    pub(crate) fn measures_latency(&self) -> bool {
        self.settings.balance == Balance::Latency
    }

    /// A server failed a request: it is counted, and left out after several in a row.
    pub(crate) fn note_failure(&self, server: &Server, failure: ServerFailure, now_ms: u64) {
        match failure {
            ServerFailure::Error => server.stats().error(),
            ServerFailure::TimedOut => server.stats().timeout(),
        }
        server.passive.was_slow(failure == ServerFailure::TimedOut);
        let timeout_ms = self.settings.fail_timeout.as_millis() as u64;
        if server
            .passive
            .failed(self.settings.fail_after, timeout_ms, now_ms)
        {
            tracing::warn!(
                pool = %self.name, server = %server.label(),
                "server fails requests: left out for {timeout_ms} ms"
            );
        }
    }

    pub(crate) fn queue_timed_out(&self) -> ConnectError {
        self.core.figures.queue_timeouts.fetch_add(1, Relaxed);
        ConnectError::QueueTimedOut
    }

    /// A place for a request, now or later.
    pub(crate) fn take(self: &Arc<Self>, local: &Local, ask: &Ask<'_>, tried: &Tried) -> Taken {
        let core = &self.core;
        let members = core.members.load();
        // What most pools are: one server without a limit.
        if let [member] = &members.list[..]
            && !members.gated
            && member.is_open()
            && !tried.has(&member.server)
        {
            return Taken::Place(self.count(&member.server));
        }
        let pinned = self.pinned(&members, ask, tried);
        if members.gated || core.waiting.load(SeqCst) > 0 {
            return self.take_gated(&members, local, ask, tried, pinned);
        }
        match pinned {
            Some(server) => Taken::Place(self.count(&server)),
            None => match self.choose(&members, local, ask, tried) {
                Chosen::Place(place) => Taken::Place(place),
                Chosen::Nobody if !self.waits_for_servers(&members, tried) => Taken::Nobody,
                Chosen::Nobody | Chosen::Full => self.take_gated(&members, local, ask, tried, None),
            },
        }
    }

    /// The same where requests may have to wait: one at a time.
    fn take_gated(
        self: &Arc<Self>,
        members: &Members,
        local: &Local,
        ask: &Ask<'_>,
        tried: &Tried,
        pinned: Option<Arc<Server>>,
    ) -> Taken {
        let core = &self.core;
        let mut lines = core.lines.lock();
        if let Some(server) = &pinned {
            if has_room(server) {
                return Taken::Place(self.count(server));
            }
        } else if lines.has_any() && all_hang(members, ask.now_ms) {
            // Those who wait try them.
            return Taken::Nobody;
        } else if !lines.has_any() {
            match self.choose(members, local, ask, tried) {
                Chosen::Place(place) => return Taken::Place(place),
                Chosen::Nobody if !self.waits_for_servers(members, tried) => return Taken::Nobody,
                Chosen::Nobody | Chosen::Full => {}
            }
        }
        if !ask.wait || lines.len() >= self.settings.queue {
            drop(lines);
            if ask.wait {
                core.figures.queue_full.fetch_add(1, Relaxed);
            }
            return Taken::QueueFull;
        }
        let wants = Wants {
            priority: ask.priority,
            only: pinned.map(|server| server.id),
            key: ask.key,
            tried: tried.clone(),
        };
        let waiting = core.line_up(self, &mut lines, wants);
        drop(lines);
        // A place may have come free, or a server may have come, before it was seen that somebody
        // waits. Who has tried all that there are is not given them again at once; see `watch.rs`.
        if tried.is_empty() || !std::ptr::eq(&**core.members.load(), members) {
            core.dispatch();
        }
        Taken::Wait(waiting)
    }

    /// Whether servers come by themselves: processes that are started, back ends that dial in.
    pub fn servers_come(&self) -> bool {
        self.settings.servers.is_empty() || !self.settings.join_tokens.is_empty()
    }

    /// Whether requests wait for servers where there is none but those tried.
    fn waits_for_servers(&self, members: &Members, tried: &Tried) -> bool {
        let is_out = |member: &Member| !member.is_open() || tried.has(&member.server);
        self.servers_come() && members.list.iter().all(is_out)
    }

    /// The server that the user's cookie names, if it may be asked.
    fn pinned(&self, members: &Members, ask: &Ask<'_>, tried: &Tried) -> Option<Arc<Server>> {
        let sticky = self.settings.sticky.as_ref()?;
        let value = ask.sticky?;
        let server = if sticky.learn {
            let lifetime_ms = sticky
                .lifetime
                .map_or(u64::MAX, |time| time.as_millis() as u64);
            self.core.learned.find(value, lifetime_ms, ask.now_ms)?
        } else {
            if value.len() != size_of::<Name>() {
                return None;
            }
            let secret = sticky.secret.as_deref();
            let name = |member: &Member| sticky::name(secret, &self.name, member.server.label());
            let named = |member: &&Member| name(member) == value;
            Arc::clone(&members.list.iter().find(named)?.server)
        };
        let may = matches!(server.order(), Order::Up | Order::Drain)
            && server.is_healthy()
            && server.passive.circuit(ask.now_ms) == Circuit::Closed
            && !server.is_ejected(ask.now_ms)
            && !tried.has(&server);
        may.then_some(server)
    }

    /// Chooses among all and counts the request there.
    fn choose(
        self: &Arc<Self>,
        members: &Members,
        local: &Local,
        ask: &Ask<'_>,
        tried: &Tried,
    ) -> Chosen {
        let mut views = local.views.borrow_mut();
        let wanted = (ask.key, tried);
        self.choose_with(members, &mut views, wanted, local.seed(), ask.now_ms)
    }

    /// The same by key and without those tried, with `views` as the room to do it in.
    pub(crate) fn choose_with(
        self: &Arc<Self>,
        members: &Members,
        views: &mut Vec<View>,
        (key, tried): (Option<u64>, &Tried),
        seed: u64,
        now_ms: u64,
    ) -> Chosen {
        let slow_start_ms = self.settings.slow_start.as_millis() as u64;
        let by = self.by(members, key);
        let mut lost = Tried::default();
        loop {
            views.clear();
            let all = members.list.iter().enumerate();
            views.extend(all.map(|(at, member)| View {
                tried: tried.has(&member.server) || lost.has(&member.server),
                ..view(at, member, slow_start_ms, now_ms)
            }));
            let virtual_now = self.core.virtual_now.load(Relaxed);
            let chosen = match pick(views, &by, virtual_now, seed) {
                Pick::Server(chosen) => chosen,
                Pick::Full => return Chosen::Full,
                Pick::Nobody => return Chosen::Nobody,
            };
            let Some(member) = members.list.get(chosen.at) else {
                return Chosen::Nobody;
            };
            let server = &member.server;
            let hangs = chosen.standing == Standing::LeftOut
                && members.list.len() > 1
                && server.passive.hangs();
            let trial = !hangs && server.passive.circuit(now_ms) == Circuit::HalfOpen;
            if hangs && !server.passive.try_hanging(now_ms)
                || trial && !server.passive.begin_trial()
            {
                lost.add(server);
                continue;
            }
            self.core.move_on(server, &chosen, virtual_now);
            let mut place = self.count(server);
            place.trial = trial;
            return Chosen::Place(place);
        }
    }

    fn by<'m>(&self, members: &'m Members, key: Option<u64>) -> By<'m> {
        match &self.settings.balance {
            Balance::RoundRobin => By::RoundRobin,
            Balance::LeastConnections => By::LeastConnections,
            Balance::Latency => By::Latency,
            Balance::Random => By::Random,
            Balance::Hash { bound_percent, .. } => By::Hash {
                ring: &members.ring,
                key,
                bound_percent: *bound_percent,
            },
        }
    }

    /// Counts a request at a server.
    pub(crate) fn count(self: &Arc<Self>, server: &Arc<Server>) -> Place {
        server.active.fetch_add(1, SeqCst);
        Place::counted(Arc::clone(self), Arc::clone(server))
    }
}

/// A check's place at a server; free again when dropped.
#[derive(Debug)]
pub struct CheckPlace(#[expect(dead_code, reason = "held, not looked at")] Option<Place>);

impl Pool {
    /// A place for a check: where a server takes only so many requests at once, a check is one of
    /// them, and its connection one of theirs. `None`: it is working on as many as it may.
    pub fn place_for_check(self: &Arc<Self>, server: &Arc<Server>) -> Option<CheckPlace> {
        if !server.is_limited() {
            return Some(CheckPlace(None));
        }
        let lines = self.core.lines.lock();
        let place = has_room(server).then(|| self.count(server))?;
        drop(lines);
        server.leave_room_for_connection();
        Some(CheckPlace(Some(place)))
    }
}

/// What a choice came to, with the request counted.
pub(crate) enum Chosen {
    Place(Place),
    Full,
    Nobody,
}

impl Core {
    /// The server that was chosen has had its turn.
    fn move_on(&self, server: &Server, chosen: &View, virtual_now: u64) {
        let pass = round_robin::effective_pass(chosen, virtual_now);
        let next = pass + round_robin::stride(chosen.weight);
        // Somebody else may have chosen it too: then it has had two turns.
        let moved = server
            .pass
            .compare_exchange(chosen.pass, next, Relaxed, Relaxed);
        if moved.is_err() {
            server
                .pass
                .fetch_add(round_robin::stride(chosen.weight), Relaxed);
        }
        self.virtual_now.fetch_max(pass, Relaxed);
    }

    /// The virtual time, at which a server that comes begins.
    pub(crate) fn virtual_now(&self) -> u64 {
        self.virtual_now.load(Relaxed)
    }
}

/// What is known of a server now.
fn view(at: usize, member: &Member, slow_start_ms: u64, now_ms: u64) -> View {
    let server = &member.server;
    let share = server.share(slow_start_ms, now_ms);
    View {
        at,
        standing: standing(member, now_ms),
        priority: member.priority,
        near: member.near,
        tried: false,
        weight: (u64::from(member.weight) * share).max(1),
        active: server.active(),
        room: has_room(server),
        pass: server.pass.load(Relaxed),
        latency_us: server.latency.now(now_ms),
    }
}

fn standing(member: &Member, now_ms: u64) -> Standing {
    let server = &member.server;
    if !member.is_open() {
        return Standing::Closed;
    }
    match server.passive.circuit(now_ms) {
        Circuit::Closed | Circuit::HalfOpen if !server.is_ejected(now_ms) => Standing::Ready,
        _ => Standing::LeftOut,
    }
}

/// Whether all that could be asked are left out and let requests wait in vain. A pool's only server
/// is never taken for one: it may hang for some requests and be all there is for the others.
fn all_hang(members: &Members, now_ms: u64) -> bool {
    members.list.len() > 1
        && members
            .list
            .iter()
            .all(|member| match standing(member, now_ms) {
                Standing::Closed => true,
                Standing::LeftOut => member.server.passive.hangs(),
                Standing::Ready => false,
            })
        && members.list.iter().any(Member::is_open)
}

/// Whether one more request may be given to it.
pub(crate) fn has_room(server: &Server) -> bool {
    server.active.load(SeqCst) < server.limit.load(Relaxed)
}

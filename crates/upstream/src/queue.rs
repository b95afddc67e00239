//! Waiting for a place: from lining up to being given one, or leaving.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use forebay_config::settings::Priority;
use tokio::sync::oneshot;

use crate::acquire::{ConnectError, Tried};
use crate::balance::mix;
use crate::connection::Place;
use crate::gate::{Head, Lines, Ticket};
use crate::members::Members;
use crate::pool::{Chosen, Core, Pool, has_room};
use crate::server::Order;

/// So many who cannot use a place that is free are passed over for the next one who can.
const LOOKED_AT: usize = 32;

/// What the queue keeps of a request.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The pool with the settings that it came by.
    pool: Arc<Pool>,
    key: Option<u64>,
    tried: Tried,
    since_ms: u64,
    sender: oneshot::Sender<Place>,
}

/// A request in the queue. Dropping it leaves the queue at once; a place that was given to it in
/// the same moment goes on to the next.
pub(crate) struct Waiting {
    core: Arc<Core>,
    priority: Priority,
    only: Option<u64>,
    ticket: Ticket,
    receiver: oneshot::Receiver<Place>,
}

impl Waiting {
    /// The place, when it is given.
    pub(crate) async fn granted(mut self) -> Result<Place, ConnectError> {
        let given = (&mut self.receiver).await;
        given.map_err(|_| ConnectError::NoServer)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut lines = self.core.lines.lock();
        if lines.remove(self.priority, self.only, self.ticket) {
            self.core.waiting.store(lines.len(), SeqCst);
        }
    }
}

/// What a request lines up with.
pub(crate) struct Wants {
    pub(crate) priority: Priority,
    /// The one server that will do.
    pub(crate) only: Option<u64>,
    pub(crate) key: Option<u64>,
    pub(crate) tried: Tried,
}

impl Core {
    /// Puts a request at the end of its line. The caller dispatches afterwards: a place that
    /// came free before `waiting` was seen is found by one of both.
    pub(crate) fn line_up(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        lines: &mut Lines<Waiter>,
        wants: Wants,
    ) -> Waiting {
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter {
            pool: Arc::clone(pool),
            key: wants.key,
            tried: wants.tried,
            since_ms: crate::unix_ms(),
            sender,
        };
        if lines.len() == 0 {
            self.first_waits.notify_waiters();
        }
        let ticket = lines.push(wants.priority, wants.only, waiter);
        self.waiting.store(lines.len(), SeqCst);
        Waiting {
            core: Arc::clone(self),
            priority: wants.priority,
            only: wants.only,
            ticket,
            receiver,
        }
    }

    /// A request is not at its server any more.
    #[inline]
    pub(crate) fn place_is_free(&self) {
        if self.waiting.load(SeqCst) > 0 {
            self.dispatch();
        }
    }

    /// Gives places to those who wait, for as long as there are both.
    pub(crate) fn dispatch(&self) {
        let mut views = Vec::new();
        loop {
            let mut lines = self.lines.lock();
            if lines.len() == 0 {
                return;
            }
            let members = self.members.load();
            let Some((waiter, place)) = serve(&mut lines, &members, &mut views) else {
                return;
            };
            self.waiting.store(lines.len(), SeqCst);
            drop(lines);
            self.figures.waited.fetch_add(1, Relaxed);
            place.server().stats().waited();
            // One that has just left gives the place back by dropping it.
            let _ = waiter.sender.send(place);
        }
    }

    /// How many wait, and for how many milliseconds the first of them has.
    pub(crate) fn queue(&self) -> (u64, u64) {
        let lines = self.lines.lock();
        let oldest = lines.waiters().map(|waiter| waiter.since_ms).min();
        let longest = oldest.map_or(0, |since| crate::unix_ms().saturating_sub(since));
        (lines.len() as u64, longest)
    }
}

/// The next one who can be given a place, and that place, with the request counted there.
fn serve(
    lines: &mut Lines<Waiter>,
    members: &Members,
    views: &mut Vec<crate::balance::View>,
) -> Option<(Waiter, Place)> {
    let now_ms = crate::unix_ms();
    if lines.has_pinned() {
        unpin_the_gone(lines, members);
    } else {
        let head = lines.head()?;
        if let Some(place) = place_for(lines, head, members, views, now_ms) {
            return Some((lines.take(head)?, place));
        }
        if takes_any(lines, head) {
            return None;
        }
    }
    let mut is_full = false;
    for head in lines.next_ones(LOOKED_AT) {
        if is_full && head.only.is_none() {
            continue;
        }
        if let Some(place) = place_for(lines, head, members, views, now_ms) {
            return Some((lines.take(head)?, place));
        }
        is_full |= takes_any(lines, head);
    }
    None
}

/// Whether any server will do for this one: a place that it does not get is nobody's. Who has tried
/// some waits for the others, and those behind may have the ones it tried.
fn takes_any(lines: &Lines<Waiter>, head: Head) -> bool {
    let tried_nobody = |waiter: &Waiter| waiter.tried.is_empty();
    head.only.is_none() && lines.waiter(head).is_none_or(tried_nobody)
}

fn place_for(
    lines: &Lines<Waiter>,
    head: Head,
    members: &Members,
    views: &mut Vec<crate::balance::View>,
    now_ms: u64,
) -> Option<Place> {
    let Waiter {
        pool, key, tried, ..
    } = lines.waiter(head)?;
    if let Some(id) = head.only {
        let member = members.list.iter().find(|member| member.server.id == id)?;
        return has_room(&member.server).then(|| pool.count(&member.server));
    }
    let seed = mix(now_ms ^ (Arc::as_ptr(pool) as usize as u64) ^ lines.len() as u64);
    let mut choose = |tried: &Tried| {
        let chosen = pool.choose_with(members, views, (*key, tried), seed, now_ms);
        match chosen {
            Chosen::Place(place) => Ok(place),
            Chosen::Full => Err(false),
            Chosen::Nobody => Err(true),
        }
    };
    match choose(tried) {
        Ok(place) => Some(place),
        // Those it tried before are all there is by now.
        Err(true) if !tried.is_empty() => choose(&Tried::default()).ok(),
        Err(_) => None,
    }
}

/// Who waits for a server that takes no requests any more takes any.
fn unpin_the_gone(lines: &mut Lines<Waiter>, members: &Members) {
    for id in lines.pinned() {
        let member = members.list.iter().find(|member| member.server.id == id);
        let stays = member.is_some_and(|member| {
            matches!(member.server.order(), Order::Up | Order::Drain) && member.server.is_healthy()
        });
        if !stays {
            lines.unpin(id);
        }
    }
}

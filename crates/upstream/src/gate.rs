//! Who waits for a place at a server, and who is next. One for each pool, for all workers.
//!
//! A place that comes free goes to the first of the highest class (first come, first served within a
//! class), whatever server it is at. So that no class starves, one place of every eight goes to who
//! has waited longest while requests of several classes wait. Requests that must go to one server
//! (sticky ones) stand in a line of their own, and are compared with the others when it is free. Who
//! cannot use the place that is free, because it was tried already, does not keep it from the next.

use std::collections::BTreeMap;

use forebay_config::settings::Priority;

/// Of so many places one goes to who has waited longest, whatever the class.
const TURN_OF_THE_OLDEST: u64 = 8;

/// A place in the queue: the smaller ticket came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Those who wait, with what is needed to tell each of them.
#[derive(Debug)]
pub(crate) struct Lines<W> {
    any: Line<W>,
    /// Those who wait for one server, by its id.
    pinned: BTreeMap<u64, Line<W>>,
    next: u64,
    length: usize,
    /// Places given while several classes waited.
    given: u64,
}

/// One line for each class.
#[derive(Debug)]
struct Line<W>([BTreeMap<Ticket, W>; 3]);

/// Somebody at the head of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The one server that will do; `None`: any.
    pub(crate) only: Option<u64>,
    class: usize,
    ticket: Ticket,
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self(Default::default())
    }
}

impl<W> Default for Lines<W> {
    fn default() -> Self {
        Self {
            any: Line::default(),
            pinned: BTreeMap::new(),
            next: 0,
            length: 0,
            given: 0,
        }
    }
}

impl<W> Lines<W> {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether somebody waits who would take any server.
    pub(crate) fn has_any(&self) -> bool {
        !self.any.is_empty()
    }

    /// Lines up; `only`: for this server.
    pub(crate) fn push(&mut self, class: Priority, only: Option<u64>, waiter: W) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.length += 1;
        let line = match only {
            None => &mut self.any,
            Some(server) => self.pinned.entry(server).or_default(),
        };
        line.0[number(class)].insert(ticket, waiter);
        ticket
    }

    /// Leaves. False: it was given a place, or left, before.
    pub(crate) fn remove(&mut self, class: Priority, only: Option<u64>, ticket: Ticket) -> bool {
        let class = number(class);
        // One that waited for a server that is gone was moved to the others.
        let mut left = self.any.0[class].remove(&ticket).is_some();
        if let Some(server) = only.filter(|_| !left)
            && let Some(line) = self.pinned.get_mut(&server)
        {
            left = line.0[class].remove(&ticket).is_some();
            if line.is_empty() {
                self.pinned.remove(&server);
            }
        }
        self.length -= usize::from(left);
        left
    }

    /// Those who might be next, the one whose turn it is first: the head of each line for one
    /// server, and the first `most` of those who take any.
    pub(crate) fn next_ones(&self, most: usize) -> Vec<Head> {
        let oldest = self.given % TURN_OF_THE_OLDEST == TURN_OF_THE_OLDEST - 1;
        let pinned = self
            .pinned
            .iter()
            .map(|(server, line)| (Some(*server), line));
        let mut heads = self.any.first_few(oldest, most);
        heads.extend(pinned.filter_map(|(only, line)| line.head(only, oldest)));
        heads.sort_by_key(|head| {
            let class = if oldest { 0 } else { head.class };
            (class, head.ticket)
        });
        heads
    }

    /// The one whose turn it is, when nobody waits for one server only.
    pub(crate) fn head(&self) -> Option<Head> {
        let oldest = self.given % TURN_OF_THE_OLDEST == TURN_OF_THE_OLDEST - 1;
        self.any.head(None, oldest)
    }

    /// Whether somebody waits for one server only.
    pub(crate) fn has_pinned(&self) -> bool {
        !self.pinned.is_empty()
    }

    /// The servers that somebody waits for.
    pub(crate) fn pinned(&self) -> Vec<u64> {
        self.pinned.keys().copied().collect()
    }

    /// The first of each line and class; among them is who has waited longest.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = &W> {
        let lines = std::iter::once(&self.any).chain(self.pinned.values());
        let firsts = lines.flat_map(|line| line.0.iter().filter_map(BTreeMap::first_key_value));
        firsts.map(|(_, waiter)| waiter)
    }

    /// What is kept of somebody at the head.
    pub(crate) fn waiter(&self, head: Head) -> Option<&W> {
        let line = match head.only {
            None => &self.any,
            Some(server) => self.pinned.get(&server)?,
        };
        line.0[head.class].get(&head.ticket)
    }

    /// Takes somebody from the head of a line.
    pub(crate) fn take(&mut self, head: Head) -> Option<W> {
        if self.waits_in_several_classes() {
            self.given += 1;
        }
        let line = match head.only {
            None => &mut self.any,
            Some(server) => self.pinned.get_mut(&server)?,
        };
        let waiter = line.0[head.class].remove(&head.ticket)?;
        self.length -= 1;
        if let Some(server) = head.only
            && self.pinned.get(&server).is_some_and(Line::is_empty)
        {
            self.pinned.remove(&server);
        }
        Some(waiter)
    }

    /// Those who waited for a server that is gone take any, in the order in which they came.
    pub(crate) fn unpin(&mut self, server: u64) {
        if let Some(line) = self.pinned.remove(&server) {
            for (all, own) in self.any.0.iter_mut().zip(line.0) {
                all.extend(own);
            }
        }
    }

    fn waits_in_several_classes(&self) -> bool {
        let lines = || std::iter::once(&self.any).chain(self.pinned.values());
        let waits = |class: &usize| lines().any(|line| !line.0[*class].is_empty());
        (0..3).filter(waits).count() > 1
    }
}

impl<W> Line<W> {
    fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeMap::is_empty)
    }

    /// The first of those who take any server, in no order.
    fn first_few(&self, oldest: bool, most: usize) -> Vec<Head> {
        let heads = self.0.iter().enumerate().flat_map(|(class, line)| {
            let tickets = line.keys().take(most);
            tickets.map(move |ticket| Head {
                only: None,
                class,
                ticket: *ticket,
            })
        });
        if !oldest {
            return heads.take(most).collect();
        }
        let mut heads: Vec<Head> = heads.collect();
        heads.sort_by_key(|head| head.ticket);
        heads.truncate(most);
        heads
    }

    fn head(&self, only: Option<u64>, oldest: bool) -> Option<Head> {
        let firsts = self.0.iter().enumerate().filter_map(|(class, line)| {
            let (ticket, _) = line.first_key_value()?;
            Some(Head {
                only,
                class,
                ticket: *ticket,
            })
        });
        firsts.min_by_key(|head| (if oldest { 0 } else { head.class }, head.ticket))
    }
}

fn number(class: Priority) -> usize {
    match class {
        Priority::High => 0,
        Priority::Normal => 1,
        Priority::Low => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(lines: &mut Lines<&'static str>) -> Option<&'static str> {
        let head = lines.next_ones(1).first().copied()?;
        lines.take(head)
    }

    #[test]
    fn classes_go_by_rank_and_each_in_turn() {
        let mut lines = Lines::default();
        lines.push(Priority::Low, None, "low");
        lines.push(Priority::Normal, None, "one");
        lines.push(Priority::Normal, None, "two");
        lines.push(Priority::High, None, "high");
        let order: Vec<_> = std::iter::from_fn(|| next(&mut lines)).collect();
        assert_eq!(order, ["high", "one", "two", "low"]);
        assert_eq!(lines.len(), 0);
    }

    #[test]
    fn no_class_starves() {
        let mut lines = Lines::default();
        lines.push(Priority::Low, None, "low");
        let mut given = 0;
        loop {
            lines.push(Priority::High, None, "high");
            given += 1;
            if next(&mut lines) == Some("low") {
                break;
            }
            assert!(given < 20, "the low class never gets a place");
        }
        assert_eq!(given, TURN_OF_THE_OLDEST);
    }

    #[test]
    fn who_leaves_is_out_at_once() {
        let mut lines = Lines::default();
        let one = lines.push(Priority::Normal, None, "one");
        let two = lines.push(Priority::Normal, Some(7), "two");
        assert!(lines.remove(Priority::Normal, None, one));
        assert!(!lines.remove(Priority::Normal, None, one));
        assert!(lines.remove(Priority::Normal, Some(7), two));
        assert_eq!((lines.len(), next(&mut lines)), (0, None));
        assert!(!lines.has_pinned());
    }

    #[test]
    fn the_next_ones_are_in_the_order_of_their_turns() {
        let mut lines = Lines::default();
        lines.push(Priority::Low, None, "low");
        for name in ["one", "two", "three"] {
            lines.push(Priority::Normal, None, name);
        }
        lines.push(Priority::High, Some(1), "for 1");
        let names = |lines: &Lines<&'static str>, most| -> Vec<&'static str> {
            let heads = lines.next_ones(most);
            let names = heads.iter().filter_map(|head| lines.waiter(*head));
            names.copied().collect()
        };
        assert_eq!(names(&lines, 2), ["for 1", "one", "two"]);
        assert_eq!(names(&lines, 9), ["for 1", "one", "two", "three", "low"]);
        lines.given = TURN_OF_THE_OLDEST - 1;
        assert_eq!(names(&lines, 2), ["low", "one", "for 1"]);
    }

    #[test]
    fn lines_for_one_server_are_compared_with_the_others() {
        let mut lines = Lines::default();
        lines.push(Priority::Normal, Some(1), "for 1");
        lines.push(Priority::Normal, None, "any");
        lines.push(Priority::High, Some(2), "for 2");
        let only: Vec<_> = lines.next_ones(9).iter().map(|head| head.only).collect();
        assert_eq!(only, [Some(2), Some(1), None]);
        assert_eq!(lines.head().map(|head| head.only), Some(None));
        let gone = lines.push(Priority::Normal, Some(1), "late for 1");
        lines.unpin(1);
        assert!(lines.remove(Priority::Normal, Some(1), gone));
        let order: Vec<_> = std::iter::from_fn(|| next(&mut lines)).collect();
        assert_eq!(order, ["for 2", "for 1", "any"]);
    }
}

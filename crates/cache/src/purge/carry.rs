//! Carrying purges out: durable first, then visible, in one order for all.
//!
//! Who purges puts the order into a queue and waits for the ledger. The first who gets it
//! writes everything that is queued as one record and answers the others too, so that many
//! purges at once cost one write. Verdicts never wait for a write: moments of purges that are
//! being written are reserved, and become visible together when they are durable.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use super::journal::{Entry, Scope};
use super::ledger::Ledger;
use super::order::{Done, Order, PurgeError, What};
use super::purges::Purges;
use super::reach::Verdict;

/// Moments left free before those that are being written, for invalidations meanwhile.
const GAP: u64 = 256;
/// Invalidations that may be in effect and not be written down.
const MOST_UNWRITTEN: usize = 1 << 14;

/// Orders that wait to be carried out, all or none of them.
pub(crate) struct Ask {
    wishes: Vec<(Verdict, Scope)>,
    answer: OnceLock<Result<Vec<Landed>, PurgeError>>,
}

/// The moment of a purge, and whether an equal one was in force.
type Landed = (u64, bool);

impl Purges {
    /// Carries a purge out. When it returns, nothing asked for before is found current, and
    /// the purge survives a crash. It waits for the journal: not for a worker's thread.
    ///
    /// # Errors
    /// When it is refused or cannot be made durable; it then has no effect.
    pub fn purge(&self, order: &Order) -> Result<Done, PurgeError> {
        let done = self.purge_all(std::slice::from_ref(order))?;
        done.into_iter().next().ok_or_else(unanswered)
    }

    /// Carries several purges out with one write, all or none of them.
    ///
    /// # Errors
    /// As [`Purges::purge`].
    pub fn purge_all(&self, orders: &[Order]) -> Result<Vec<Done>, PurgeError> {
        let wishes = orders.iter().map(|order| self.wish(order));
        let ask = Arc::new(Ask {
            wishes: wishes.collect::<Result<_, _>>()?,
            answer: OnceLock::new(),
        });
        self.queue.lock().push(Arc::clone(&ask));
        let mut ledger = self.ledger.lock();
        if ask.answer.get().is_none() {
            let asks = std::mem::take(&mut *self.queue.lock());
            self.carry_out(&mut ledger, &asks);
        }
        drop(ledger);
        let landed = ask.answer.get().ok_or_else(unanswered)?.clone()?;
        Ok(orders.iter().zip(landed).map(done).collect())
    }

    /// Carries a purge out at once and writes it down with the next purge, or with
    /// [`Purges::flush`]: for invalidations that responses ask for (RFC 9875 section 3), which
    /// no one acknowledges. It does not wait, but when hundreds come during one write.
    ///
    /// # Errors
    /// As [`Purges::purge`].
    pub fn invalidate(&self, order: &Order) -> Result<Done, PurgeError> {
        let (strength, scope) = self.wish(order)?;
        let mut state = self.state.write();
        let moment = self.moment() + 1;
        if moment >= state.reserved || state.unwritten.len() >= MOST_UNWRITTEN {
            drop(state);
            return self.purge(order);
        }
        let entry = Entry {
            moment,
            strength,
            scope,
        };
        let merged = state.apply(&entry);
        if self.is_kept {
            state.unwritten.push(entry);
        }
        self.moment.store(moment, Relaxed);
        Ok(done((order, (moment, merged))))
    }

    /// Writes down what [`Purges::invalidate`] did since the last write, if anything.
    ///
    /// # Errors
    /// When it is not durable; it is then tried again with the next write.
    pub fn flush(&self) -> io::Result<()> {
        let mut ledger = self.ledger.lock();
        let unwritten = std::mem::take(&mut self.state.write().unwritten);
        let written = ledger.write(&unwritten);
        if written.is_err() {
            self.restore(unwritten);
        }
        written
    }

    /// Forgets purges up to `oldest_checked`, and writes the journal anew when much of it is
    /// of no use. The caller promises that every object, also one that is being fetched and
    /// one on disk, was asked for or judged at that moment or later, and that what was not
    /// found current is remembered as such where it is kept.
    ///
    /// # Errors
    /// When the journal cannot be written anew: it then still holds more than is needed.
    pub fn retire(&self, oldest_checked: u64) -> io::Result<()> {
        let mut ledger = self.ledger.lock();
        self.state.write().retire(oldest_checked);
        if ledger.is_worth_rewriting() {
            return self.rewrite(&mut ledger);
        }
        Ok(())
    }

    /// Writes all that is queued as one, and answers those who asked.
    fn carry_out(&self, ledger: &mut Ledger, asks: &[Arc<Ask>]) {
        let (first, unwritten) = self.reserve();
        let wishes = asks.iter().flat_map(|ask| &ask.wishes);
        let entries = wishes
            .zip(first..)
            .map(|((strength, scope), moment)| Entry {
                moment,
                strength: *strength,
                scope: scope.clone(),
            });
        let kept = unwritten.len();
        let mut all = unwritten;
        all.extend(entries);
        let written = ledger.write(&all);
        let entries = all.split_off(kept);
        if let Err(error) = written {
            self.restore(all);
            let error = PurgeError::Journal(Arc::new(error));
            for ask in asks {
                let _ = ask.answer.set(Err(error.clone()));
            }
            return;
        }
        let mut landed = self.apply(&entries).into_iter();
        for ask in asks {
            let own = landed.by_ref().take(ask.wishes.len()).collect();
            let _ = ask.answer.set(Ok(own));
        }
        if ledger.must_be_rewritten() {
            // Nobody retires. The purges are durable: an error here is only that of tidying up.
            if let Err(error) = self.rewrite(ledger) {
                tracing::warn!("the purge journal cannot be written anew: {error}");
            }
        }
    }

    /// The first moment of purges to be written, and what is to be written with them.
    fn reserve(&self) -> (u64, Vec<Entry>) {
        let mut state = self.state.write();
        let gap = if self.is_kept { GAP } else { 1 };
        state.reserved = self.moment() + gap;
        (state.reserved, std::mem::take(&mut state.unwritten))
    }

    /// Makes purges visible.
    fn apply(&self, entries: &[Entry]) -> Vec<Landed> {
        let mut state = self.state.write();
        state.reserved = u64::MAX;
        let landed = entries
            .iter()
            .map(|entry| (entry.moment, state.apply(entry)));
        let landed = landed.collect();
        if let Some(last) = entries.last() {
            self.moment.store(last.moment, Relaxed);
        }
        landed
    }

    /// What could not be written is to be written next time.
    fn restore(&self, unwritten: Vec<Entry>) {
        let mut state = self.state.write();
        state.reserved = u64::MAX;
        state.unwritten.splice(0..0, unwritten);
    }

    /// Writes what is in force in the place of the journal.
    pub(crate) fn rewrite(&self, ledger: &mut Ledger) -> io::Result<()> {
        let (mut entries, unwritten) = {
            let state = self.state.read();
            (state.snapshot(), state.unwritten.len())
        };
        entries.push(Entry {
            moment: self.moment(),
            strength: Verdict::Current,
            scope: Scope::Moment,
        });
        ledger.rewrite(&entries)?;
        // Others only add to it while this one has the ledger.
        self.state.write().unwritten.drain(..unwritten);
        Ok(())
    }

    fn wish(&self, order: &Order) -> Result<(Verdict, Scope), PurgeError> {
        order.check()?;
        let scope = match &order.what {
            What::Key { hashes, .. } => Scope::Keys(hashes.clone()),
            What::Prefix { host, prefix } => Scope::Prefix {
                host: host.as_ref().map(|host| host.to_ascii_lowercase().into()),
                prefix: prefix.clone(),
            },
            What::Ban(expression) => Scope::Ban(expression.clone()),
            What::Tags(names) => {
                Scope::Tags(names.iter().map(|name| self.tag(None, name)).collect())
            }
            What::Group { origin, name } => Scope::Tags(vec![self.tag(Some(origin), name)]),
            What::All => Scope::All,
        };
        Ok((order.strength(), scope))
    }
}

fn done((order, (moment, merged)): (&Order, Landed)) -> Done {
    let words = order.words();
    Done {
        moment,
        words,
        merged,
    }
}

/// Whoever carried the order out did not come to its end.
fn unanswered() -> PurgeError {
    PurgeError::Journal(Arc::new(io::Error::other("the write was given up")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use parking_lot::Mutex;

    use super::super::journal::Keep;
    use super::*;

    /// A journal that says of each write how long it is, and waits until it may end.
    struct Slow {
        began: Sender<usize>,
        may_end: Mutex<Receiver<()>>,
    }

    impl Keep for Slow {
        fn append(&self, record: &[u8]) -> io::Result<()> {
            self.began.send(record.len()).map_err(io::Error::other)?;
            self.may_end.lock().recv().map_err(io::Error::other)
        }

        fn rewrite(&self, _: &[Vec<u8>]) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn purges_that_wait_for_a_write_share_the_next() {
        let (began, has_begun) = channel();
        let (end, may_end) = channel();
        let may_end = Mutex::new(may_end);
        let purges = Purges::with_journal(1, Box::new(Slow { began, may_end }), vec![]).0;
        let purges = Arc::new(purges);
        let purge = || {
            let purges = Arc::clone(&purges);
            let order = Order {
                what: What::All,
                soft: true,
            };
            thread::spawn(move || purges.purge(&order).unwrap().moment)
        };
        let first = purge();
        has_begun.recv().unwrap();
        let others = [purge(), purge(), purge()];
        while purges.queue.lock().len() < others.len() {
            thread::yield_now();
        }
        end.send(()).unwrap();
        end.send(()).unwrap();
        let first = first.join().unwrap();
        let mut moments = others.map(|other| other.join().unwrap());
        moments.sort_unstable();
        assert!(first < moments[0] && moments[0] < moments[1] && moments[1] < moments[2]);
        assert_eq!(purges.moment(), moments[2]);
        has_begun.recv().unwrap();
        assert!(has_begun.try_recv().is_err(), "two writes for four purges");
    }
}

//! The order in which a worker's tasks get their turns.

use std::future::poll_fn;
use std::task::Poll;

/// How many turns are given before the event loop asks the system what else is ready. A round in
/// which some dozens of clients are ready at once stays whole, so that [`behind_others`] gathers it;
/// more would let those who always have something to do keep the others waiting.
pub(crate) const TURNS: u32 = 128;

/// Lets every other task that is ready have its turn first.
///
/// Before a request is sent on, so that a round's requests are read first and then sent in a row.
/// Sent one by one between other work, more of them found the origin asleep (0.13 of them, not 0.07),
/// and waking it is the sender's work: with 64 clients a request passed on took 1 to 3 % less
/// processor time.
pub(crate) async fn behind_others() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    #[test]
    fn what_is_ready_is_read_before_anything_is_sent() {
        let event_loop = Builder::new_current_thread().build_local(LocalOptions::default());
        let done = Rc::new(RefCell::new(Vec::new()));
        event_loop.unwrap().block_on(async {
            let tasks = ["one", "two", "three"].map(|name| {
                let done = Rc::clone(&done);
                tokio::task::spawn_local(async move {
                    done.borrow_mut().push(("read", name));
                    behind_others().await;
                    done.borrow_mut().push(("sent", name));
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        });
        let order: Vec<_> = done.borrow().iter().map(|(what, _)| *what).collect();
        assert_eq!(order, ["read", "read", "read", "sent", "sent", "sent"]);
    }
}

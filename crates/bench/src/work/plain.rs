//! Requests that are known before the run: one URL or many, in an order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use forebay_engine::{Driver, Expect, Fault, Http1, Next, Outgoing, Plan, Response, Running};
use forebay_results::{Cause, Tally};
use forebay_workload::{Mix, Order};

/// A request as it leaves.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) endpoint: u32,
    pub(crate) is_head: bool,
}

/// Requests, and in which order.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) requests: Arc<[Rendered]>,
    pub(crate) order: Order,
    pub(crate) seed: u64,
    pub(crate) close: bool,
}

impl Plain {
    pub(super) fn start(&self, plan: &Plan) -> io::Result<Running> {
        let (plain, (first, all)) = (self.clone(), plan.share);
        forebay_engine::start(plan, move |thread, _| {
            let number = (first + thread) as usize;
            Sender {
                mix: Mix::new(plain.order.clone(), number, all as usize, plain.seed),
                plain: plain.clone(),
            }
        })
    }
}

/// The users of one thread: each is a connection, and what it sends depends on nothing.
struct Sender {
    plain: Plain,
    mix: Mix,
}

impl Driver for Sender {
    type Session = Http1;

    #[inline]
    fn next(&mut self, _user: u32, out: &mut Vec<u8>) -> Next<Http1> {
        let index = self.mix.next();
        let Some(request) = self.plain.requests.get(index) else {
            return Next::Finished;
        };
        out.extend_from_slice(&request.bytes);
        Next::Send(Outgoing {
            endpoint: request.endpoint,
            label: 0,
            expect: Expect {
                is_head: request.is_head,
                ..Expect::default()
            },
            close: self.plain.close,
        })
    }

    #[inline]
    fn answered(
        &mut self,
        _user: u32,
        response: &Response,
        _session: &mut Http1,
        _whole: Duration,
        _tally: &mut Tally,
    ) -> Result<(), Fault> {
        if response.status >= 400 {
            return Err(Fault::status());
        }
        Ok(())
    }

    fn failed(&mut self, _user: u32, _cause: Cause, _tally: &mut Tally) {}

    fn is_scheduled(&self, _user: u32) -> bool {
        true
    }

    fn home(&self, _user: u32) -> Option<u32> {
        let request = self.plain.requests.first()?;
        (!self.plain.close).then_some(request.endpoint)
    }
}

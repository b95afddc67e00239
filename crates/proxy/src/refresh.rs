//! A stale object fetched anew behind the answer that was given with it
//! (RFC 5861 section 3). There is no client: what the machine would send is dropped.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use forebay_cache::Object;
use forebay_cache::flight::Lead;
use forebay_http::cache_control::RequestDirectives;
use forebay_http::framing::BodyLength;
use forebay_http::{FieldId, Method};

use crate::client::{Client, Framing};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::forward::Peer;
use crate::miss::{Purpose, changes_for};
use crate::outcome::Outcome;
use crate::snapshot::Held;
use crate::timers::Timer;
use crate::worker::{Request, Worker};

/// A refresh to be done.
pub(crate) struct Refresh {
    pub(crate) worker: Rc<Worker>,
    pub(crate) snapshot: Rc<Held>,
    pub(crate) request: Box<Request>,
    pub(crate) peer: Rc<Peer>,
    /// Its number.
    pub(crate) location: usize,
    pub(crate) known: Arc<Object>,
    pub(crate) lead: Lead,
}

impl Refresh {
    pub(crate) fn spawn(self) {
        tokio::task::spawn_local(self.run());
    }

    async fn run(mut self) {
        let mut nobody = Nobody {
            timer: self.worker.timers.timer(),
            head: Vec::new(),
        };
        let location = self.snapshot.locations.get(self.location);
        let moment = self.worker.now();
        let mut exchange = Exchange {
            worker: &self.worker,
            snapshot: &self.snapshot,
            client: &mut nobody,
            request: &mut self.request,
            peer: Rc::clone(&self.peer),
            location,
            policy: &location.policy,
            directives: RequestDirectives::default(),
            started: moment,
            moment,
            asked_ms: 0,
            asked_purges: 0,
            outcome: Outcome::default(),
            extra: Vec::new(),
            held: None,
            request_lines: None,
            kept: Vec::new(),
            user: None,
            page: None,
        };
        // What is asked for is the object, whatever the request that found it stale wanted of it.
        let head = &mut exchange.request.head;
        head.method = Method::Get;
        for id in [
            FieldId::Range,
            FieldId::IfRange,
            FieldId::CacheControl,
            FieldId::Pragma,
        ] {
            head.fields.remove(id);
        }
        let changes = changes_for(Some(&self.known), false);
        match exchange.ask(&changes, false).await {
            Ok(fetched) => {
                let known = Some(Arc::clone(&self.known));
                let mut purpose = Purpose {
                    lead: Some(self.lead),
                    known,
                    store: true,
                    changes,
                    was_invalid: false,
                };
                // Whatever the step would be, there is nobody to take it.
                let _ = exchange.arrived(fetched, &mut purpose).await;
            }
            Err(Failure::Origin(failure)) => failure.tell(self.lead),
            Err(_) => {}
        }
    }
}

/// A client that takes everything and keeps nothing.
struct Nobody {
    timer: Timer,
    head: Vec<u8>,
}

impl Client for Nobody {
    fn timer(&self) -> &Timer {
        &self.timer
    }

    fn is_http10(&self) -> bool {
        true
    }

    fn wants_nothing(&self) -> bool {
        true
    }

    fn body_length(&self) -> BodyLength {
        BodyLength::None
    }

    fn has_more_body(&self) -> bool {
        false
    }

    fn poll_body(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Range<usize>>, Failure>> {
        Poll::Ready(Ok(None))
    }

    fn body_bytes(&self, _: Range<usize>) -> &[u8] {
        &[]
    }

    fn consume_body(&mut self, _: usize) {}

    fn body_trailers(&self) -> Option<&[u8]> {
        None
    }

    fn stage_interim(&mut self, _: &[u8]) {}

    fn head(&mut self) -> &mut Vec<u8> {
        &mut self.head
    }

    fn end_head(&mut self, _: Framing, _: bool) {
        self.head.clear();
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[&[u8]]) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn poll_end(&mut self, _: &mut Context<'_>, _: Option<&[u8]>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, _: &mut Context<'_>) -> bool {
        false
    }

    fn close_after(&mut self) {}

    fn break_off(&mut self) {}

    fn written(&self) -> u64 {
        0
    }
}

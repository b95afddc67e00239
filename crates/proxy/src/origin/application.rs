//! The side of an exchange that is an application's: how its responses end, and when its process
//! is free for another request.

use std::rc::Rc;
use std::task::{Poll, ready};

use forebay_cgi::Form;
use forebay_config::settings::Pool;
use forebay_http::framing::{self, BodyLength};
use forebay_upstream::FirstAnswer;

use super::records::Records;
use super::{Origin, Speech};
use crate::failure::OriginFailure;
use crate::message::Incoming;
use crate::snapshot::Snapshot;

/// How long a FastCGI application's process is held idle unless the pool says otherwise: whoever
/// else asks it waits for so long.
const IDLE_PROCESS_MS: u64 = 1_000;

impl Origin {
    /// Speaks FastCGI, SCGI or uwsgi from here on.
    pub(super) fn speak(&mut self, form: Form, pool: &Pool, has_body: bool) {
        let Form::FastCgi { keep } = form else {
            self.keep_alive = false;
            self.speech = Speech::Plain;
            return;
        };
        self.keep_alive = keep;
        self.speech = Speech::Records(Records::default());
        if pool.idle_timeout.is_none() {
            self.patience_ms = IDLE_PROCESS_MS;
        }
        if !self.connection.reused {
            let server = self.connection.server();
            self.first = Some(FirstAnswer::awaited(server, self.worker.now_ms()));
        }
        if has_body {
            self.output.frame_records();
        }
    }

    /// Prepares for the body of an application's response, like [`Origin::begin_body`]. It has no
    /// transfer codings and its connection is not its own: fields that speak of them are dropped,
    /// not heeded.
    pub(super) fn begin_cgi_body(&mut self, is_head: bool) -> Result<BodyLength, OriginFailure> {
        let head = &mut self.head;
        let stated = framing::content_length(&head.fields)?;
        framing::remove_hop_by_hop(&mut head.fields);
        let wanted = !is_head && !matches!(head.status, 204 | 304);
        let length = match &mut self.speech {
            Speech::Records(records) => {
                let known = records.begin_body(stated, wanted, self.input.filled());
                known.map_or(BodyLength::Chunked, BodyLength::Length)
            }
            _ => stated.map_or(BodyLength::UntilClose, BodyLength::Length),
        };
        let length = if wanted { length } else { BodyLength::None };
        if matches!(self.speech, Speech::Plain) {
            self.incoming = Incoming::new(length, 0, 0);
        }
        Ok(length)
    }

    /// Whether other connections wait for the process of the application that this one holds.
    pub(super) fn is_wanted_by_others(&self, now_ms: u64) -> bool {
        matches!(self.speech, Speech::Records(_)) && self.connection.server().is_starved(now_ms)
    }

    /// Whether an application that could be asked again has not ended its response yet.
    pub(super) fn wants_end(&mut self) -> bool {
        let may_be_kept =
            self.keep_alive && !self.broken && self.request_sent && self.is_complete();
        let Speech::Records(records) = &mut self.speech else {
            return false;
        };
        let server = self.connection.server().label();
        match may_be_kept.then(|| records.finish(&mut self.input, server)) {
            Some(Ok(has_ended)) => !has_ended,
            Some(Err(_)) => {
                self.broken = true;
                false
            }
            None => false,
        }
    }

    /// Waits beside the exchange, whose client has its answer, until the application has ended its
    /// own work on it: only then it takes another request.
    pub(super) fn await_end(mut self: Box<Self>, snapshot: &Snapshot) {
        let limit = snapshot.settings.timeouts.response_body;
        tokio::task::spawn_local(async move {
            let worker = Rc::clone(&self.worker);
            let timer = worker.timers.timer();
            let ending = std::future::poll_fn(|cx| {
                while self.wants_end() {
                    match ready!(self.poll_fill(cx)) {
                        Ok(read) if read > 0 => {}
                        _ => break,
                    }
                }
                Poll::Ready(())
            });
            if timer.within(limit, ending).await.is_ok() && !self.wants_end() {
                let now_ms = worker.now_ms();
                self.release(&worker.snapshot(), now_ms);
            }
        });
    }
}

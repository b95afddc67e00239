//! A session: a page that writes, a redirect, a page that reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_engine::{Driver, Expect, Fault, Http1, Next, Outgoing, Response};
use forebay_http::FieldId;
use forebay_results::{Cause, SessionFigures, Tally};
use forebay_workload::Target;

use super::jar::Jar;
use super::page::{self, Shown};

/// Indexes of the labels.
const WRITE: u32 = 0;
const READ: u32 = 1;
/// Their names.
pub(super) const LABELS: [&str; 2] = ["write", "read"];
/// A user whose page is under way has nothing to do until it came.
const UNTIL_ANSWERED: Duration = Duration::from_secs(3600);

/// Checked settings, shared by all threads.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) place: Target,
    pub(super) authority: String,
    /// The path of the first page before and behind the data.
    pub(super) write: (String, String),
    /// The path of the second page, unless the first says.
    pub(super) read: Option<String>,
    pub(super) data_bytes: usize,
    /// Between the pages.
    pub(super) pause: Duration,
    pub(super) close: bool,
    /// On all machines together.
    pub(super) sessions: u64,
}

/// The users of one thread: each goes through one session after the other.
pub(super) struct Visitors {
    visit: Arc<Visit>,
    /// Tells the sessions of this run from those of others.
    run: u64,
    /// The numbers of this machine's sessions that were not begun yet, taken by all its threads.
    numbers: Arc<AtomicU64>,
    end: u64,
    users: Vec<Visitor>,
    /// Data of the session that is looked at.
    data: Vec<u8>,
}

#[derive(Debug, Default)]
struct Visitor {
    state: State,
    /// What its data follows from.
    id: u64,
    jar: Jar,
    /// The second page.
    read: String,
    /// When the first page was due.
    began: Option<std::time::Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Between,
    Writing,
    /// The first page is there; the pause is still to be waited for.
    Redirected,
    Paused,
    Reading,
}

impl Visitors {
    /// `users` users who take their sessions from `numbers`, up to `end`.
    pub(super) fn new(
        visit: &Arc<Visit>,
        users: u32,
        run: u64,
        (numbers, end): (&Arc<AtomicU64>, u64),
    ) -> Self {
        Self {
            visit: Arc::clone(visit),
            run,
            numbers: Arc::clone(numbers),
            end,
            users: (0..users).map(|_| Visitor::default()).collect(),
            data: Vec::new(),
        }
    }

    fn begin(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Http1> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        if number >= self.end {
            return Next::Finished;
        }
        let visit = &*self.visit;
        let user = &mut self.users[user as usize];
        user.id = (self.run ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        user.jar.clear();
        user.state = State::Writing;
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(visit.write.0.as_bytes());
        page::write_data(out, user.id, visit.data_bytes);
        out.extend_from_slice(visit.write.1.as_bytes());
        visit.end_request(out, &user.jar);
        Next::Send(visit.outgoing(WRITE, false))
    }

    fn read(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Http1> {
        let user = &mut self.users[user as usize];
        user.state = State::Reading;
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(user.read.as_bytes());
        self.visit.end_request(out, &user.jar);
        Next::Send(self.visit.outgoing(READ, true))
    }

    /// The first page: where the second is.
    fn written(&mut self, user: u32, response: &Response, session: &Http1) -> Result<(), Fault> {
        let user = &mut self.users[user as usize];
        user.state = State::Between;
        if response.status >= 400 {
            return Err(Fault::status());
        }
        let Some(kept) = session.kept() else {
            return Err(wrong("the first page came without a head"));
        };
        user.jar.take(&kept.head);
        user.read.clear();
        let location = kept.head.fields.get(FieldId::Location);
        match (&self.visit.read, location, response.status) {
            (Some(path), ..) => user.read.push_str(path),
            (None, Some(location), 300..400) => {
                let reference = String::from_utf8_lossy(location);
                let target = self
                    .visit
                    .place
                    .with_path(&self.visit.write.0)
                    .join(&reference);
                let target = target.map_err(|error| wrong(&error.to_string()))?;
                if !target.same_place(&self.visit.place) {
                    return Err(wrong("the first page redirects to another server"));
                }
                user.read.push_str(&target.path);
            }
            _ => {
                return Err(wrong(
                    "the first page does not redirect (--read names the second)",
                ));
            }
        }
        user.state = State::Redirected;
        Ok(())
    }

    /// The second page: whether it shows what the first was given.
    fn shown(&mut self, user: u32, response: &Response, session: &Http1) -> Result<Shown, Fault> {
        let user = &mut self.users[user as usize];
        user.state = State::Between;
        match response.status {
            // The application says that there is no such session.
            401 | 403 | 404 | 410 => return Ok(Shown::Nothing),
            400.. => return Err(Fault::status()),
            300..400 => return Ok(Shown::Nothing),
            _ => {}
        }
        self.data.clear();
        page::write_data(&mut self.data, user.id, self.visit.data_bytes);
        let body = session.kept().map_or(&[][..], |kept| &kept.body);
        Ok(page::shown(body, &self.data))
    }
}

impl Visit {
    fn end_request(&self, out: &mut Vec<u8>, jar: &Jar) {
        out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        out.extend_from_slice(self.authority.as_bytes());
        out.extend_from_slice(b"\r\nUser-Agent: forebay-bench\r\nAccept: */*\r\n");
        if self.close {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        jar.write(out);
        out.extend_from_slice(b"\r\n");
    }

    fn outgoing(&self, label: u32, keep_body: bool) -> Outgoing<Http1> {
        Outgoing {
            endpoint: 0,
            label,
            expect: Expect {
                is_head: false,
                keep_head: true,
                keep_body,
            },
            close: self.close,
        }
    }
}

fn wrong(words: &str) -> Fault {
    Fault {
        cause: Cause::Check,
        words: Some(words.to_owned()),
    }
}

/// Counts a session that was lost, wrong or kept.
fn count(figures: &mut SessionFigures, shown: Shown) -> Result<(), Fault> {
    match shown {
        Shown::Kept => figures.kept += 1,
        Shown::Nothing => figures.lost += 1,
        Shown::Other => figures.wrong += 1,
    }
    match shown {
        Shown::Kept => Ok(()),
        Shown::Nothing => Err(wrong("session lost: the second page shows nothing")),
        Shown::Other => Err(wrong("session wrong: the second page shows something else")),
    }
}

impl Driver for Visitors {
    type Session = Http1;

    fn next(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Http1> {
        let state = &mut self.users[user as usize].state;
        match *state {
            State::Between => self.begin(user, out),
            State::Redirected if !self.visit.pause.is_zero() => {
                *state = State::Paused;
                Next::Wait(self.visit.pause)
            }
            State::Redirected | State::Paused => self.read(user, out),
            State::Writing | State::Reading => Next::Wait(UNTIL_ANSWERED),
        }
    }

    fn answered(
        &mut self,
        user: u32,
        response: &Response,
        session: &mut Http1,
        whole: Duration,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let now = std::time::Instant::now();
        let figures = tally.sessions.get_or_insert_default();
        let owner = &mut self.users[user as usize];
        if owner.state == State::Writing {
            figures.sessions += 1;
            owner.began = now.checked_sub(whole);
            return self.written(user, response, session);
        }
        let began = owner.began;
        let shown = self.shown(user, response, session)?;
        if let Some(began) = began {
            figures.between.record((now - began).as_nanos() as u64);
        }
        count(figures, shown)
    }

    fn failed(&mut self, user: u32, _cause: Cause, tally: &mut Tally) {
        let state = &mut self.users[user as usize].state;
        if *state == State::Writing {
            tally.sessions.get_or_insert_default().sessions += 1;
        }
        // Whatever became of it, this session is over.
        *state = State::Between;
    }

    fn is_scheduled(&self, user: u32) -> bool {
        self.users[user as usize].state == State::Between
    }

    fn home(&self, _user: u32) -> Option<u32> {
        (!self.visit.close).then_some(0)
    }
}

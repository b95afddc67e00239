//! Exchanges followed live: the proxy's tail as the administration wants it.

use std::time::Duration;

use forebay_admin::control::{Problem, Tail, TailEvent, TailFilter};
use forebay_proxy::{Handle, StatusFilter, TailError, TailLine};

/// Lines that wait for a reader before they are dropped, and counted.
const CAPACITY: usize = 8_192;

struct Live(forebay_proxy::Tail);

impl Tail for Live {
    fn next(&mut self, patience: Duration) -> TailEvent {
        match self.0.recv(patience) {
            Some(TailLine::Exchange(line)) => TailEvent::Exchange(line),
            Some(TailLine::Dropped(count)) => TailEvent::Dropped(count),
            None => TailEvent::Quiet,
        }
    }
}

/// Begins to follow.
///
/// # Errors
/// There are too many already, or the filter names what does not exist.
pub(super) fn begin(handle: &Handle, filter: &TailFilter) -> Result<Box<dyn Tail>, Problem> {
    match handle.tail(translate(filter), CAPACITY) {
        Ok(tail) => Ok(Box::new(Live(tail))),
        Err(error @ TailError::TooMany) => Err(Problem::Unavailable(error.to_string())),
        Err(TailError::Filter(text)) => Err(Problem::Invalid(text)),
    }
}

fn translate(filter: &TailFilter) -> forebay_proxy::TailFilter {
    let status = filter.status.iter().map(|(from, to)| {
        if from == to {
            StatusFilter::Code(*from)
        } else {
            StatusFilter::Class(from / 100)
        }
    });
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    forebay_proxy::TailFilter {
        status: status.collect(),
        host: filter.host.clone(),
        url: filter.url.clone(),
        cache: filter.cache.clone(),
        slower_than_us: filter.slower_than.map(micros),
    }
}

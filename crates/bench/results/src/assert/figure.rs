//! The figures of a phase by the names that expressions use.

use crate::{Cause, Counts, Histogram, Phase, format};

/// A figure of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A statistic of durations: nanoseconds.
    Time(Durations, Statistic),
    /// A count, a rate, a share or a size.
    Plain(Plain),
    /// Requests that failed for a cause.
    Failed(Cause),
    /// Responses with a status.
    Status(u16),
    /// A figure of the requests with a label.
    Label(String, LabelFigure),
}

/// Which durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durations {
    /// From request to last byte.
    Whole,
    /// From request to first byte.
    FirstByte,
    /// Opening a connection.
    Connect,
    /// From the first to the second page of a session.
    Between,
}

/// A statistic of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// The shortest.
    Min,
    /// The longest.
    Max,
    /// Standard deviation.
    Deviation,
    /// What this many percent do not exceed.
    Percentile(f64),
}

/// What is asked of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabelFigure {
    /// Its durations.
    Time(Statistic),
    /// Requests that failed.
    Failed,
    /// Requests that did not.
    Succeeded,
    /// Succeeded of all, in percent.
    Success,
    /// Succeeded a second.
    Rate,
}

/// What a figure's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds.
    Duration,
    /// Bytes, or bytes a second.
    Size,
    /// Percent.
    Percent,
    /// Any other number.
    Number,
}

impl Kind {
    /// A value in words. Success keeps its decimals: 99.9995 is not 100.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Duration => format::duration(value),
            Self::Size => format::size(value),
            Self::Percent => format!("{} %", (value * 1e5).floor() / 1e5),
            Self::Number if value.fract() == 0.0 && value >= 0.0 => format::count(value as u64),
            Self::Number => format::significant(value),
        }
    }
}

/// Why a figure is not there.
type Unmeasured = &'static str;

const NO_DURATIONS: Unmeasured = "no request came to its end";
const NO_SERVER: Unmeasured =
    "the server was not observed (it must run on this machine; see --pid)";
const NO_LABEL: Unmeasured = "no request has this label";
const NO_SESSIONS: Unmeasured = "this was no session load";

macro_rules! plain_figures {
    ($($variant:ident $name:literal $kind:ident $about:literal = |$phase:ident| $value:expr;)*) => {
        /// Figures that are neither durations nor parameterised.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plain { $(#[doc = $about] $variant,)* }

        impl Plain {
            pub(super) const ALL: &[(&str, Self, &str)] = &[$(($name, Self::$variant, $about),)*];

            fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }

            fn of(self, phase: &Phase) -> Result<f64, Unmeasured> {
                match self { $(Self::$variant => { let $phase = phase; $value })* }
            }
        }
    };
}

plain_figures! {
    Success "success" Percent "succeeded of completed requests, in percent" = |phase| success(&phase.tally.counts);
    Rate "rps" Number "requests that succeeded, a second" = |phase| Ok(phase.requests_per_second());
    Pages "pages" Number "requests that succeeded, a minute" = |phase| Ok(phase.pages_per_minute());
    ByteRate "bytes" Size "bytes read a second" = |phase| Ok(phase.bytes_per_second());
    Requests "requests" Number "requests that came to an end" = |phase| whole(phase.tally.counts.completed);
    Succeeded "succeeded" Number "requests that succeeded" = |phase| whole(phase.tally.counts.succeeded);
    Failed "failed" Number "requests that failed, for any cause" = |phase| whole(phase.tally.counts.failures());
    Unfinished "unfinished" Number "requests still due or under way at the end" = |phase| whole(phase.tally.counts.unfinished);
    Connects "connects" Number "connections opened" = |phase| whole(phase.tally.counts.connects);
    Hit "hit" Percent "responses out of a cache, in percent of those that tell" = |phase|
        phase.tally.counts.hit_percent().ok_or("responses do not say whether a cache had them");
    Concurrency "concurrency" Number "requests under way on the mean" = |phase| Ok(phase.concurrency());
    CpuUs "cpu_us" Number "processor time of the server a request, in microseconds" = |phase|
        phase.server.as_ref().map(|server| server.cpu_us_per_request).ok_or(NO_SERVER);
    Cores "cores" Number "processors the server kept busy" = |phase| phase.server_cores().ok_or(NO_SERVER);
    Resident "rss" Size "peak resident memory of the server" = |phase|
        phase.server.as_ref().map(|server| server.peak_resident_bytes as f64).ok_or(NO_SERVER);
    Lost "lost" Number "sessions whose second page had nothing" = |phase|
        phase.tally.sessions.as_ref().map(|s| s.lost as f64).ok_or(NO_SESSIONS);
    Wrong "wrong" Number "sessions whose second page had another's data" = |phase|
        phase.tally.sessions.as_ref().map(|s| s.wrong as f64).ok_or(NO_SESSIONS);
}

impl Figure {
    /// Every figure and what it is, for the reference. Causes of failure are figures as well.
    pub const REFERENCE: &[(&str, &str)] = &[
        (
            "p50, p99, p99.9, …",
            "what so many percent of requests do not exceed, from request to last byte",
        ),
        (
            "mean, min, max, deviation",
            "other statistics of the same durations",
        ),
        (
            "first_byte.STATISTIC",
            "the same from request to first byte",
        ),
        ("connect.STATISTIC", "the same of opening a connection"),
        (
            "between.STATISTIC",
            "the same from the first to the second page of a session",
        ),
        (
            "label(NAME).STATISTIC",
            "the same of requests with a label; also .failed, .succeeded, .success, .rps",
        ),
        ("status(CODE)", "responses with this status"),
    ];

    /// The names of all figures without a parameter, and what they are.
    pub fn plain() -> impl Iterator<Item = (&'static str, &'static str)> {
        let causes = Cause::ALL.iter().map(|cause| (cause.name(), cause.about()));
        Plain::ALL
            .iter()
            .map(|&(name, _, about)| (name, about))
            .chain(causes)
    }

    /// What its values are.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Time(..) | Self::Label(_, LabelFigure::Time(_)) => Kind::Duration,
            Self::Label(_, LabelFigure::Success) => Kind::Percent,
            Self::Plain(plain) => plain.kind(),
            Self::Failed(_) | Self::Status(_) | Self::Label(..) => Kind::Number,
        }
    }

    /// Its value in a phase.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(&self, phase: &Phase) -> Result<f64, &'static str> {
        let counts = &phase.tally.counts;
        match self {
            Self::Time(durations, statistic) => statistic.of(durations.of(phase)?),
            Self::Plain(plain) => plain.of(phase),
            Self::Failed(cause) => whole(counts.failed.get(cause).copied().unwrap_or(0)),
            Self::Status(status) => whole(counts.statuses.get(status).copied().unwrap_or(0)),
            Self::Label(name, figure) => figure.of(phase, name),
        }
    }
}

impl Durations {
    fn of(self, phase: &Phase) -> Result<&Histogram, Unmeasured> {
        let latency = &phase.tally.latency;
        Ok(match self {
            Self::Whole => &latency.whole,
            Self::FirstByte => &latency.first_byte,
            Self::Connect => &latency.connect,
            Self::Between => &phase.tally.sessions.as_ref().ok_or(NO_SESSIONS)?.between,
        })
    }
}

impl Statistic {
    fn of(self, durations: &Histogram) -> Result<f64, Unmeasured> {
        if durations.count() == 0 {
            return Err(NO_DURATIONS);
        }
        Ok(match self {
            Self::Mean => durations.mean_ns(),
            Self::Min => durations.min_ns() as f64,
            Self::Max => durations.max_ns() as f64,
            Self::Deviation => durations.deviation_ns(),
            Self::Percentile(percent) => durations.percentile_ns(percent) as f64,
        })
    }
}

impl LabelFigure {
    fn of(self, phase: &Phase, name: &str) -> Result<f64, Unmeasured> {
        let mut labels = phase.labels.iter().zip(&phase.tally.labels);
        let (_, tally) = labels.find(|(label, _)| *label == name).ok_or(NO_LABEL)?;
        match self {
            Self::Time(statistic) => statistic.of(&tally.whole),
            Self::Failed => whole(tally.failed),
            Self::Succeeded => whole(tally.succeeded),
            Self::Success => match tally.succeeded + tally.failed {
                0 => Err(NO_DURATIONS),
                all => Ok(100.0 * tally.succeeded as f64 / all as f64),
            },
            Self::Rate if phase.seconds > 0.0 => Ok(tally.succeeded as f64 / phase.seconds),
            Self::Rate => Ok(0.0),
        }
    }
}

/// Counts never come near what a float cannot hold exactly.
fn whole(count: u64) -> Result<f64, Unmeasured> {
    Ok(count as f64)
}

fn success(counts: &Counts) -> Result<f64, Unmeasured> {
    if counts.completed == 0 {
        return Err(NO_DURATIONS);
    }
    Ok(counts.success_percent())
}

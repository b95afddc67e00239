//! A run from its first connection to its report: rungs one after the other,
//! their intervals collected, the server watched, the view kept up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use forebay_engine::{Address, Arrivals, Interval, Running};
use forebay_results::{Machine, Phase, Report, format};

use crate::agents::Agents;
use crate::args::{Output, Shape};
use crate::collect::Collector;
use crate::live::{Now, View};
use crate::observe::{self, Observed, Unseen};
use crate::rung::{Rung, Share};
use crate::work::Work;

/// How often the view is brought up to date.
const VIEW: Duration = Duration::from_millis(500);
/// A thread that is on a processor for more of its time than this may be what is measured.
const SATURATED: f64 = 0.95;

/// What an interval is, wherever it was measured.
pub(crate) enum News {
    /// Of a machine's thread.
    Interval(u32, Box<Interval>),
    /// A machine is gone, and why.
    Lost(u32, String),
}

/// Where load comes from while a rung runs.
enum Source {
    Here(Running),
    Agents(Receiver<News>),
}

/// Everything that the rungs of a run have in common.
pub(crate) struct Conductor<'a> {
    work: &'a Work,
    times: Option<&'a Arrivals>,
    shape: &'a Shape,
    output: &'a Output,
    agents: Option<Agents>,
    stop: Arc<AtomicBool>,
    view: View,
    machines: Vec<Machine>,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Conductor<'a> {
    pub(crate) fn new(
        work: &'a Work,
        times: Option<&'a Arrivals>,
        shape: &'a Shape,
        output: &'a Output,
        agents: Option<Agents>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let machines = match &agents {
            Some(agents) => agents.machines(),
            None => vec![observe::machine()],
        };
        let mode = if std::env::var_os("CI").is_some_and(|ci| !ci.is_empty()) {
            crate::args::Live::Lines
        } else {
            output.live
        };
        let view = View::new(mode, &work.title);
        let warnings = work.notes.clone();
        let most = shape.connections.iter().copied().max().unwrap_or(1);
        if agents.is_none()
            && let Some(shortage) = crate::limits::raise_open_files(most)
        {
            return Err(shortage);
        }
        Ok(Self {
            work,
            times,
            shape,
            output,
            agents,
            stop,
            view,
            machines,
            warnings,
        })
    }

    /// Whether the user ended it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells the user something while the run goes on.
    pub(crate) fn note(&mut self, text: &str) {
        self.view.note(text);
    }

    /// Runs one rung, number `place.0` of `place.1`.
    ///
    /// # Errors
    /// When no load can be sent at all.
    pub(crate) fn run(&mut self, rung: &Rung, place: (usize, usize)) -> Result<Phase, String> {
        let mut source = self.start(rung)?;
        let expected = rung.duration.unwrap_or(Duration::from_secs(60));
        let mut watch = Watch {
            collector: Collector::new(expected.as_secs()),
            server: None,
            began: None,
            next_view: Instant::now() + VIEW,
            next_sample: Instant::now(),
            resident_bytes: 0,
        };
        self.view
            .begin(&rung.name(), place, rung.duration, rung.requests);
        while let Some(news) = self.next(&mut source) {
            if let Some(news) = news {
                self.take(news, &mut watch);
            }
            self.keep_up(&mut watch);
        }
        self.view.end();
        let completed = watch.collector.tally().counts.completed;
        let server = watch.server.map(|server| server.finish(completed));
        let mut phase = watch.collector.finish();
        phase.server = server;
        phase.client.resident_bytes = watch.resident_bytes.max(observe::own_resident_bytes());
        self.describe(&mut phase, rung);
        self.judge(&phase, rung);
        Ok(phase)
    }

    fn start(&mut self, rung: &Rung) -> Result<Source, String> {
        if let Some(agents) = &mut self.agents {
            return agents.start(rung).map(Source::Agents);
        }
        let plan = rung.plan(self.shape, self.work, self.times, Share::WHOLE);
        let running = self
            .work
            .start(&plan)
            .map_err(|error| format!("the load cannot be started: {error}"))?;
        Ok(Source::Here(running))
    }

    /// The next news; `Some(None)` when there was none for a while, `None` when all threads ended.
    fn next(&mut self, source: &mut Source) -> Option<Option<News>> {
        let received = match source {
            Source::Here(running) => {
                if self.stop.load(Ordering::Relaxed) {
                    running.stop();
                }
                let interval = running.intervals.recv_timeout(VIEW);
                interval.map(|interval| News::Interval(0, Box::new(interval)))
            }
            Source::Agents(news) => {
                if self.stop.load(Ordering::Relaxed)
                    && let Some(agents) = &mut self.agents
                {
                    agents.stop();
                }
                news.recv_timeout(VIEW)
            }
        };
        match received {
            Ok(news) => Some(Some(news)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn take(&mut self, news: News, watch: &mut Watch) {
        match news {
            News::Interval(machine, interval) => {
                if watch.began.is_none() {
                    // The measured time begins with the first thread's first word.
                    watch.began = Some(Instant::now());
                    watch.server = self.observed();
                }
                if interval.is_last
                    && let (Some(server), Some(began)) = (&mut watch.server, watch.began)
                {
                    server.sample(began.elapsed().as_secs_f64());
                    watch.next_sample = Instant::now() + Duration::from_secs(3600);
                }
                if let Some(machine) = self.machines.get_mut(machine as usize) {
                    machine.completed += interval.tally.counts.completed;
                }
                watch.collector.add(machine, *interval);
            }
            News::Lost(machine, why) => {
                watch.collector.lose(machine);
                if let Some(agents) = &mut self.agents {
                    agents.lose(machine);
                }
                if let Some(machine) = self.machines.get_mut(machine as usize) {
                    let text = format!("the agent {} was lost: {why}", machine.name);
                    machine.lost = Some(why);
                    self.view.note(&text);
                    self.warnings.push(text);
                }
            }
        }
    }

    /// The server's process, when it is on this machine.
    fn observed(&mut self) -> Option<Observed> {
        if self.output.no_observe {
            return None;
        }
        let found = match (self.output.pid, &self.work.server) {
            (Some(pid), _) => {
                Observed::by_pid(pid).ok_or_else(|| format!("there is no process {pid}"))
            }
            (None, Some(Address::Tcp(address))) => match Observed::find(&[*address]) {
                // A server on another machine is nothing to wonder at.
                Err(Unseen::Elsewhere(_)) => return None,
                found => found.map_err(|unseen| unseen.to_string()),
            },
            (None, Some(Address::Unix(path))) => {
                Observed::by_socket(&path.to_string_lossy()).map_err(|unseen| unseen.to_string())
            }
            (None, None) => return None,
        };
        match found {
            Ok(mut server) => {
                server.start();
                Some(server)
            }
            Err(why) => {
                if !self.warnings.contains(&why) {
                    self.warnings.push(why);
                }
                None
            }
        }
    }

    fn keep_up(&mut self, watch: &mut Watch) {
        let now = Instant::now();
        if now >= watch.next_sample
            && let (Some(server), Some(began)) = (&mut watch.server, watch.began)
        {
            server.sample(began.elapsed().as_secs_f64());
            watch.next_sample = now + Duration::from_secs(1);
        }
        if now < watch.next_view {
            return;
        }
        watch.next_view = now + VIEW;
        watch.resident_bytes = watch.resident_bytes.max(observe::own_resident_bytes());
        let (totals, tally) = (watch.collector.totals(), watch.collector.tally());
        let latest = watch.collector.latest();
        self.view.update(&Now {
            elapsed: Duration::from_nanos(totals.elapsed_ns),
            completed: tally.counts.completed,
            failed: &tally.counts.failed,
            open: totals.open,
            client_busiest: totals.busiest,
            last: latest,
            server_cores: watch.server.as_ref().and_then(Observed::cores),
        });
    }

    fn describe(&self, phase: &mut Phase, rung: &Rung) {
        phase.name = rung.name();
        phase.connections = rung.connections;
        phase.rate = rung.rate;
        phase.keep_alive = self.work.keep_alive;
        phase.pipeline = self.shape.pipeline as u32;
        phase.labels.clone_from(&self.work.labels);
    }

    /// What a reader must know before believing the figures.
    fn judge(&mut self, phase: &Phase, rung: &Rung) {
        let counts = &phase.tally.counts;
        if phase.client.busiest_thread > SATURATED {
            self.warnings.push(format!(
                "{}: a thread of the load tester was busy {} of the time; the server may be faster than this shows \
                 (more threads with -t, cores of its own with --cores, other machines with --agents)",
                phase.name,
                format::share(phase.client.busiest_thread)
            ));
        }
        let due = counts.completed + counts.unfinished;
        if rung.rate.is_some() && counts.unfinished > 2 && counts.unfinished * 100 > due {
            self.warnings.push(format!(
                "{}: {} of {} requests that were due were not answered in time; what they waited is in the durations \
                 (more connections with -c if the server is not at its limit)",
                phase.name,
                format::count(counts.unfinished),
                format::count(due)
            ));
        }
        if let Some(connections) = (rung.rate.is_none() && counts.completed == 0)
            .then_some(phase.connections)
            .filter(|_| !self.is_stopped())
        {
            self.warnings.push(format!(
                "{}: not one request of {connections} connections came to an end",
                phase.name
            ));
        }
    }

    /// The report of these phases.
    pub(crate) fn report(&mut self, phases: Vec<Phase>, started: String) -> Report {
        Report {
            format: 1,
            program: format!("forebay {}", env!("CARGO_PKG_VERSION")),
            title: self.work.title.clone(),
            command: crate::emit::command(),
            started,
            machines: std::mem::take(&mut self.machines),
            phases,
            warnings: std::mem::take(&mut self.warnings),
            finding: None,
        }
    }
}

/// What is kept while a rung runs.
struct Watch {
    collector: Collector,
    server: Option<Observed>,
    began: Option<Instant>,
    next_view: Instant,
    next_sample: Instant,
    /// The load tester's own at its greatest.
    resident_bytes: u64,
}

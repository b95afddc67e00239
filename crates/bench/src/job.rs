//! What was asked for, made ready: work and shape, of any kind of load.

use clap::Parser;
use forebay_engine::Arrivals;

use crate::args::{BenchArgs, KvCommand, LoadArgs, Output, SessionCommand, Shape, Tool};
use crate::files::Files;
use crate::place::Places;
use crate::rung::{Rung, Share};
use crate::work::{self, Kind, Work};

/// Work and how it is to be done.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) times: Option<Arrivals>,
    pub(crate) shape: Shape,
    pub(crate) output: Output,
}

/// The options of `forebay bench` by themselves, for agents.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    bench: BenchArgs,
}

impl Job {
    /// The job that options on a command line (what stands behind `forebay bench`) ask for.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(crate) fn of_options(options: &[String], files: &Files) -> Result<Self, String> {
        let line = Line::try_parse_from(options).map_err(|error| error.to_string())?;
        match line.bench.tool {
            None => Self::of_load(&line.bench.load, files),
            Some(Tool::Kv(kv)) => Self::of_kv(&kv),
            Some(Tool::Session(session)) => Self::of_session(&session),
            Some(_) => Err("this is not load".into()),
        }
    }

    pub(crate) fn of_load(args: &LoadArgs, files: &Files) -> Result<Self, String> {
        let built = work::build(args, files)?;
        let mut shape = args.shape.clone();
        if shape.duration.is_none() && shape.requests.is_none() && shape.find_limit.is_none() {
            shape.requests = built.once;
        }
        Ok(Self {
            work: built.work,
            times: built.times,
            shape,
            output: args.output.clone(),
        })
    }

    pub(crate) fn of_kv(args: &KvCommand) -> Result<Self, String> {
        let kv = args.kv.plan(args.shape.seed)?;
        let mut places = Places::plain();
        places.endpoint(kv.place())?;
        Ok(Self {
            work: Work {
                title: kv.title().to_owned(),
                labels: kv.labels(),
                endpoints: places.endpoints.clone(),
                server: places.first(),
                keep_alive: true,
                notes: Vec::new(),
                kind: Kind::Kv(kv),
            },
            times: None,
            shape: args.shape.clone(),
            output: args.output.clone(),
        })
    }

    /// What is to be done before the first rung, and is not measured.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let Kind::Kv(kv) = &self.work.kind else {
            return Ok(());
        };
        let rung = Rung::all(&self.shape).into_iter().next();
        if let Some(rung) = rung.filter(|_| kv.wants_fill()) {
            let stored = kv.fill(&rung.plan(&self.shape, &self.work, None, Share::WHOLE))?;
            eprintln!("{stored} keys are stored");
        }
        Ok(())
    }

    pub(crate) fn of_session(args: &SessionCommand) -> Result<Self, String> {
        let sessions = args.session.plan()?;
        let mut places = Places::plain();
        places.endpoint(sessions.place())?;
        let mut shape = args.shape.clone();
        if shape.duration.is_none() && shape.requests.is_none() {
            // Two pages each; without them it would end after the usual time.
            shape.requests = Some(args.session.sessions.saturating_mul(2));
        }
        Ok(Self {
            work: Work {
                title: sessions.title().to_owned(),
                labels: sessions.labels(),
                endpoints: places.endpoints.clone(),
                server: places.first(),
                keep_alive: sessions.keep_alive(),
                notes: Vec::new(),
                kind: Kind::Sessions(sessions),
            },
            times: None,
            shape,
            output: args.output.clone(),
        })
    }
}

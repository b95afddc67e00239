//! From the options of plain HTTP load to its work.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forebay_engine::Arrivals;
use forebay_workload::scenario::{Compiled, Setup};
use forebay_workload::{Base, Catalogue, Order, Replay, Request, Target, har, log, urls};

use super::plain::Rendered;
use super::{Kind, Plain, Users, Work};
use crate::args::{LoadArgs, Order as OrderOption, Speed};
use crate::files::{Files, unreadable};
use crate::place::Places;

/// More different requests than this take more memory than a load tester should.
const MOST_REQUESTS: u64 = 5_000_000;

/// The work, and the times at which its requests are due if it has its own.
pub(crate) struct Built {
    pub(crate) work: Work,
    pub(crate) times: Option<Arrivals>,
    /// Of a recording: how many requests it has, which are sent once unless the user says otherwise.
    pub(crate) once: Option<u64>,
}

/// Reads what the options name.
///
/// # Errors
/// What is wrong with them, in words for the user.
pub(crate) fn build(args: &LoadArgs, files: &Files) -> Result<Built, String> {
    let mut places = Places::new(&args.http, files)?;
    if let Some(path) = &args.what.scenario {
        return scenario(args, path, files, places);
    }
    let list = List::read(args, files)?;
    let mut requests = list.requests;
    dress(&mut requests, args, files)?;
    let mut rendered = Vec::with_capacity(requests.len());
    for request in &requests {
        let mut bytes = Vec::new();
        request.write_to(args.http.no_keepalive, &mut bytes);
        rendered.push(Rendered {
            bytes: bytes.into_boxed_slice(),
            endpoint: places.endpoint(&request.target)?,
            is_head: request.is_head(),
        });
    }
    let work = Work {
        title: list.title,
        labels: Vec::new(),
        endpoints: places.endpoints.clone(),
        server: places.first(),
        keep_alive: !args.http.no_keepalive,
        notes: list.notes,
        kind: Kind::Plain(Plain {
            requests: rendered.into(),
            order: list.order,
            seed: args.shape.seed,
            close: args.http.no_keepalive,
        }),
    };
    Ok(Built {
        work,
        times: list.times,
        once: list.once,
    })
}

/// Requests, in which order, and what is said of them.
struct List {
    requests: Vec<Request>,
    order: Order,
    times: Option<Arrivals>,
    once: Option<u64>,
    title: String,
    notes: Vec<String>,
}

impl List {
    fn read(args: &LoadArgs, files: &Files) -> Result<Self, String> {
        let what = &args.what;
        if let Some(path) = &what.log {
            let replay = read_log(args, path, files)?;
            return Self::of_replay(replay, what.speed, format!("log {}", path.display()));
        }
        if let Some(path) = &what.har {
            let har = har::read(&files.text(path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let mut list = Self::of_replay(
                har::replay(&har, &base(args)?.unwrap_or_else(Base::recorded)),
                what.speed,
                format!("HAR {}", path.display()),
            )?;
            list.notes.extend(har.notes.iter().cloned());
            return Ok(list);
        }
        if what.speed != Speed::Max {
            return Err("--speed is for --log and --har, whose requests have times".into());
        }
        let mut requests = Vec::new();
        if let Some(path) = &what.urls {
            let text = files.text(path)?;
            let server = base(args)?.and_then(|base| base.target);
            let mut read = |name: &str| files.bytes(&beside(path, name));
            requests = urls::parse(&text, server.as_ref(), &mut read)
                .map_err(|errors| format!("{}:\n{errors}", path.display()))?;
        }
        for url in &what.url {
            requests.push(Request::get(
                Target::parse(url).map_err(|error| error.to_string())?,
            ));
        }
        if let Some(count) = what.zipf {
            return Self::of_catalogue(args, count, requests.first());
        }
        let len = requests.len();
        let title = match (&what.urls, requests.as_slice()) {
            (Some(path), _) => format!("{len} URLs of {}", path.display()),
            (None, [one]) => one.target.to_string(),
            (None, _) => format!("{len} URLs"),
        };
        Ok(Self {
            requests,
            order: match what.order {
                OrderOption::Sequential => Order::sequential(len),
                OrderOption::Random => Order::Random(len),
            },
            times: None,
            once: None,
            title,
            notes: Vec::new(),
        })
    }

    fn of_replay(replay: Replay, speed: Speed, title: String) -> Result<Self, String> {
        let skipped = replay.skipped.to_string();
        let notes = skipped.lines().map(str::to_owned).collect();
        if replay.order.is_empty() {
            return Err(format!("{title}: there is nothing to send\n{skipped}"));
        }
        let times = match speed {
            Speed::Scaled(_) if !replay.timed => {
                return Err(format!("{title}: it has no times to keep"));
            }
            Speed::Scaled(factor) => Some(Arrivals::Times(
                replay
                    .order
                    .iter()
                    .map(|slot| (f64::from(slot.at_ms) * 1e6 / factor) as u64)
                    .collect(),
            )),
            Speed::Max | Speed::Popularity => None,
        };
        let once = (speed != Speed::Popularity).then_some(replay.order.len() as u64);
        let title = format!("{title} ({} requests)", replay.order.len());
        let requests = replay.requests.clone();
        let order = match speed {
            Speed::Popularity => Order::popularity(&replay)?,
            _ => Order::Recorded(Arc::new(replay)),
        };
        Ok(Self {
            requests,
            order,
            times,
            once,
            title,
            notes,
        })
    }

    fn of_catalogue(args: &LoadArgs, count: u64, server: Option<&Request>) -> Result<Self, String> {
        let server = &server.ok_or("--zipf needs the server's URL")?.target;
        if count > MOST_REQUESTS {
            return Err(format!("--zipf: at most {MOST_REQUESTS} objects"));
        }
        let what = &args.what;
        let catalogue = Catalogue::new(
            count as u32,
            what.exponent,
            what.sizes.parse()?,
            &what.path,
            args.shape.seed,
        )?;
        Ok(Self {
            requests: (0..count as usize)
                .map(|index| catalogue.request(index, server))
                .collect(),
            order: Order::Zipf(catalogue.popularity()),
            times: None,
            once: None,
            title: format!(
                "catalogue of {count} objects at {server}, exponent {}, {} in all",
                what.exponent,
                forebay_results::format::size(catalogue.total_bytes() as f64)
            ),
            notes: Vec::new(),
        })
    }
}

fn read_log(args: &LoadArgs, path: &Path, files: &Files) -> Result<Replay, String> {
    let options = log::Options {
        format: match args.what.log_format.as_str() {
            "common" | "combined" => Some(log::Format::Combined),
            "squid" => Some(log::Format::Squid),
            "json" => Some(log::Format::Json),
            _ => None,
        },
        base: base(args)?.unwrap_or_default(),
        all_methods: args.what.all_methods,
        most_requests: MOST_REQUESTS as usize,
        ..log::Options::default()
    };
    let reader = files.open(path).map_err(|error| unreadable(path, &error))?;
    log::read(reader, &options).map_err(|error| format!("{}: {error}", path.display()))
}

/// The server under test: `--base`, or the URL given.
fn base(args: &LoadArgs) -> Result<Option<Base>, String> {
    let url = args.what.base.as_ref().or(args.what.url.first());
    url.map(|url| Target::parse(url).map(Base::server))
        .transpose()
        .map_err(|error| error.to_string())
}

/// Method, fields and body that options give to every request.
fn dress(requests: &mut [Request], args: &LoadArgs, files: &Files) -> Result<(), String> {
    let body = match args.http.body.as_deref() {
        Some(text) => Some(match text.strip_prefix('@') {
            Some(path) => files
                .bytes(Path::new(path))
                .map_err(|error| unreadable(Path::new(path), &error))?,
            None => text.as_bytes().to_vec(),
        }),
        None => None,
    };
    let headers = fields(args);
    for request in requests {
        if let Some(body) = &body {
            request.body.clone_from(body);
            if request.method == "GET" {
                request.method = "POST".into();
            }
        }
        if let Some(method) = &args.http.method {
            request.method.clone_from(method);
        }
        for (name, value) in &headers {
            request
                .headers
                .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            request.headers.push((name.clone(), value.clone()));
        }
    }
    Ok(())
}

fn fields(args: &LoadArgs) -> Vec<(String, String)> {
    let mut fields = args.http.headers.clone();
    if let Some(user) = &args.http.user {
        fields.push((
            "Authorization".into(),
            format!("Basic {}", STANDARD.encode(user)),
        ));
    }
    fields
}

fn scenario(
    args: &LoadArgs,
    path: &Path,
    files: &Files,
    mut places: Places,
) -> Result<Built, String> {
    let name = path.display().to_string();
    let base = args.what.base.as_ref().or(args.what.url.first());
    let setup = Setup {
        base: base
            .map(|url| Target::parse(url))
            .transpose()
            .map_err(|error| error.to_string())?,
        headers: fields(args),
        close: args.http.no_keepalive,
    };
    let text = files.text(path)?;
    let read = |file: &str| files.bytes(&beside(path, file));
    let compiled =
        Compiled::load(&text, &name, &read, &setup).map_err(|errors| errors.to_string())?;
    let endpoints = compiled
        .places()
        .iter()
        .map(|target| places.endpoint(target))
        .collect::<Result<_, _>>()?;
    let work = Work {
        title: format!("scenario {name}"),
        labels: compiled.labels().to_vec(),
        endpoints: places.endpoints.clone(),
        server: places.first(),
        keep_alive: !args.http.no_keepalive,
        notes: Vec::new(),
        kind: Kind::Users(Users {
            compiled: Arc::new(compiled),
            endpoints,
            places: Arc::new(Mutex::new(places)),
            seed: args.shape.seed,
        }),
    };
    Ok(Built {
        work,
        times: None,
        once: None,
    })
}

/// A file named in another, relative to it.
fn beside(path: &Path, name: &str) -> std::path::PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

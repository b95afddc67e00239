//! `cargo xtask restart`: a full cache on disk is found again soon after a start, and its index takes little memory. A
//! disk tier is filled through the server with as many objects as asked for; the server is stopped and started again.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise, statvfs};
use serde_json::Value;

use crate::Outcome;
use crate::forebay::{self, Server};
use crate::http::{Client, Head};
use crate::memory::origin::Origin;
use crate::options::Options;

/// How to call it.
pub(crate) const USAGE: &str = "[--objects N] [--bytes N] [--binary PATH]
    Fills a cache on disk, starts again on it, and measures how soon everything is found.
    --objects N     how many objects [1000000, or as many as there is room for]
    --bytes N       size of each [20000]
    --binary PATH   this forebay instead of a fresh release build";

const MEMORY_MIB: u64 = 64;
const MIB: u64 = 1 << 20;
/// Clients that fill it.
const CLIENTS: usize = 4;
/// Of free disk space, for whoever else needs some.
const LEFT_FREE_BYTES: u64 = 4 << 30;
/// What one object takes on disk beside its body, and for the record's head and rows.
const BESIDE_BYTES: u64 = 600;
/// How many objects are fetched between two looks at how many were written.
const PACE: usize = 1024;
/// A disk that writes nothing for so long is not waited for.
const LONGEST_PACE: Duration = Duration::from_secs(5);
/// How long writing what still waits may take, and finding everything.
const LONGEST: Duration = Duration::from_secs(120);
/// The targets.
const FIRST_HIT: Duration = Duration::from_secs(1);
const ALL_FOUND: Duration = Duration::from_secs(30);
const INDEX_BYTES_PER_GB: f64 = 4e6;

/// What was measured.
#[derive(Debug)]
struct Figures {
    first_hit: Duration,
    all_found: Duration,
    /// On disk before the stop; what was in memory came to it.
    stored: u64,
    /// On disk after the start.
    found: u64,
    index_bytes: u64,
    resident_bytes: u64,
}

/// `cargo xtask restart`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--objects", "--bytes", "--binary"])?;
    let bytes = options.number("--bytes", 20_000_u64)?.max(1);
    let folder = crate::target_dir().join("restart");
    // Of an earlier run that was interrupted.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let objects = how_many(&options, bytes, &folder)?;
    let binary = forebay::binary(options.text("--binary"))?;
    let result = measure(&binary, &folder, objects, bytes);
    fs::remove_dir_all(&folder)?;
    let figures = result?;
    println!("{}", figures.table(bytes));
    figures.judge(bytes)
}

/// As many as asked for, if they fit; without a number, as many as fit.
fn how_many(options: &Options, bytes: u64, folder: &Path) -> Outcome<usize> {
    let space = statvfs(folder)?;
    let free = (space.f_bavail * space.f_frsize).saturating_sub(LEFT_FREE_BYTES);
    let room = usize::try_from(free * 4 / 5 / (bytes + BESIDE_BYTES))?;
    let asked = options.number("--objects", 1_000_000_usize)?;
    if asked <= room {
        return Ok(asked);
    }
    let words = format!("there is room for {room} objects of {bytes} bytes");
    if options.text("--objects").is_some() || room == 0 {
        return Err(words.into());
    }
    println!("{words}, not for {asked}");
    Ok(room)
}

fn measure(binary: &Path, folder: &Path, objects: usize, bytes: u64) -> Outcome<Figures> {
    let origin = Origin::start()?;
    let cache = folder.join("cache");
    // With room to spare: the last of it is for what was asked for again.
    let size = (objects as u64 * (bytes + BESIDE_BYTES) * 5 / 4).max(128 * MIB);
    let config = format!(
        "[server]\nworkers = 2\nmax_connections = 1000\n[[listen]]\naddress = \"127.0.0.1:0\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n[cache]\nmemory = \"{MEMORY_MIB}MiB\"\n\
         [cache.disk]\npath = \"{}\"\nsize = \"{}MiB\"\nwrite_queue = \"256MiB\"\n\
         [pool.origin]\nservers = [\"{}\"]\n[site.all]\nhosts = [\"*\"]\npool = \"origin\"\n",
        cache.display(),
        size / MIB,
        origin.address,
    );
    let mut server = Server::start(binary, &config, folder)?;
    let began = Instant::now();
    fill(&server, objects, bytes)?;
    let stored = written(&server)?;
    stop(&mut server)?;
    println!(
        "{objects} objects of {bytes} bytes were fetched in {:.0} s, {stored} were on disk before the stop",
        began.elapsed().as_secs_f64()
    );
    drop_pages(&cache);

    let began = Instant::now();
    let server = Server::start(binary, &config, folder)?;
    let first_hit = first_hit(&server, objects, bytes, began)?;
    let status = wait(&server, |status| state(status) == Some("ready"))?;
    let figure = |name| number(&status, name).ok_or_else(|| format!("no {name} in {status}"));
    Ok(Figures {
        first_hit,
        all_found: began.elapsed(),
        stored,
        found: figure("/disk/objects")?,
        index_bytes: figure("/disk/index_bytes")?,
        resident_bytes: server.process.resident_bytes(),
    })
}

const HOST: &str = "restart.example";

fn path(number: usize, bytes: u64) -> String {
    format!("/{number}/{bytes}")
}

/// Fetches every object once, no faster than they are written: what waits too long would not be.
fn fill(server: &Server, objects: usize, bytes: u64) -> Outcome {
    let next = AtomicUsize::new(0);
    let fetch = || -> Outcome {
        let mut client = Client::connect_as(server.address, HOST)?;
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= objects {
                return Ok(());
            }
            if number.is_multiple_of(PACE) {
                pace(server, number, bytes)?;
            }
            let path = path(number, bytes);
            let response = client.get(&path)?;
            if (response.status, response.body_bytes) != (200, bytes) {
                next.store(objects, Relaxed);
                return Err(format!("{path} is answered with {response:?}").into());
            }
        }
    };
    thread::scope(|scope| {
        let run = || scope.spawn(|| fetch().map_err(|e| e.to_string()));
        let clients: Vec<_> = (0..CLIENTS).map(|_| run()).collect();
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        Ok(())
    })
}

/// Waits until no more objects than memory holds, and a few, have been fetched and not written.
fn pace(server: &Server, fetched: usize, bytes: u64) -> Outcome {
    let admin = server.admin.ok_or("it printed no `admin on` line")?;
    let spare = MEMORY_MIB * MIB / bytes + 4 * PACE as u64;
    let began = Instant::now();
    loop {
        let mut text = Vec::new();
        Client::connect(admin)?.ask("GET", "/metrics", "", "", &mut |_, part| {
            text.extend_from_slice(part);
        })?;
        let text = String::from_utf8_lossy(&text);
        let counter = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let done = counter("forebay_disk_written_objects_total ").unwrap_or(0)
            + counter("forebay_disk_write_dropped_total ").unwrap_or(0);
        if done + spare >= fetched as u64 || began.elapsed() > LONGEST_PACE {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until nothing is written any more; returns how many objects are on disk.
fn written(server: &Server) -> Outcome<u64> {
    let mut last = None;
    let status = wait(server, |status| {
        let objects = number(status, "/disk/objects");
        // A look later nothing has changed.
        thread::sleep(Duration::from_millis(500));
        std::mem::replace(&mut last, objects) == objects
    })?;
    number(&status, "/disk/objects").ok_or_else(|| format!("no objects in {status}").into())
}

/// SIGTERM, and as long as it takes: what is only in memory is written now.
fn stop(server: &mut Server) -> Outcome {
    server.process.end(LONGEST)
}

/// The system forgets what it has of the files in memory, as far as it does what it is asked.
fn drop_pages(cache: &Path) {
    let files = fs::read_dir(cache).into_iter().flatten().flatten();
    for file in files.filter_map(|f| fs::File::open(f.path()).ok()) {
        // The start is faster when it does not; it is no fault.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
}

/// Asks for one object after the other, of all over the disk, until one is a hit from there.
fn first_hit(server: &Server, objects: usize, bytes: u64, began: Instant) -> Outcome<Duration> {
    let mut client = Client::connect_as(server.address, HOST)?;
    let fields = "Cache-Control: only-if-cached\r\n";
    for turn in 0_usize.. {
        let number = turn.wrapping_mul(7919) % objects;
        let mut length = 0;
        let head = client.ask("GET", &path(number, bytes), fields, "", &mut |_, part| {
            length += part.len() as u64;
        })?;
        if is_from_disk(&head) && length == bytes {
            break;
        }
        if began.elapsed() > LONGEST {
            return Err("no object that was on disk is a hit".into());
        }
    }
    Ok(began.elapsed())
}

fn is_from_disk(head: &Head) -> bool {
    let status = head.field("cache-status").unwrap_or_default();
    head.status == 200 && status.contains("detail=disk")
}

/// Asks for the status until it is as wanted.
fn wait(server: &Server, mut is_so: impl FnMut(&Value) -> bool) -> Outcome<Value> {
    let admin = server.admin.ok_or("it printed no `admin on` line")?;
    let began = Instant::now();
    loop {
        let mut text = Vec::new();
        Client::connect(admin)?.ask("GET", "/api/v1/status", "", "", &mut |_, part| {
            text.extend_from_slice(part);
        })?;
        let status: Value = serde_json::from_slice(&text)?;
        if is_so(&status) {
            return Ok(status);
        }
        if began.elapsed() > LONGEST {
            return Err(format!("after {} s: {status}", LONGEST.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn state(status: &Value) -> Option<&str> {
    status.pointer("/disk/directories/0/state")?.as_str()
}

fn number(status: &Value, pointer: &str) -> Option<u64> {
    status.pointer(pointer)?.as_u64()
}

impl Figures {
    /// Bytes of index for each GB of bodies that were found.
    fn index_bytes_per_gb(&self, bytes: u64) -> f64 {
        self.index_bytes as f64 / (self.found.max(1) * bytes) as f64 * 1e9
    }

    fn table(&self, bytes: u64) -> String {
        format!(
            "first hit         {:>8.2} s         target {} s\n\
             all found         {:>8.2} s         target {} s\n\
             found             {:>8}           target {}, as many as were on disk before\n\
             index             {:>8.2} MB a GB   target {} MB a GB ({:.1} bytes an object)\n\
             resident          {:>8.0} MiB       of which {MEMORY_MIB} MiB may be cached objects",
            self.first_hit.as_secs_f64(),
            FIRST_HIT.as_secs(),
            self.all_found.as_secs_f64(),
            ALL_FOUND.as_secs(),
            self.found,
            self.stored,
            self.index_bytes_per_gb(bytes) / 1e6,
            INDEX_BYTES_PER_GB / 1e6,
            self.index_bytes as f64 / self.found.max(1) as f64,
            self.resident_bytes as f64 / MIB as f64,
        )
    }

    fn judge(&self, bytes: u64) -> Outcome {
        // The target is for 20 KB; smaller objects need more for a GB.
        let index_limit = INDEX_BYTES_PER_GB * 20_000.0 / bytes as f64;
        let missed: Vec<&str> = [
            (self.first_hit > FIRST_HIT, "first hit"),
            (self.all_found > ALL_FOUND, "all found"),
            (self.found < self.stored, "found"),
            (self.index_bytes_per_gb(bytes) > index_limit, "index"),
        ]
        .into_iter()
        .filter_map(|(is_missed, name)| is_missed.then_some(name))
        .collect();
        if missed.is_empty() {
            Ok(())
        } else {
            Err(format!("missed: {}", missed.join(", ")).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_can_be_missed() {
        let good = || Figures {
            first_hit: Duration::from_millis(200),
            all_found: Duration::from_secs(2),
            stored: 990,
            found: 995,
            index_bytes: 995 * 50,
            resident_bytes: 0,
        };
        assert!(good().judge(20_000).is_ok());
        let bad: [fn(&mut Figures); 4] = [
            |f| f.first_hit = Duration::from_millis(1001),
            |f| f.all_found = Duration::from_secs(31),
            |f| f.found = 900,
            |f| f.index_bytes = 995 * 100,
        ];
        for spoil in bad {
            let mut figures = good();
            spoil(&mut figures);
            assert!(figures.judge(20_000).is_err(), "{figures:?}");
        }
    }
}

//! `cargo xtask memory sessions`: the budget of a session store holds. Values of 50 B to 100 KB are written, replaced,
//! deleted and expire, in phases of all, small, large and again all sizes; the process's resident size may exceed the
//! budget by 15 % and 64 MiB at any moment, and the budget must really be used.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::{LEAST_USE, MIB, SAMPLE, limit};
use crate::Outcome;
use crate::crash::Random;
use crate::forebay::Server;
use crate::options::Options;

const CLIENTS: u64 = 4;
/// Commands that are sent together.
const BATCH: usize = 64;
const SMALLEST: f64 = 50.0;
const LARGEST: f64 = 100_000.0;
/// Between small and large values.
const MIDDLE: f64 = 2000.0;
/// Keys are so many that their values, of all sizes, are several budgets.
const BYTES_PER_KEY: u64 = 4000;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Which values are written: from when, as a share of the time, and of what sizes.
const PHASES: [(f64, f64, f64); 4] = [
    (0.0, SMALLEST, LARGEST),
    (0.4, SMALLEST, MIDDLE),
    (0.6, MIDDLE, LARGEST),
    (0.8, SMALLEST, LARGEST),
];

/// Writes until the time is over, and looks at the resident size all the while.
pub(super) fn run(options: &Options, binary: &std::path::Path, budget: u64) -> Outcome {
    let time = Duration::from_secs(options.number("--seconds", 60_u64)?.max(1));
    let config = format!(
        "[server]\nworkers = 2\n[session.memory]\naddress = \"127.0.0.1:0\"\nmemory = \"{}MiB\"\nfull = \"evict\"\n",
        budget / MIB,
    );
    let server = Server::start(binary, &config, &crate::target_dir().join("memory"))?;
    let empty = server.process.resident_bytes();
    let (keys, written) = (4 * budget / BYTES_PER_KEY, AtomicU64::new(0));
    let most = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (address, written) = (server.address, &written);
                let churn = move || churn(address, number, keys, time, written);
                scope.spawn(move || churn().map_err(|e| e.to_string()))
            })
            .collect();
        let mut most = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            most = most.max(server.process.resident_bytes());
            thread::sleep(SAMPLE);
        }
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        Outcome::Ok(most)
    })?;
    let end = server.process.resident_bytes();
    println!(
        "sessions: {} MiB written in {} s; resident: {} MiB empty, {} at most, {} in the end; limit {}",
        written.load(Relaxed) / MIB,
        time.as_secs(),
        empty / MIB,
        most / MIB,
        end / MIB,
        limit(budget) / MIB,
    );
    judge(budget, most, end)
}

fn judge(budget: u64, most: u64, end: u64) -> Outcome {
    let limit = limit(budget);
    if most > limit {
        let (most, limit) = (most / MIB, limit / MIB);
        return Err(format!("the resident size reached {most} MiB; {limit} are allowed").into());
    }
    if (end as f64) < LEAST_USE * budget as f64 {
        let (end, budget) = (end / MIB, budget / MIB);
        return Err(format!("only {end} of {budget} MiB are used").into());
    }
    Ok(())
}

/// One client's writes, in batches that end with `mn`; what was done is not answered beside it.
fn churn(
    address: SocketAddr,
    number: u64,
    keys: u64,
    time: Duration,
    written: &AtomicU64,
) -> Outcome {
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut stream = BufReader::new(stream);
    let filler = vec![b'x'; LARGEST as usize];
    let (mut random, mut out, mut line) = (Random(number), Vec::new(), String::new());
    let began = Instant::now();
    while began.elapsed() < time {
        let share = began.elapsed().as_secs_f64() / time.as_secs_f64();
        out.clear();
        for _ in 0..BATCH {
            command(&mut out, &mut random, keys, share, &filler);
        }
        out.extend_from_slice(b"mn\r\n");
        stream.get_mut().write_all(&out)?;
        written.fetch_add(out.len() as u64, Relaxed);
        line.clear();
        while line != "MN\r\n" {
            line.clear();
            stream.read_line(&mut line)?;
            // What is to be deleted may have gone already.
            if line != "NF\r\n" && line != "MN\r\n" {
                return Err(format!("the store answers {line:?}").into());
            }
        }
    }
    Ok(())
}

/// A write, which may expire soon, or now and then a deletion.
fn command(out: &mut Vec<u8>, random: &mut Random, keys: u64, share: f64, filler: &[u8]) {
    let key = random.next() % keys;
    let kind = random.below(20);
    if kind < 2 {
        return out.extend_from_slice(format!("md session-{key} q\r\n").as_bytes());
    }
    let phase = PHASES.iter().rev().find(|(from, ..)| *from <= share);
    let (_, smallest, largest) = phase.copied().unwrap_or(PHASES[0]);
    let bytes = (smallest * (largest / smallest).powf(random.unit())) as usize;
    let ttl_s = if kind < 5 { 1 + kind } else { 0 };
    out.extend_from_slice(format!("ms session-{key} {bytes} T{ttl_s} q\r\n").as_bytes());
    out.extend_from_slice(filler.get(..bytes).unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_write_the_sizes_that_they_are_of() {
        let filler = vec![b'x'; LARGEST as usize];
        for (share, least, most) in [(0.5, 50.0, 2000.0), (0.7, 2000.0, 100_000.0)] {
            let mut random = Random(1);
            for _ in 0..200 {
                let mut out = Vec::new();
                command(&mut out, &mut random, 10, share, &filler);
                let head = out.iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
                let value = out.len().saturating_sub(head + 2) as f64;
                assert!(out.starts_with(b"md") || (value >= least && value <= most));
            }
        }
    }
}

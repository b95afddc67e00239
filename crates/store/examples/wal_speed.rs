//! How fast the write-ahead log is on this machine's disk:
//!
//! ```sh
//! cargo run --release -p forebay-store --example wal_speed [DIRECTORY]
//! ```
//!
//! It writes about 2.5 GB below the directory (a temporary one by default), and
//! removes it. Ends by itself within a minute.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use forebay_store::wal::{Options, State, Sync, Wal};
use rustix::time::{ClockId, clock_gettime};

type Failure = Box<dyn std::error::Error>;

/// Processor time of all threads, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn open(path: &Path, sync: Sync) -> Result<Arc<Wal>, Failure> {
    Wal::clear(path)?;
    let (wal, recovery) = Wal::open(Options::new(path, sync))?;
    recovery.run(&AtomicBool::new(false), |_, _| {});
    Ok(wal)
}

/// Appends records of 1 KB and gives nanoseconds of processor time for each,
/// in the appending thread alone and with the writer's share.
fn append_cost(path: &Path, records: u64) -> Result<(u64, u64), Failure> {
    let wal = open(path, Sync::Never(Duration::from_secs(1)))?;
    let (head, value) = ([7; 40], vec![9; 1_024 - 40]);
    let (all, mut alone) = (cpu_ns(), 0);
    for _ in 0..records / 1_000 {
        let began = clock_gettime(ClockId::ThreadCPUTime);
        for _ in 0..1_000 {
            wal.append(&[&head, &value]);
        }
        let ended = clock_gettime(ClockId::ThreadCPUTime);
        alone += (ended.tv_sec - began.tv_sec) * 1_000_000_000 + (ended.tv_nsec - began.tv_nsec);
        while wal.state() == State::Behind {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    wal.wait(wal.position())?;
    let cost = (alone as u64 / records, (cpu_ns() - all) / records);
    wal.close()?;
    Ok(cost)
}

/// Commits a second, by threads with so many clients each: a client's next
/// record comes when its last one is durable.
fn commit_rate(path: &Path, threads: usize, clients: u64) -> Result<(f64, u64), Failure> {
    let most = Duration::from_millis(500);
    let wal = open(path, Sync::Always)?;
    let (commits, began) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let value = [5; 1_000];
                while began.elapsed() < most {
                    for _ in 0..clients {
                        wal.append(&[&value]);
                    }
                    if wal.wait(wal.position()).is_err() {
                        return;
                    }
                    commits.fetch_add(clients, Relaxed);
                }
            });
        }
    });
    let rate = commits.load(Relaxed) as f64 / began.elapsed().as_secs_f64();
    let syncs = wal.figures().syncs;
    wal.close()?;
    Ok((rate, syncs))
}

/// Writes a second of one thread that syncs after each, without a log.
fn plain_rate(path: &Path, most: Duration) -> Result<f64, Failure> {
    let mut file = File::create(path.join("plain"))?;
    let (mut writes, began) = (0, Instant::now());
    while began.elapsed() < most {
        file.write_all(&[5; 1_000])?;
        file.sync_data()?;
        writes += 1;
    }
    Ok(f64::from(writes) / began.elapsed().as_secs_f64())
}

/// Seconds for reading everything back, from the page cache.
fn recovery_time(path: &Path, records: u64) -> Result<f64, Failure> {
    let wal = open(path, Sync::Never(Duration::from_secs(1)))?;
    let value = vec![3; 1_100];
    for n in 0..records {
        wal.append(&[&value]);
        while n % 1_000 == 0 && wal.state() == State::Behind {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    wal.close()?;
    drop(wal);
    let (wal, recovery) = Wal::open(Options::new(path, Sync::Always))?;
    let (mut bytes, began) = (0, Instant::now());
    let found = recovery.run(&AtomicBool::new(false), |_, payload| bytes += payload.len());
    let took = began.elapsed().as_secs_f64();
    if found.records != records || bytes as u64 != records * 1_100 {
        return Err(format!("{found:?}").into());
    }
    wal.close()?;
    Ok(took)
}

fn main() -> Result<(), Failure> {
    let parent = std::env::args_os()
        .nth(1)
        .unwrap_or(std::env::temp_dir().into());
    let path = Path::new(&parent).join(format!("wal_speed.{}", std::process::id()));
    for _ in 0..3 {
        let (alone, all) = append_cost(&path, 400_000)?;
        println!("append of 1 KB: {alone} ns of the caller, {all} ns with its share of writing");
    }
    for _ in 0..5 {
        let one = plain_rate(&path, Duration::from_millis(500))?;
        println!("write and fdatasync, one after another: {one:.0} a second");
        for (threads, clients) in [(1, 1), (8, 1), (64, 1), (2, 32)] {
            let (many, syncs) = commit_rate(&path, threads, clients)?;
            let (times, group) = (many / one, many / 2.0 / syncs as f64);
            println!(
                "  {many:.0} commits with {threads} threads of {clients} clients \
                 ({times:.1} times, {group:.0} to a sync)"
            );
        }
    }
    let took = recovery_time(&path, 1_000_000)?;
    println!("recovery of 1,000,000 records of 1,100 bytes: {took:.2} s");
    std::fs::remove_dir_all(&path)?;
    Ok(())
}

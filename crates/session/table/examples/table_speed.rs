//! How fast the table is on this machine, and what an item costs, through its public functions.
//!
//! `cargo run --release -p forebay-table --example table_speed`

use std::time::Instant;

use forebay_table::{Body, Change, Marks, Options, Put, Refused, Table, Value};

const ITEMS: u64 = 1_000_000;

fn main() -> Result<(), Refused> {
    for round in 1..=3 {
        println!("round {round}: {ITEMS} keys of 8 bytes, values of 8 bytes");
        small_items()?;
    }
    tens()?;
    threads()?;
    slowest_write()
}

/// Values of 1 KB, ten keys at a time, as a client asks that shows a list.
fn tens() -> Result<(), Refused> {
    const KEYS: u64 = 100_000;
    let table = Table::new(Options::within(256 << 20));
    for n in 0..KEYS {
        put(&table, &n.to_be_bytes(), &[7; 1024])?;
    }
    for (name, prefetches) in [("one after another", false), ("prefetched", true)] {
        let (mut rng, mut out) = (fastrand::Rng::with_seed(1), Vec::new());
        timed(&format!("values of 1 KB in tens, {name}"), ITEMS, || {
            for _ in 0..ITEMS / 10 {
                let keys: [_; 10] = std::array::from_fn(|_| rng.u64(..KEYS).to_be_bytes());
                if prefetches {
                    table.prefetch(&keys.each_ref().map(|key| &key[..]));
                }
                out.clear();
                for key in &keys {
                    table.read(key, 1, |item| match item.value {
                        Value::Here(value) => out.extend_from_slice(value),
                        Value::Elsewhere(_) => {}
                    });
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn small_items() -> Result<(), Refused> {
    let table = Table::new(Options::within(256 << 20));
    let mut keys: Vec<[u8; 8]> = (0..ITEMS).map(|n| (n * 7919).to_be_bytes()).collect();
    timed("  written", ITEMS, || {
        for key in &keys {
            put(&table, key, key)?;
        }
        Ok(())
    })?;
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    timed("  read in random order", ITEMS, || {
        let hits = keys.iter().filter(|key| get(&table, *key)).count();
        assert_eq!(hits as u64, ITEMS);
        Ok(())
    })?;
    timed("  written again in random order", ITEMS, || {
        for key in &keys {
            put(&table, key, key)?;
        }
        Ok(())
    })?;
    timed("  missed", ITEMS, || {
        let hits = keys.iter().filter(|key| get(&table, &key[1..])).count();
        assert_eq!(hits, 0);
        Ok(())
    })?;
    let figures = table.figures();
    let overhead = (figures.used_bytes - figures.payload_bytes) as f64 / ITEMS as f64;
    println!("  {overhead:.1} bytes an item beyond key and value, all segments counted whole");
    Ok(())
}

/// Two threads on one table: what they cost each other.
fn threads() -> Result<(), Refused> {
    let table = Table::new(Options::within(256 << 20));
    let name = "two threads, nine reads to a write, each";
    timed(name, ITEMS, || {
        std::thread::scope(|scope| {
            let (mine, theirs) = (&table, &table);
            let other = scope.spawn(move || mix(mine, 1));
            mix(theirs, 2).and(other.join().unwrap_or(Ok(())))
        })
    })
}

fn mix(table: &Table, seed: u64) -> Result<(), Refused> {
    let mut rng = fastrand::Rng::with_seed(seed);
    for n in 0..ITEMS {
        let key = rng.u64(..200_000).to_be_bytes();
        if n % 10 == 0 {
            put(table, &key, &[7; 200])?;
        } else {
            get(table, &key);
        }
    }
    Ok(())
}

/// Writes into a full table: eviction and moving are part of the write that needs room.
fn slowest_write() -> Result<(), Refused> {
    let table = Table::new(Options::within(256 << 20));
    let mut slowest = Vec::new();
    let mut rng = fastrand::Rng::with_seed(3);
    let value = [1; 8192];
    let writes = 3 * ITEMS;
    timed("mixed sizes into a full table of 256 MiB", writes, || {
        for _ in 0..writes {
            let key = rng.u64(..ITEMS).to_be_bytes();
            let start = Instant::now();
            put(&table, &key, &value[..rng.usize(50..1000)])?;
            slowest.push(start.elapsed().as_nanos() as u64);
            get(&table, &rng.u64(..ITEMS / 10).to_be_bytes());
        }
        Ok(())
    })?;
    slowest.sort_unstable();
    let of = |part: f64| slowest[((slowest.len() - 1) as f64 * part) as usize];
    println!(
        "  a write takes {} ns (median), {} ns (99 %), {} ns (99.99 %), {} ns at most",
        of(0.5),
        of(0.99),
        of(0.9999),
        of(1.0)
    );
    let figures = table.figures();
    println!("  {figures:?}");
    Ok(())
}

fn put(table: &Table, key: &[u8], value: &[u8]) -> Result<(), Refused> {
    let parts = [value];
    let put = Put {
        body: Body::Parts(&parts),
        flags: 0,
        expires_s: 0,
        marks: Marks::NONE,
        cas: None,
        read: false,
    };
    table
        .update(key, 1, |_, _| (Change::Put(put), ()))
        .map(drop)
}

fn get(table: &Table, key: &[u8]) -> bool {
    let is_here = |value: Value<'_>| matches!(value, Value::Here(bytes) if !bytes.is_empty());
    table
        .read(key, 1, |item| is_here(item.value))
        .unwrap_or(false)
}

fn timed(
    what: &str,
    count: u64,
    work: impl FnOnce() -> Result<(), Refused>,
) -> Result<(), Refused> {
    let (start, on_processor) = (Instant::now(), processor_ns());
    work()?;
    let took = start.elapsed().as_secs_f64();
    let busy = (processor_ns() - on_processor) as f64;
    let (seconds, each) = (busy / 1e9, busy / count as f64);
    println!("{what}: {seconds:.3} s of processor time, {each:.0} ns each; {took:.3} s in all");
    Ok(())
}

/// What this thread has had of a processor: the other work of the machine does not count.
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = stat.split_ascii_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

//! How many reads find their item when not all fit: the table beside an exact least recently used
//! order with as many items. Keys are asked for as often as Zipf's law says (exponent 1), one
//! that is missing is written; with `scan`, every third key is one that never comes back.
//!
//! `cargo run --release -p forebay-table --example hits`

use std::collections::{BTreeMap, HashMap};

use forebay_table::{Body, Change, Marks, Options, Put, Refused, Table};

const KEYS: f64 = 1_000_000.0;
const STEPS: u64 = 3_000_000;

fn main() -> Result<(), Refused> {
    for scan in [false, true] {
        for mebibytes in [4, 16, 64] {
            let (ours, items) = table(mebibytes << 20, scan)?;
            let exact = least_recently_used(items, scan);
            println!(
                "{mebibytes} MiB, {items} items, scan {scan}: {ours:.2} %, exact LRU {exact:.2} %"
            );
        }
    }
    Ok(())
}

/// Keys of the second half of the steps count: the first fills the memory.
fn hits(scan: bool, mut ask: impl FnMut(u64) -> Result<bool, Refused>) -> Result<f64, Refused> {
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut hits, mut asked) = (0u32, 0u32);
    for step in 0..STEPS {
        if scan && step % 3 == 0 {
            ask(u64::MAX - step)?;
            continue;
        }
        let hit = ask(KEYS.powf(rng.f64()) as u64)?;
        if step > STEPS / 2 {
            asked += 1;
            hits += u32::from(hit);
        }
    }
    Ok(f64::from(hits) * 100.0 / f64::from(asked))
}

fn table(memory_bytes: u64, scan: bool) -> Result<(f64, u64), Refused> {
    let table = Table::new(Options::within(memory_bytes));
    let ratio = hits(scan, |key| {
        let key = key.to_be_bytes();
        if table.read(&key, 1, |_| ()).is_some() {
            return Ok(true);
        }
        let parts: [&[u8]; 1] = [&[0; 150]];
        let put = Put {
            body: Body::Parts(&parts),
            flags: 0,
            expires_s: 0,
            marks: Marks::NONE,
            cas: None,
            read: false,
        };
        table.update(&key, 1, |_, _| (Change::Put(put), ()))?;
        Ok(false)
    })?;
    Ok((ratio, table.figures().items))
}

fn least_recently_used(items: u64, scan: bool) -> f64 {
    let (mut used, mut order) = (HashMap::new(), BTreeMap::new());
    let mut clock = 0u64;
    let ratio = hits(scan, |key| {
        clock += 1;
        order.insert(clock, key);
        let hit = used.insert(key, clock);
        if let Some(before) = hit {
            order.remove(&before);
        } else if used.len() as u64 > items
            && let Some((_, oldest)) = order.pop_first()
        {
            used.remove(&oldest);
        }
        Ok(hit.is_some())
    });
    ratio.unwrap_or(0.0)
}

//! Whether the resident size of a process follows the table's budget: mixed sizes are written,
//! overwritten, deleted and left to end, and the kernel is asked what the process takes.
//!
//! `cargo run --release -p forebay-table --example churn [MEBIBYTES]`

use forebay_table::{Body, Change, Marks, Options, Put, Refused, Table};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const STEPS: usize = 2_000_000;

fn main() -> Result<(), Refused> {
    let mebibytes = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let budget = mebibytes.unwrap_or(256u64) << 20;
    let table = Table::new(Options::within(budget));
    let before = resident_bytes();
    let mut rng = fastrand::Rng::with_seed(1);
    let value = vec![9; 400_000];
    for step in 0..STEPS {
        let now_s = (step / 10_000) as u32 + 1;
        let keys = budget / 2000;
        let key = rng.u64(..keys).to_be_bytes();
        let len = match rng.u32(..10_000) {
            0..10 => rng.usize(70_000..value.len()),
            10..3000 => rng.usize(2000..8192),
            _ => rng.usize(50..2000),
        };
        write(&table, &key, now_s, &value[..len], rng.u32(..100))?;
        if step % 10_000 == 0 {
            table.maintain(now_s, 16 << 20);
        }
        if step % (STEPS / 10) == STEPS / 10 - 1 {
            let resident = resident_bytes() - before;
            let (percent, used) = (resident * 100 / budget, table.used_bytes() * 100 / budget);
            println!("resident {percent} % of the budget, charged {used} %");
        }
    }
    println!("{:?}", table.figures());
    Ok(())
}

fn write(table: &Table, key: &[u8], now_s: u32, value: &[u8], dice: u32) -> Result<(), Refused> {
    let parts = [value];
    let put = Put {
        body: Body::Parts(&parts),
        flags: 0,
        expires_s: if dice.is_multiple_of(3) {
            now_s + dice
        } else {
            0
        },
        marks: Marks::NONE,
        cas: None,
        read: false,
    };
    let change = if dice < 10 {
        Change::Remove
    } else {
        Change::Put(put)
    };
    table.update(key, now_s, |_, _| (change, ())).map(drop)
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_ascii_whitespace().nth(1);
    pages.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) * 4096
}

//! Writes that are on disk before they are answered: how many a second, beside a program that syncs
//! its file after each.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Effort;
use super::cases::Case;
use super::measure::{self, Load};
use super::origin::Origin;
use super::programs::{Place, Programs};
use crate::Outcome;

/// The program that syncs after each write, as it is called in the report.
pub(super) const BARE: &str = "write and fdatasync";
/// Commands under way on each connection, in the order of the columns.
pub(super) const DEPTHS: [usize; 2] = [1, 16];

/// One server's row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) server: &'static str,
    /// Each round, for each of [`DEPTHS`].
    pub(super) loads: [Vec<Load>; 2],
}

/// All turns of the case.
///
/// # Errors
/// When a server does not start or ends, or the disk cannot be written to.
pub(super) fn run(
    case: &Case,
    effort: Effort,
    programs: &Programs,
    place: &Place,
) -> Outcome<Vec<Row>> {
    println!("\n{}: {}", case.name, case.what);
    let servers = programs.start_all(case, &Origin::Nobody, place)?;
    let tester = programs.load_tester()?;
    let row = |server| Row {
        server,
        loads: Default::default(),
    };
    let mut bare = row(BARE);
    let mut rows: Vec<Row> = servers.iter().map(|server| row(server.name)).collect();
    for round in 1..=effort.rounds {
        let alone = syncs(&place.dir.join("bare"), case.body_bytes, effort.turn)?;
        println!(
            "  round {round}  {BARE} {:>9.0} writes/s",
            alone.requests_per_second
        );
        for loads in &mut bare.loads {
            loads.push(alone);
        }
        for (server, row) in servers.iter().zip(&mut rows) {
            for (depth, loads) in DEPTHS.into_iter().zip(&mut row.loads) {
                let depth = depth.to_string();
                let arguments = ["--ratio", "0:1", "--pipeline", &depth];
                let load = measure::commands(&tester, server, case, &arguments, effort.turn)?;
                println!(
                    "  round {round}  {:<13} {depth:>2} on a connection {:>9.0} writes/s {:>4} failed",
                    server.name, load.requests_per_second, load.failed
                );
                loads.push(load);
            }
        }
    }
    rows.insert(0, bare);
    Ok(rows)
}

/// Appends to a file and syncs it, one after the other, for so long.
fn syncs(path: &Path, bytes: usize, length: Duration) -> Outcome<Load> {
    let mut file = File::create(path)?;
    let value = vec![b'x'; bytes];
    let begun = Instant::now();
    let mut requests = 0;
    while begun.elapsed() < length {
        file.write_all(&value)?;
        file.sync_data()?;
        requests += 1;
    }
    Ok(Load {
        requests,
        requests_per_second: requests as f64 / begun.elapsed().as_secs_f64(),
        failed: 0,
    })
}

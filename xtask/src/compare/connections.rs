//! Many connections: failures and throughput at 500 and at 10,000 of them, and the memory of those that are idle.

use super::Effort;
use super::cases::Case;
use super::measure::{self, Load, check_body};
use super::origin::Origin;
use super::programs::{Place, Programs, Server};
use crate::Outcome;
use crate::http::Client;

/// The crowd that the throughput of the great one is compared with.
pub(super) const FEW: usize = 500;
/// The great crowd.
pub(super) const MANY: usize = 10_000;

/// Turns are long here, and what matters (failures) does not vary: more rounds than these show nothing more.
const MOST_ROUNDS: usize = 3;

/// One server's row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) server: &'static str,
    /// Resident memory that an idle connection adds after one request.
    pub(super) idle_bytes: f64,
    /// Each round with few connections.
    pub(super) few: Vec<Load>,
    /// Each round with many.
    pub(super) many: Vec<Load>,
}

/// All turns of the case. The memory is measured first, while the server is fresh: what a crowd has freed would hide
/// what an idle connection takes.
///
/// # Errors
/// When a server does not start or ends.
pub(super) fn run(
    case: &Case,
    effort: Effort,
    programs: &Programs,
    place: &Place,
) -> Outcome<Vec<Row>> {
    println!("\n{}: {}", case.name, case.what);
    let origin = Origin::start(case, programs, place)?;
    let mut servers = Vec::new();
    for server in programs.start_all(case, &origin, place)? {
        check_body(&server, case)?;
        let idle_bytes = idle(&server).unwrap_or_else(|e| {
            println!("  {}: idle connections: {e}", server.name);
            f64::INFINITY
        });
        println!(
            "  {:<8} {idle_bytes:>7.0} bytes of resident memory for an idle connection",
            server.name
        );
        let row = Row {
            server: server.name,
            idle_bytes,
            few: Vec::new(),
            many: Vec::new(),
        };
        servers.push((server, row));
    }
    drop(origin);
    for round in 1..=effort.rounds.min(MOST_ROUNDS) {
        for (server, row) in &mut servers {
            row.few.push(crowd(case, server, round, FEW, effort)?);
            row.many.push(crowd(case, server, round, MANY, effort)?);
        }
    }
    Ok(servers.into_iter().map(|(_, row)| row).collect())
}

/// Twice the usual time, so that connecting does not weigh.
fn crowd(
    case: &Case,
    server: &Server,
    round: usize,
    connections: usize,
    effort: Effort,
) -> Outcome<Load> {
    let load = measure::http(server, case.path(), connections, effort.turn * 2)?;
    println!(
        "  round {round}  {:<8} {connections:>6} connections {:>9.0} requests/s {:>5} failed",
        server.name, load.requests_per_second, load.failed
    );
    Ok(load)
}

/// Opens [`MANY`] connections, sends one request on each, and divides what the server has grown by.
fn idle(server: &Server) -> Outcome<f64> {
    let before = server.process.resident_bytes();
    let mut clients = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        let mut client = Client::connect(server.address)?;
        client.get("/object")?;
        clients.push(client);
    }
    let grown = server.process.resident_bytes().saturating_sub(before);
    // One that was closed meanwhile would not be idle but gone.
    let last = clients.first_mut().ok_or("no clients")?.get("/object")?;
    if last.status == 200 {
        Ok(grown as f64 / MANY as f64)
    } else {
        Err(format!("{last:?}").into())
    }
}

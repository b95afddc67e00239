//! What a file is recognised by, so that one that has changed is noticed without reading it.

use rustix::fs::Stat;

/// Identity and state of a file at one moment. Another file, or other content, has another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since the epoch; 0 for times before it.
    pub modified_ns: u64,
    /// When anything of it last changed: permissions, names.
    pub changed_ns: u64,
}

/// A file that changed so lately may change again without a visible trace: clocks of file systems
/// tick up to two seconds apart.
const UNSETTLED_NS: u64 = 2_000_000_000;

impl Stamp {
    /// Of what the system says.
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Seconds since the epoch, for `Last-Modified`.
    pub fn modified(&self) -> u64 {
        self.modified_ns / 1_000_000_000
    }

    /// Whether content that was read now is known to be what the stamp stands for.
    pub fn is_settled(&self, now_ms: u64) -> bool {
        let now_ns = now_ms.saturating_mul(1_000_000);
        self.modified_ns.saturating_add(UNSETTLED_NS) < now_ns
            && self.changed_ns.saturating_add(UNSETTLED_NS) < now_ns
    }

    /// As plain numbers.
    pub fn to_numbers(self) -> [u64; 5] {
        [
            self.device,
            self.inode,
            self.size,
            self.modified_ns,
            self.changed_ns,
        ]
    }
}

fn nanoseconds(seconds: impl TryInto<u64>, nanoseconds: impl TryInto<u64>) -> u64 {
    let seconds = seconds.try_into().unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds.try_into().unwrap_or(0))
}

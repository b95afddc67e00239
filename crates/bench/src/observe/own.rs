//! What the load tester itself uses, beside the processor time that its threads
//! measure.

use super::memory;

/// Resident memory of this process in bytes.
pub(crate) fn own_resident_bytes() -> u64 {
    memory::resident_bytes(std::process::id())
}

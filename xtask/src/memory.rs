//! `cargo xtask fuzz`.
use crate::Outcome;
pub(crate) fn run(_args: &[String]) -> Outcome {
    Ok(())
}
pub(crate) const USAGE: &str = "";

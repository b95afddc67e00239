//! `forebay compare`

use crate::exit::{Failure, Outcome};

/// Runs a comparison of servers.
pub(crate) fn compare(args: &forebay_compare::Args) -> Outcome {
    forebay_compare::run(args).map_err(Failure::message)
}

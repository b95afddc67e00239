//! `forebay explain`: the reference, from the table that checks the file.

use forebay_config::reference;

use crate::cli::ExplainArgs;
use crate::exit::{Failure, Outcome};
use crate::out;

/// Runs the command.
///
/// # Errors
/// When there is no such setting; the message names the nearest.
pub(crate) fn explain(args: &ExplainArgs) -> Outcome {
    let text = if args.markdown {
        reference::markdown()
    } else {
        reference::explain(args.setting.as_deref()).map_err(Failure::message)?
    };
    out::line(text.trim_end());
    Ok(())
}

//! Commands beside the load: `import` and `diff`.

use forebay_workload::import::{self, Options};

use crate::Failure;
use crate::args::{DiffArgs, Format, ImportArgs};
use crate::emit::print;
use crate::files::Files;

/// `forebay bench import`
///
/// # Errors
/// When the file is neither a plan nor a recording.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Failure> {
    let text = Files::here(false).text(&args.file)?;
    let name = args.file.display().to_string();
    let options = Options {
        without_resources: args.without_resources,
        keep_cookies: args.keep_cookies,
    };
    let imported = import::import(&text, &name, options)
        .map_err(|error| Failure::Message(format!("{name}: {error}")))?;
    for note in &imported.notes {
        eprintln!("{note}");
    }
    let scenario = imported.scenario.to_toml();
    match &args.out {
        None => print(&scenario),
        Some(path) => {
            std::fs::write(path, scenario)
                .map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
            eprintln!("{} is written", path.display());
        }
    }
    Ok(())
}

/// `forebay bench diff`
///
/// # Errors
/// When a result cannot be read; with `--fail-on-slower` when something is slower.
pub(crate) fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let (before, after) = (crate::read_report(&args.before)?, crate::read_report(&args.after)?);
    let diff = forebay_results::diff(&before, &after);
    print(&match args.format {
        Format::Table => diff.table(),
        Format::Markdown => diff.markdown(),
        Format::Csv | Format::Json => serde_json::to_string(&diff).unwrap_or_default(),
    });
    if args.fail_on_slower && diff.worse().next().is_some() {
        return Err(Failure::Said);
    }
    Ok(())
}

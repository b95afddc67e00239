//! Commands beside the load: `import` and `diff`.

use forebay_workload::import::{self, Options, Suggested};

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
    if imported.scenario.flow.is_empty() {
        return Err(Failure::Message(format!(
            "{name}: there is nothing in it that could be sent"
        )));
    }
    let scenario = imported.scenario.to_toml();
    match &args.out {
        None => print(&scenario),
        Some(path) => {
            std::fs::write(path, scenario)
                .map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
            eprintln!("{} is written; it runs as", path.display());
            let options = suggestion(&imported.suggested);
            eprintln!("  forebay bench --scenario {}{options}", path.display());
        }
    }
    Ok(())
}

/// The options of `forebay bench` for what a plan says of the load itself.
fn suggestion(suggested: &Suggested) -> String {
    let mut options = String::new();
    let mut add = |option: &str, value: Option<String>| {
        if let Some(value) = value {
            options.push_str(&format!(" {option} {value}"));
        }
    };
    let seconds = |seconds: f64| format!("{}ms", (seconds * 1000.0).round());
    add("-c", suggested.users.map(|users| users.to_string()));
    add(
        "--ramp",
        suggested
            .ramp_seconds
            .filter(|&ramp| ramp > 0.0)
            .map(seconds),
    );
    add("-d", suggested.duration_seconds.map(seconds));
    add(
        "--rate",
        suggested.rate_per_second.map(|rate| rate.to_string()),
    );
    options
}

/// `forebay bench diff`
///
/// # Errors
/// When a result cannot be read; with `--fail-on-slower` when something is slower.
pub(crate) fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let (before, after) = (
        crate::read_report(&args.before)?,
        crate::read_report(&args.after)?,
    );
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

//! `forebay app`: application processes, shown and replaced.

use serde_json::{Value, json};

use crate::cli::{AppArgs, AppOrder};
use crate::exit::Outcome;
use crate::out;

use super::client::Client;
use super::show::{self, text};

/// Runs the command.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn app(args: &AppArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    match &args.order {
        Some(AppOrder::Replace { app }) => {
            let order = json!({ "app": app });
            let answer = client.json("POST", "/api/v1/apps/replace", Some(&order))?;
            if args.json {
                out::line(&format!("{answer:#}"));
            } else {
                let app = show::plain(app);
                out::line(&format!(
                    "{app}: its processes are being replaced, one by one"
                ));
            }
        }
        None => {
            let answer = client.json("GET", "/api/v1/apps", None)?;
            if args.json {
                out::line(&format!("{answer:#}"));
            } else {
                out::print(&describe(&answer));
            }
        }
    }
    Ok(())
}

fn describe(answer: &Value) -> String {
    let rows = |name: &str, value: &Value| value[name].as_array().cloned().unwrap_or_default();
    let apps = rows("apps", answer);
    if apps.is_empty() {
        return "no applications\n".into();
    }
    let mut lines = Vec::new();
    for app in apps {
        let mut line = format!(
            "{}: {} of {} to {} processes wanted, {} restarted after failures",
            text(&app["name"]),
            app["wanted"],
            app["least"],
            app["most"],
            app["restarts"],
        );
        if app["failures"].as_u64() > Some(0) {
            line.push_str(&format!(", {} failures in a row", app["failures"]));
        }
        lines.push(line);
        lines.extend(rows("processes", &app).iter().map(process));
    }
    lines.join("\n") + "\n"
}

fn process(process: &Value) -> String {
    let number = |name: &str| process[name].as_u64().unwrap_or(0);
    format!(
        "  {:>3}  {:<9} pid {:<8} {:>9}  {:>4} active {:>9} requests  up {}  {}",
        number("number"),
        text(&process["state"]),
        process["pid"]
            .as_u64()
            .map_or_else(|| "–".into(), |pid| pid.to_string()),
        show::size(number("memory_bytes") as f64),
        number("active"),
        show::count(number("requests")),
        show::seconds(number("uptime_s")),
        text(&process["address"]),
    )
}

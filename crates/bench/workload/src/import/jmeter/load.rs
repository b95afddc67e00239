//! How many threads a group has, and for how long.

use super::super::Suggested;
use super::super::notes::Fate;
use super::context::Context;
use super::tree::Element;

/// How one group is run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) users: Option<f64>,
    pub(super) ramp_seconds: Option<f64>,
    /// Negative: without end.
    pub(super) loops: Option<f64>,
    pub(super) duration_seconds: Option<f64>,
}

/// What a group says about its threads.
pub(super) fn load(context: &mut Context, group: &Element<'_>) -> Load {
    match group.kind {
        "ThreadGroup" => plain(context, group),
        "ConcurrencyThreadGroup" | "ArrivalsThreadGroup" | "FreeFormArrivalsThreadGroup" => {
            target(context, group)
        }
        "UltimateThreadGroup" => stages(context, group),
        _ => {
            context.note(
                Fate::Changed,
                "how this kind of group starts its threads is not known; see `-c` and `--ramp`",
            );
            let users = context.number(group.text("ThreadGroup.num_threads"));
            Load {
                users,
                ..Load::default()
            }
        }
    }
}

fn plain(context: &mut Context, group: &Element<'_>) -> Load {
    let users = context.number(group.text("ThreadGroup.num_threads"));
    if users.is_none() {
        context.note(
            Fate::Changed,
            "its number of threads is not known beforehand; it counts as 1",
        );
    }
    let (loops, forever) = group
        .properties
        .inner("ThreadGroup.main_controller")
        .map_or(("", false), |main| {
            (
                main.text("LoopController.loops"),
                main.flag("LoopController.continue_forever"),
            )
        });
    let loops = match context.number(loops) {
        None if forever => Some(-1.0),
        loops => loops,
    };
    let scheduled = group.flag("ThreadGroup.scheduler");
    let duration = context.number(group.text("ThreadGroup.duration"));
    if scheduled
        && context
            .number(group.text("ThreadGroup.delay"))
            .is_some_and(|delay| delay > 0.0)
    {
        context.note(Fate::LeftOut, "its delay; all flows start together");
    }
    Load {
        users: users.map(|users| users.clamp(0.0, 1e9).trunc()),
        ramp_seconds: context.number(group.text("ThreadGroup.ramp_time")),
        loops,
        duration_seconds: duration.filter(|duration| scheduled && *duration > 0.0),
    }
}

/// The groups of a widely used plugin that hold a level.
fn target(context: &mut Context, group: &Element<'_>) -> Load {
    let unit = if group.text("Unit").trim() == "S" {
        1.0
    } else {
        60.0
    };
    let level = context.number(group.text("TargetLevel"));
    let ramp_seconds = context.number(group.text("RampUp")).map(|ramp| ramp * unit);
    let hold_seconds = context.number(group.text("Hold")).map(|hold| hold * unit);
    let duration_seconds = hold_seconds.map(|hold| hold + ramp_seconds.unwrap_or_default());
    if group.kind == "ConcurrencyThreadGroup" {
        context.note(
            Fate::Hint,
            "its threads are started at once or by `--ramp`, without steps",
        );
        return Load {
            users: level,
            ramp_seconds,
            loops: None,
            duration_seconds,
        };
    }
    let rate = level.map_or_else(String::new, |level| {
        format!(" ({:.3} rounds/s)", level / unit)
    });
    context.note(
        Fate::Changed,
        format!("it starts rounds at a rate{rate}; say so with `--rate`, in requests/s"),
    );
    Load {
        duration_seconds,
        ..Load::default()
    }
}

/// The group of a widely used plugin that is a table: threads, delay, start, hold, end.
fn stages(context: &mut Context, group: &Element<'_>) -> Load {
    context.note(
        Fate::Changed,
        "its stages became one number of users, all from the start",
    );
    let mut users = 0.0;
    let mut end_seconds: f64 = 0.0;
    for stage in group.properties.members("ultimatethreadgroupdata") {
        let numbers: Vec<f64> = stage
            .own_texts()
            .into_iter()
            .map(|text| context.number(text).unwrap_or_default().max(0.0))
            .collect();
        users += numbers.first().copied().unwrap_or_default();
        end_seconds = end_seconds.max(numbers.iter().skip(1).sum());
    }
    Load {
        users: Some(users),
        ramp_seconds: None,
        loops: None,
        duration_seconds: (end_seconds > 0.0).then_some(end_seconds),
    }
}

/// Adds a group to what is suggested for the whole.
pub(super) fn add(suggested: &mut Suggested, load: Load, first: bool) {
    let longer = |known: Option<f64>, own: Option<f64>| match (known, own) {
        (Some(known), Some(own)) => Some(known.max(own)),
        (known, own) => known.or(own),
    };
    if let Some(users) = load.users {
        suggested.users = Some(
            suggested
                .users
                .unwrap_or_default()
                .saturating_add(users as u64),
        );
    }
    suggested.ramp_seconds = longer(
        suggested.ramp_seconds,
        load.ramp_seconds.filter(|ramp| *ramp > 0.0),
    );
    suggested.duration_seconds = longer(suggested.duration_seconds, load.duration_seconds);
    let own = load
        .loops
        .filter(|loops| *loops >= 1.0)
        .map(|loops| loops.min(1e15) as u64);
    if first {
        suggested.iterations = own;
    } else if suggested.iterations != own {
        suggested.iterations = None;
    }
}

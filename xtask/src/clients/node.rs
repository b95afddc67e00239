//! Node: memjs, memcached, and express-session with connect-memcached; from npm, as `package-lock.json` names them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, command};

use super::stores::Stores;
use super::{Directories, NotFetched, script};

const STORIES: [&str; 3] = ["with_memjs", "with_memcached", "with_express_session"];

/// Tries them.
///
/// # Errors
/// When they cannot be fetched, or a promise is not kept.
pub(super) fn run(stores: &Stores, directories: &Directories) -> Outcome {
    fetch(directories)?;
    for story in STORIES {
        let mut node = Command::new("node");
        node.arg(directories.stories.join(format!("{story}.js")))
            .env("NODE_PATH", directories.kept.join("node_modules"));
        let complaints = directories.kept.join(format!("{story}.log"));
        script::run(&mut node, stores, &complaints)?;
    }
    Ok(())
}

/// Installs the packages unless the same list was installed before, without running any of their scripts.
fn fetch(directories: &Directories) -> Outcome {
    let lock = directories.stories.join("package-lock.json");
    // Written when npm is through.
    let installed = directories.kept.join("installed.json");
    if same(&lock, &installed) {
        return Ok(());
    }
    for name in ["package.json", "package-lock.json"] {
        fs::copy(directories.stories.join(name), directories.kept.join(name))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&directories.kept);
    command::run(&mut npm).map_err(|e| NotFetched(format!("the npm registry: {e}")))?;
    fs::copy(&lock, &installed)?;
    Ok(())
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

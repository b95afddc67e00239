//! `forebay compare --list`: suites, servers, and what servers of one's own may say.

use std::fmt::Write as _;

use crate::args::Args;
use crate::place::PLACEHOLDERS;
use crate::plan;
use crate::suites::SUITES;

/// The list.
///
/// # Errors
/// When a file of the operator's own servers is wrong.
pub(crate) fn text(args: &Args) -> Result<String, String> {
    let mut text = String::from("Suites\n");
    // Writing to a string does not fail.
    for suite in SUITES {
        let _ = writeln!(text, "  {:<16} {}", suite.name, suite.question);
        let _ = writeln!(
            text,
            "  {:<16} by default: {}",
            "",
            suite.servers.join(", ")
        );
    }
    text.push_str("\nServers\n");
    let forebay = plan::forebay(args)?;
    for mut server in plan::known(args)? {
        let found = match server.resolve(&forebay) {
            Ok(path) => path.display().to_string(),
            Err(why) => why,
        };
        let _ = writeln!(text, "  {:<23} {} ({found})", server.name, server.about);
    }
    text.push_str("\nPlaceholders for servers of your own (--own FILE)\n");
    for (name, about) in PLACEHOLDERS {
        let _ = writeln!(text, "  {name:<22} {about}");
    }
    text.push_str(
        "\nA server of your own\n  [[server]]\n  name = \"mine\"\n  \
         command = [\"mycache\", \"--port\", \"{port}\", \"--origin\", \"{origin}\", \"--config\", \"{dir}/my.conf\"]\n  \
         version = [\"--version\"]\n  [server.files]\n  \"my.conf\" = \"threads = {cores}\\n\"\n",
    );
    Ok(text)
}

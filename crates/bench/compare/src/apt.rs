//! Debian packages, for `--install`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::command;

/// Says "no" to every daemon that a package would start while it is installed.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs `packages` and starts none of their daemons.
///
/// # Errors
/// When we are not root, or apt fails: with the command to type.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    if packages.is_empty() {
        return Ok(());
    }
    let line = format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    );
    if !rustix::process::geteuid().is_root() {
        return Err(format!("only root can install; as root: {line}"));
    }
    let _policy = Policy::write().map_err(|e| format!("{POLICY}: {e}"))?;
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command.args(["-q", "-y", "-o", "Acquire::Retries=3"]);
        command
    };
    println!("$ {line}");
    command::capture(apt().arg("update"))?;
    command::capture(
        apt()
            .args(["install", "--no-install-recommends"])
            .args(packages),
    )?;
    Ok(())
}

/// The policy file, for as long as packages are installed; one that was there before stays.
struct Policy {
    ours: bool,
}

impl Policy {
    fn write() -> std::io::Result<Self> {
        let ours = !Path::new(POLICY).exists();
        if ours {
            fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { ours })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if self.ours {
            // Left behind it only keeps daemons from starting.
            let _ = fs::remove_file(POLICY);
        }
    }
}

//! The user that an application runs as: name to numbers, as the system's databases have them.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::geteuid;

use crate::guard::RunAs;

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub(crate) name: String,
    /// The numbers.
    pub(crate) run_as: RunAs,
    /// `HOME`
    pub(crate) home: PathBuf,
}

/// Finds `name`; `None`: it is who we are already, without being root, so nothing is to be done.
///
/// # Errors
/// When there is no such user, or we may not become another one, in words for the operator.
pub(crate) fn find(name: &str) -> Result<Option<User>, String> {
    let passwd = database("passwd", name, "/etc/passwd");
    let mut user = passwd
        .lines()
        .find_map(|line| parse(line, name))
        .ok_or_else(|| format!("there is no user {name:?}"))?;
    let own = geteuid();
    if !own.is_root() {
        return if own.as_raw() == user.run_as.user {
            Ok(None)
        } else {
            Err(format!(
                "it is to run as {name:?}, but only root can start processes as another user: \
                 start Forebay as root, or leave `user` out"
            ))
        };
    }
    user.run_as.groups = groups(name, user.run_as.group);
    Ok(Some(user))
}

/// A line `NAME:PASSWORD:USER:GROUP:COMMENT:HOME:SHELL` (passwd(5)) of this name.
fn parse(line: &str, name: &str) -> Option<User> {
    let mut fields = line.split(':');
    if fields.next()? != name {
        return None;
    }
    let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(User {
        name: name.to_owned(),
        run_as: RunAs {
            user,
            group,
            groups: vec![group],
        },
        home: fields.nth(1).unwrap_or("/").into(),
    })
}

/// What `getent` says, which asks every source that the system is set up with; where there is
/// none, the file.
fn database(database: &str, key: &str, file: &str) -> String {
    run("getent", &[database, key])
        .unwrap_or_else(|| std::fs::read_to_string(file).unwrap_or_default())
}

fn groups(name: &str, own: u32) -> Vec<u32> {
    let groups = run("id", &["-G", "--", name]).map(|text| {
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.collect::<Vec<u32>>()
    });
    groups
        .filter(|groups| !groups.is_empty())
        .unwrap_or_else(|| {
            let file = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let mut groups = vec![own];
            groups.extend(file.lines().filter_map(|line| group_with(line, name)));
            groups.dedup();
            groups
        })
}

/// The number in a line `GROUP:PASSWORD:NUMBER:NAME,NAME,…` (group(5)) that has this name.
fn group_with(line: &str, name: &str) -> Option<u32> {
    let mut fields = line.split(':');
    let number = fields.nth(2)?.parse().ok()?;
    let mut members = fields.next()?.split(',');
    members.any(|member| member == name).then_some(number)
}

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_line_of_the_database_is_read() {
        let user = parse(
            "www-data:x:33:34:www,data:/var/www:/usr/sbin/nologin",
            "www-data",
        )
        .unwrap();
        assert_eq!((user.run_as.user, user.run_as.group), (33, 34));
        assert_eq!(user.home, PathBuf::from("/var/www"));
        assert_eq!(parse("www-data:x:33:34:::", "www"), None);
        for half in ["", "www-data", "www-data:x", "www-data:x:a:b"] {
            assert_eq!(parse(half, "www-data"), None);
        }
    }

    #[test]
    fn groups_are_those_that_list_the_user() {
        assert_eq!(group_with("ssl:x:110:postgres,www", "www"), Some(110));
        assert_eq!(group_with("ssl:x:110:postgres", "www"), None);
        assert_eq!(group_with("ssl:x", "www"), None);
    }

    #[test]
    fn a_user_who_is_not_there_is_named() {
        let error = find("nobody-of-this-name").unwrap_err();
        assert!(error.contains("nobody-of-this-name"), "{error}");
    }
}

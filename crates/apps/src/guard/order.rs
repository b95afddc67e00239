//! What a guard is told on its command line, written by the supervisor and read by the guard and
//! by the step behind it, which are the same program.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How an application process is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// From SIGTERM to SIGKILL.
    pub(crate) stop_timeout: Duration,
    /// The user and groups it gets.
    pub(crate) run_as: Option<RunAs>,
    /// The soft limit on open files that it gets.
    pub(crate) open_files: Option<u64>,
    /// The socket that it gets as its standard input, listening.
    pub(crate) listen: Option<PathBuf>,
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
}

/// A user and groups, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunAs {
    /// The user.
    pub(crate) user: u32,
    /// The user's own group.
    pub(crate) group: u32,
    /// All of the user's groups.
    pub(crate) groups: Vec<u32>,
}

impl Order {
    /// Its arguments, to be put behind the word that says who is to read them.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            "--stop-timeout-ms".into(),
            self.stop_timeout.as_millis().to_string().into(),
        ];
        if let Some(run_as) = &self.run_as {
            arguments.extend(["--as".into(), run_as.to_string().into()]);
        }
        if let Some(files) = self.open_files {
            arguments.extend(["--open-files".into(), files.to_string().into()]);
        }
        if let Some(path) = &self.listen {
            arguments.extend(["--listen".into(), path.clone().into()]);
        }
        arguments.push("--".into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// The opposite of [`Order::arguments`]; `None` when they are not such.
    pub(crate) fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut order = Self {
            stop_timeout: Duration::ZERO,
            run_as: None,
            open_files: None,
            listen: None,
            command: Vec::new(),
        };
        loop {
            let name = arguments.next()?;
            if name == OsStr::new("--") {
                break;
            }
            let value = arguments.next()?;
            match name.to_str()? {
                "--stop-timeout-ms" => {
                    order.stop_timeout = Duration::from_millis(value.to_str()?.parse().ok()?);
                }
                "--as" => order.run_as = Some(RunAs::read(value.to_str()?)?),
                "--open-files" => order.open_files = Some(value.to_str()?.parse().ok()?),
                "--listen" => order.listen = Some(value.into()),
                _ => return None,
            }
        }
        order.command = arguments.collect();
        (!order.command.is_empty()).then_some(order)
    }
}

impl RunAs {
    /// `USER:GROUP:GROUP,GROUP,…`
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let user = parts.next()?.parse().ok()?;
        let group = parts.next()?.parse().ok()?;
        let groups = parts.next()?.split(',').filter(|group| !group.is_empty());
        Some(Self {
            user,
            group,
            groups: groups
                .map(|group| group.parse().ok())
                .collect::<Option<_>>()?,
        })
    }
}

impl std::fmt::Display for RunAs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
        write!(f, "{}:{}:{}", self.user, self.group, groups.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let mut order = Order {
            stop_timeout: Duration::from_millis(1500),
            run_as: Some(RunAs {
                user: 33,
                group: 34,
                groups: vec![34, 5],
            }),
            open_files: Some(1024),
            listen: Some("/run/x/socket".into()),
            command: vec!["puma".into(), "--".into(), "--as".into(), "".into()],
        };
        assert_eq!(
            Order::read(order.arguments().into_iter()),
            Some(order.clone())
        );
        order.run_as = Some(RunAs {
            user: 0,
            group: 0,
            groups: Vec::new(),
        });
        order.open_files = None;
        order.listen = None;
        assert_eq!(Order::read(order.arguments().into_iter()), Some(order));
    }

    #[test]
    fn what_somebody_typed_is_refused() {
        for words in [
            &[][..],
            &["--"],
            &["--as", "1"],
            &["--as", "x:1:", "--", "ls"],
            &["ls"],
        ] {
            assert_eq!(
                Order::read(words.iter().map(OsString::from)),
                None,
                "{words:?}"
            );
        }
    }
}

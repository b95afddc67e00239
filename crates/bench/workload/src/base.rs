//! Where recorded requests go: a recording knows the places where they went
//! then, which are rarely the ones to be tested.

use crate::target::scheme;
use crate::{Target, TargetError};

/// Where recorded requests go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The server under test. Requests that were recorded with a host keep it as their `Host`.
    pub target: Option<Target>,
    /// Requests with a host go to that host. Without this nothing is sent to a place the user
    /// has not named.
    pub keep_hosts: bool,
}

impl Base {
    /// All requests go to this server.
    pub fn server(target: Target) -> Self {
        Self {
            target: Some(target),
            keep_hosts: false,
        }
    }

    /// Requests go to where they went when they were recorded.
    pub fn recorded() -> Self {
        Self {
            target: None,
            keep_hosts: true,
        }
    }

    /// Where a recorded URL (absolute, or a path with a host when that is known) goes, and its
    /// `Host` when that is not the target's own.
    ///
    /// # Errors
    /// When it is no URL, or nothing says where it goes.
    pub fn place(
        &self,
        url: &str,
        host: Option<&str>,
    ) -> Result<(Target, Option<String>), TargetError> {
        let recorded = match host {
            _ if scheme(url).is_some() => Some(Target::parse(url)?),
            _ if !url.starts_with('/') && url != "*" => {
                return Err(TargetError(format!("`{url}` is neither a URL nor a path")));
            }
            Some(host) => Some(Target::parse(&format!("http://{host}"))?.with_path(url)),
            None => None,
        };
        self.move_target(recorded, url)
    }

    /// Where a request whose whole URL is known goes; else its path at the server.
    pub(crate) fn move_target(
        &self,
        recorded: Option<Target>,
        path: &str,
    ) -> Result<(Target, Option<String>), TargetError> {
        match (recorded, &self.target) {
            (Some(recorded), _) if self.keep_hosts => Ok((recorded, None)),
            (Some(recorded), Some(base)) => {
                let mut target = base.clone();
                target.path = recorded.path;
                let host = (recorded.authority != base.authority).then_some(recorded.authority);
                Ok((target, host))
            }
            (None, Some(base)) => Ok((base.with_path(path), None)),
            (_, None) => Err(TargetError(
                "nothing says which server it goes to (name it with --base)".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn base() -> Base {
        Base::server(Target::parse("http://127.0.0.1:81/own?x").unwrap())
    }

    #[test]
    fn a_place_for_every_url() {
        let recorded = Base::recorded();
        let mixed = Base {
            keep_hosts: true,
            ..base()
        };
        for (from, url, host, expected) in [
            (base(), "/p#f", None, Ok(("http://127.0.0.1:81/p", None))),
            (
                base(),
                "/p",
                Some("h:8"),
                Ok(("http://127.0.0.1:81/p", Some("h:8"))),
            ),
            (
                base(),
                "/p",
                Some("127.0.0.1:81"),
                Ok(("http://127.0.0.1:81/p", None)),
            ),
            (base(), "*", None, Ok(("http://127.0.0.1:81*", None))),
            (
                mixed.clone(),
                "/p",
                None,
                Ok(("http://127.0.0.1:81/p", None)),
            ),
            (mixed, "https://h/p", None, Ok(("https://h/p", None))),
            (
                recorded.clone(),
                "/p",
                Some("h:8"),
                Ok(("http://h:8/p", None)),
            ),
            (recorded, "/p", None, Err("--base")),
            (base(), "p", None, Err("neither a URL nor a path")),
            (base(), "", None, Err("neither a URL nor a path")),
            (base(), "ftp://h/", None, Err("scheme `ftp`")),
            (base(), "/p", Some("a b"), Err("host")),
        ] {
            match (from.place(url, host), expected) {
                (Ok((target, host)), Ok(expected)) => {
                    assert_eq!(
                        (target.to_string().as_str(), host.as_deref()),
                        expected,
                        "{url}"
                    );
                }
                (Err(error), Err(part)) => assert!(error.0.contains(part), "{url}: {error}"),
                (got, expected) => panic!("{url}: {got:?}, not {expected:?}"),
            }
        }
    }
}

//! Who may do what: addresses, tokens, roles.
//!
//! Without a token everything is allowed to whoever is on this machine, and
//! nothing to anybody else. With tokens they are asked for everywhere but on a
//! Unix socket, which the mode of its file guards.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use forebay_http::bearer;
use parking_lot::RwLock;

/// Where the administration is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `127.0.0.1:8081`; port 0 takes any free port.
    Tcp(SocketAddr),
    /// `unix:/run/forebay/admin.sock`
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("a path must follow `unix:`".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| "expected IP:PORT, as 127.0.0.1:8081, or unix:PATH".into()),
        }
    }
}

/// What somebody may do. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look at everything.
    Read,
    /// Purge, too.
    Purge,
    /// Everything.
    Admin,
}

impl Role {
    /// Its name in the configuration and the API's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Purge => "purge",
            Self::Admin => "admin",
        }
    }
}

/// A secret and what it opens.
#[derive(Clone)]
pub struct Token {
    /// What its bearer may do.
    pub role: Role,
    /// What is sent as `Authorization: Bearer SECRET`; an empty one opens nothing.
    pub secret: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.role.name())
    }
}

/// Where the administration is served, and to whom.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Addresses to listen on.
    pub listen: Vec<Address>,
    /// Tokens; none: only this machine is served.
    pub tokens: Vec<Token>,
    /// Names that `Host` may have beside IP addresses and `localhost`.
    pub names: Vec<String>,
}

impl From<SocketAddr> for Access {
    fn from(address: SocketAddr) -> Self {
        Self {
            listen: vec![Address::Tcp(address)],
            ..Self::default()
        }
    }
}

/// [`Access`] that may be changed while it is in force; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Doors(Arc<RwLock<Arc<Access>>>);

impl Doors {
    /// From now on the tokens and names of `wanted` hold; the addresses stay as they are. False:
    /// the tokens stay as well, because `wanted` has none and listens elsewhere. What is meant for a
    /// Unix socket, or to be closed, would be open to everybody on this machine.
    pub fn admit(&self, wanted: Access) -> bool {
        let mut access = self.0.write();
        let opens =
            wanted.tokens.is_empty() && !access.tokens.is_empty() && wanted.listen != access.listen;
        let tokens = match opens {
            true => access.tokens.clone(),
            false => wanted.tokens,
        };
        *access = Arc::new(Access {
            listen: access.listen.clone(),
            tokens,
            names: wanted.names,
        });
        !opens
    }

    /// What holds now.
    pub(crate) fn now(&self) -> Arc<Access> {
        Arc::clone(&self.0.read())
    }
}

impl<T: Into<Access>> From<T> for Doors {
    fn from(access: T) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(access.into()))))
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Through a Unix socket.
    Socket,
    /// From a loopback address.
    Loopback,
    /// From another machine.
    Remote,
}

impl Peer {
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() {
            Self::Loopback
        } else {
            Self::Remote
        }
    }
}

/// Why somebody may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or a wrong one: 401.
    Unknown,
    /// The token's role is not enough: 403.
    Role,
    /// From another machine, and there are no tokens: 403.
    NoTokens,
}

impl Access {
    /// Whether somebody with these `Authorization` fields may do what takes `role`.
    pub(crate) fn check<'a>(
        &self,
        peer: Peer,
        authorization: impl Iterator<Item = &'a [u8]>,
        role: Role,
    ) -> Result<(), Denied> {
        if peer == Peer::Socket {
            return Ok(());
        }
        if self.tokens.is_empty() {
            return match peer {
                Peer::Remote => Err(Denied::NoTokens),
                _ => Ok(()),
            };
        }
        match self.role_of(authorization) {
            None => Err(Denied::Unknown),
            Some(has) if has < role => Err(Denied::Role),
            Some(_) => Ok(()),
        }
    }

    /// Whether nothing at all is served to this peer.
    pub(crate) fn is_closed_to(&self, peer: Peer) -> bool {
        matches!(peer, Peer::Remote) && self.tokens.is_empty()
    }

    /// The strongest role that the one `Authorization` field gives.
    fn role_of<'a>(&self, fields: impl Iterator<Item = &'a [u8]>) -> Option<Role> {
        let given = bearer::token(fields)?;
        // All are compared, so that the time says nothing about which matched.
        let matching = self
            .tokens
            .iter()
            .filter(|token| bearer::is_secret(token.secret.as_bytes(), given));
        matching.fold(None, |best, token| best.max(Some(token.role)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn access(tokens: &[(Role, &str)]) -> Access {
        Access {
            tokens: tokens
                .iter()
                .map(|(role, secret)| Token {
                    role: *role,
                    secret: (*secret).into(),
                })
                .collect(),
            ..Access::default()
        }
    }

    fn ask(access: &Access, peer: Peer, field: Option<&str>, role: Role) -> Result<(), Denied> {
        access.check(peer, field.iter().map(|text| text.as_bytes()), role)
    }

    #[test]
    fn without_tokens_this_machine_may_and_others_may_not() {
        let none = access(&[]);
        assert_eq!(ask(&none, Peer::Loopback, None, Role::Admin), Ok(()));
        assert_eq!(ask(&none, Peer::Socket, None, Role::Admin), Ok(()));
        assert_eq!(
            ask(&none, Peer::Remote, None, Role::Read),
            Err(Denied::NoTokens)
        );
        assert_eq!(
            ask(&none, Peer::Remote, Some("Bearer "), Role::Read),
            Err(Denied::NoTokens)
        );
    }

    #[test]
    fn what_moves_away_without_tokens_does_not_open_what_stays_behind() {
        let tcp: Vec<Address> = vec!["127.0.0.1:8081".parse().unwrap()];
        let socket: Vec<Address> = vec!["unix:/run/admin.sock".parse().unwrap()];
        let wanted = |listen: &[Address], tokens| Access {
            listen: listen.to_vec(),
            ..access(tokens)
        };
        let doors = Doors::from(wanted(&tcp, &[(Role::Admin, "secret")]));
        let local = || ask(&doors.now(), Peer::Loopback, None, Role::Admin);
        for elsewhere in [&socket[..], &[]] {
            assert!(!doors.admit(wanted(elsewhere, &[])));
            assert!(local().is_err());
        }
        // At the same address it is the operator's own word; so are other tokens.
        assert!(doors.admit(wanted(&socket, &[(Role::Admin, "other")])));
        assert!(local().is_err());
        assert!(doors.admit(wanted(&tcp, &[])));
        assert_eq!(local(), Ok(()));
    }

    #[test]
    fn a_role_includes_the_lower_ones_and_no_higher() {
        let all = access(&[
            (Role::Read, "r-secret"),
            (Role::Purge, "p-secret"),
            (Role::Admin, "a-secret"),
        ]);
        for (token, has) in [
            ("r-secret", Role::Read),
            ("p-secret", Role::Purge),
            ("a-secret", Role::Admin),
        ] {
            for needed in [Role::Read, Role::Purge, Role::Admin] {
                for peer in [Peer::Loopback, Peer::Remote] {
                    let field = format!("bEarer {token}");
                    let expected = if needed <= has {
                        Ok(())
                    } else {
                        Err(Denied::Role)
                    };
                    assert_eq!(ask(&all, peer, Some(&field), needed), expected);
                }
            }
        }
    }

    #[test]
    fn with_tokens_all_but_the_socket_need_one() {
        let one = access(&[(Role::Admin, "secret"), (Role::Admin, "")]);
        for field in [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer secre"),
            Some("Bearer secrets"),
            Some("Bearer secretsecret"),
            Some("Basic secret"),
            Some("secret"),
        ] {
            assert_eq!(
                ask(&one, Peer::Loopback, field, Role::Read),
                Err(Denied::Unknown),
                "{field:?}"
            );
        }
        assert_eq!(ask(&one, Peer::Socket, None, Role::Admin), Ok(()));
        let twice = [&b"Bearer secret"[..], b"Bearer secret"];
        assert_eq!(
            one.check(Peer::Loopback, twice.into_iter(), Role::Read),
            Err(Denied::Unknown)
        );
    }

    #[test]
    fn loopback_is_loopback_in_either_family() {
        for (address, peer) in [
            ("127.0.0.1:1", Peer::Loopback),
            ("127.9.9.9:1", Peer::Loopback),
            ("[::1]:1", Peer::Loopback),
            ("[::ffff:127.0.0.1]:1", Peer::Loopback),
            ("[::ffff:10.0.0.1]:1", Peer::Remote),
            ("10.0.0.1:1", Peer::Remote),
        ] {
            assert_eq!(Peer::of(address.parse().unwrap()), peer, "{address}");
        }
    }

    #[test]
    fn addresses_are_read_as_they_are_shown() {
        for text in ["127.0.0.1:8081", "[::1]:8081", "unix:/run/a.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "localhost", "8081"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let shown = format!("{:?}", access(&[(Role::Read, "hidden")]));
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

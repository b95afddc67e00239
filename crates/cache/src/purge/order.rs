//! What can be ordered, and what comes of it.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::expression::Expression;
use super::reach::Verdict;

/// What to purge.
#[derive(Clone, Debug)]
pub enum What {
    /// Everything stored under keys with these hashes: all variants of a URL.
    Key {
        /// Hashes of the keys ([`crate::Key`]). They must stay the same over a restart.
        hashes: Vec<u64>,
        /// The URL, as the operator knows it.
        shown: String,
    },
    /// Everything whose path and query begin with `prefix`.
    Prefix {
        /// Of this host only; without one, of every host. Its case is not looked at.
        host: Option<Box<[u8]>>,
        /// The first bytes of the target; `/news` is a prefix of `/newspaper` too.
        prefix: Box<[u8]>,
    },
    /// Everything that the expression holds for.
    Ban(Expression),
    /// Everything that carries one of these tags.
    Tags(Vec<Box<[u8]>>),
    /// A cache group of one origin (RFC 9875). Hard is what the RFC calls invalidation: the
    /// members are validated before their next use.
    Group {
        /// The authority; its case is not looked at.
        origin: Box<[u8]>,
        /// The group's name.
        name: Box<[u8]>,
    },
    /// Everything.
    All,
}

/// A purge that is asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is purged.
    pub what: What,
    /// Make it stale instead of gone.
    pub soft: bool,
}

/// A purge that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its moment: it hits what was asked of the origin before.
    pub moment: u64,
    /// What was done, in words for the operator.
    pub words: String,
    /// Something equal was in force, and this takes its place.
    pub merged: bool,
}

/// Why a purge was not carried out. Nothing of it has any effect.
#[derive(Clone, Debug)]
pub enum PurgeError {
    /// The order cannot be carried out; the text says what to change.
    Refused(String),
    /// It could not be written to the journal, and would not survive a restart.
    Journal(Arc<io::Error>),
}

impl fmt::Display for PurgeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => out.write_str(why),
            Self::Journal(error) => write!(
                out,
                "nothing was purged, because it could not be written to the journal: {error}"
            ),
        }
    }
}

impl std::error::Error for PurgeError {}

/// Key hashes in one order.
pub const MOST_HASHES: usize = 1024;
/// Tags in one order.
pub const MOST_TAGS: usize = 4096;
/// Bytes of one tag's, host's or group's name.
pub const MOST_NAME_BYTES: usize = 1024;
/// Bytes of a prefix.
pub const MOST_PREFIX_BYTES: usize = 8192;
/// The tags that a field's value names: what stands between spaces, tabs and commas.
pub fn tag_words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = value.split(|byte| matches!(byte, b' ' | b'\t' | b','));
    words.filter(|word| !word.is_empty())
}

/// Tags that are named in words; of the others only the number is.
const MOST_SHOWN: usize = 5;

impl Order {
    /// How strong the purge is.
    pub fn strength(&self) -> Verdict {
        match (self.soft, &self.what) {
            (true, _) => Verdict::Soft,
            (false, What::Group { .. }) => Verdict::Invalid,
            (false, _) => Verdict::Gone,
        }
    }

    /// Whether it can be carried out.
    ///
    /// # Errors
    /// [`PurgeError::Refused`] when something is missing, empty or beyond a limit.
    pub fn check(&self) -> Result<(), PurgeError> {
        match &self.what {
            What::Key { hashes, .. } => within("URLs", hashes.len(), MOST_HASHES),
            What::Prefix { host, prefix } => {
                within("bytes of the prefix", prefix.len(), MOST_PREFIX_BYTES)?;
                host.as_ref()
                    .map_or(Ok(()), |host| within_name("the host", host))
            }
            What::Tags(names) => {
                within("tags", names.len(), MOST_TAGS)?;
                names.iter().try_for_each(|name| within_name("a tag", name))
            }
            What::Group { origin, name } => {
                within_name("the group's origin", origin)?;
                within_name("the group's name", name)
            }
            What::Ban(_) | What::All => Ok(()),
        }
    }

    /// What it does, in words for the operator: `everything is purged`.
    pub fn words(&self) -> String {
        let done = match self.strength() {
            Verdict::Soft => "stale from now on",
            Verdict::Invalid => "validated before its next use",
            Verdict::Current | Verdict::Gone => "purged",
        };
        format!("{} is {done}", self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy;
        match self {
            Self::Key { shown, .. } => out.write_str(shown),
            Self::Prefix { host, prefix } => {
                let host = host.as_ref().map_or("every host".into(), |host| text(host));
                write!(out, "what begins with {} on {host}", text(prefix))
            }
            Self::Ban(expression) => write!(out, "what matches {expression}"),
            Self::Tags(names) => {
                let shown = names.iter().take(MOST_SHOWN).map(|name| text(name));
                let shown: Vec<_> = shown.collect();
                write!(out, "what is tagged {}", shown.join(", "))?;
                match names.len().saturating_sub(MOST_SHOWN) {
                    0 => Ok(()),
                    more => write!(out, " and {more} more"),
                }
            }
            Self::Group { origin, name } => {
                write!(out, "the group {} of {}", text(name), text(origin))
            }
            Self::All => out.write_str("everything"),
        }
    }
}

fn within(what: &str, count: usize, most: usize) -> Result<(), PurgeError> {
    match count {
        0 => Err(PurgeError::Refused(format!(
            "there are no {what}: name at least one, or purge everything"
        ))),
        _ if count > most => Err(PurgeError::Refused(format!(
            "{count} {what} are more than the {most} of one purge"
        ))),
        _ => Ok(()),
    }
}

fn within_name(what: &str, name: &[u8]) -> Result<(), PurgeError> {
    match name.len() {
        0 => Err(PurgeError::Refused(format!("{what} is empty"))),
        bytes if bytes > MOST_NAME_BYTES => Err(PurgeError::Refused(format!(
            "{what} has {bytes} bytes; {MOST_NAME_BYTES} are allowed"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_said_in_words() {
        let order = |what, soft| Order { what, soft }.words();
        let tags = |count: usize| {
            What::Tags(
                (0..count)
                    .map(|tag| format!("t{tag}").as_bytes().into())
                    .collect(),
            )
        };
        assert_eq!(order(What::All, false), "everything is purged");
        assert_eq!(
            order(tags(7), true),
            "what is tagged t0, t1, t2, t3, t4 and 2 more is stale from now on"
        );
        let group = What::Group {
            origin: b"a.example".as_slice().into(),
            name: b"news".as_slice().into(),
        };
        assert_eq!(
            order(group, false),
            "the group news of a.example is validated before its next use"
        );
    }

    #[test]
    fn what_is_empty_or_too_much_is_refused() {
        let refused = |what| Order { what, soft: false }.check().is_err();
        let prefix = |bytes: usize| What::Prefix {
            host: None,
            prefix: vec![b'/'; bytes].into(),
        };
        assert!(refused(prefix(0)) && refused(prefix(MOST_PREFIX_BYTES + 1)));
        assert!(!refused(prefix(1)) && !refused(prefix(MOST_PREFIX_BYTES)));
        assert!(refused(What::Tags(vec![])));
        assert!(refused(What::Tags(vec![[].into()])));
        assert!(refused(What::Tags(vec![[b'a'; 1].into(); MOST_TAGS + 1])));
        assert!(refused(What::Key {
            hashes: vec![],
            shown: String::new()
        }));
    }
}

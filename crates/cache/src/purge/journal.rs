//! How purges are written down, so that they hold after a restart.
//!
//! ```text
//! record = version (1 byte: 1), mark of the hash seed (8), *entry
//! entry  = bytes of what follows (4), kind (1), strength (1), moment (8), payload
//! ```
//!
//! Numbers are little-endian. Kinds: 0 the moment alone; 1 everything; 2 keys and 3 tags, by
//! hash (8 each); 4 all keys and 5 all tags, of tables that forgot; 6 a prefix: whether there is
//! a host (1), its bytes (2), host, prefix; 7 a ban, its expression as text.
//!
//! Hashes are worth something only under the seed they were made with. An entry of another
//! seed stands for all keys or all tags.

use std::io;

use super::expression::Expression;
use super::reach::Verdict;

/// Where records are kept. Called by one thread at a time.
pub trait Keep: Send + Sync {
    /// Adds a record at the end; it is durable when this returns.
    ///
    /// # Errors
    /// When it is not certain that the record is durable.
    fn append(&self, record: &[u8]) -> io::Result<()>;

    /// Puts these records in the place of all: after a crash there are either those of before or these.
    ///
    /// # Errors
    /// When it is not certain; those of before are still there.
    fn rewrite(&self, records: &[Vec<u8>]) -> io::Result<()>;
}

/// The version of the format.
const VERSION: u8 = 1;
/// Bytes before the first entry.
const HEAD: usize = 9;
/// Bytes of an entry before its payload, without those of its length.
const ENTRY_HEAD: usize = 10;
/// Bytes after which a record is ended and another one begun.
const RECORD_BYTES: usize = 256 << 10;
/// No moment is later; a later one in a journal is damage.
pub(crate) const LAST_MOMENT: u64 = 1 << 60;

/// A purge as it is carried out and written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub moment: u64,
    /// How strong; without meaning for [`Scope::Moment`].
    pub strength: Verdict,
    /// Of what.
    pub scope: Scope,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: the moment was reached.
    Moment,
    /// Everything.
    All,
    /// What has these keys.
    Keys(Vec<u64>),
    /// What has one of these tags.
    Tags(Vec<u64>),
    /// What has a key that a full table forgot.
    KeyFloor,
    /// What has a tag that a full table forgot.
    TagFloor,
    /// What begins so, on one host or all.
    Prefix {
        /// The host, in lower case.
        host: Option<Box<[u8]>>,
        /// The first bytes of the target.
        prefix: Box<[u8]>,
    },
    /// What an expression holds for.
    Ban(Expression),
}

/// Records of these entries, none much larger than 256 KiB; `seed` marks the seed of the hashes.
pub fn encode(entries: &[Entry], seed: u64) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for entry in entries {
        if records.last().is_none_or(|last| last.len() >= RECORD_BYTES) {
            let mut record = vec![VERSION];
            record.extend_from_slice(&seed.to_le_bytes());
            records.push(record);
        }
        if let Some(record) = records.last_mut() {
            write(entry, record);
        }
    }
    records
}

fn write(entry: &Entry, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let (kind, hashes): (u8, &[u64]) = match &entry.scope {
        Scope::Moment => (0, &[]),
        Scope::All => (1, &[]),
        Scope::Keys(hashes) => (2, hashes),
        Scope::Tags(hashes) => (3, hashes),
        Scope::KeyFloor => (4, &[]),
        Scope::TagFloor => (5, &[]),
        Scope::Prefix { .. } => (6, &[]),
        Scope::Ban(_) => (7, &[]),
    };
    out.extend_from_slice(&[kind, entry.strength as u8]);
    out.extend_from_slice(&entry.moment.to_le_bytes());
    for hash in hashes {
        out.extend_from_slice(&hash.to_le_bytes());
    }
    match &entry.scope {
        Scope::Prefix { host, prefix } => {
            let name = host.as_deref().unwrap_or_default();
            out.push(u8::from(host.is_some()));
            out.extend_from_slice(&(name.len() as u16).to_le_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(prefix);
        }
        Scope::Ban(expression) => out.extend_from_slice(expression.text().as_bytes()),
        _ => {}
    }
    let bytes = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
}

/// Reads a record. What cannot be read is said in the second part; whoever asks must take it
/// for a purge of anything.
pub fn decode(record: &[u8], seed: u64) -> (Vec<Entry>, Vec<String>) {
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    let Some((head, mut rest)) = record.split_first_chunk::<HEAD>() else {
        problems.push(format!("a record of {} bytes", record.len()));
        return (entries, problems);
    };
    if head[0] != VERSION {
        problems.push(format!("a record of version {}", head[0]));
        return (entries, problems);
    }
    if rest.is_empty() {
        problems.push("a record without an entry".to_owned());
    }
    let same_seed = head[1..] == seed.to_le_bytes();
    while !rest.is_empty() {
        let Some((body, after)) = split_entry(rest) else {
            problems.push("a record that breaks off".to_owned());
            break;
        };
        rest = after;
        match entry(body) {
            Some(entry) => entries.push(if same_seed { entry } else { entry.widened() }),
            None => problems.push(format!("an entry of {} bytes", body.len())),
        }
    }
    (entries, problems)
}

fn split_entry(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (bytes, rest) = rest.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*bytes) as usize)
}

fn entry(body: &[u8]) -> Option<Entry> {
    let (head, payload) = body.split_first_chunk::<ENTRY_HEAD>()?;
    let strength = Verdict::of(head[1])?;
    let moment = u64::from_le_bytes(*head.last_chunk()?);
    let scope = match (head[0], payload.is_empty()) {
        (0, true) => Scope::Moment,
        (1, true) => Scope::All,
        (2, _) => Scope::Keys(hashes(payload)?),
        (3, _) => Scope::Tags(hashes(payload)?),
        (4, true) => Scope::KeyFloor,
        (5, true) => Scope::TagFloor,
        (6, _) => prefix(payload)?,
        (7, _) => Scope::Ban(Expression::parse(str::from_utf8(payload).ok()?).ok()?),
        _ => return None,
    };
    let purges = scope != Scope::Moment;
    let sound = moment <= LAST_MOMENT && (strength > Verdict::Current) == purges;
    sound.then_some(Entry {
        moment,
        strength,
        scope,
    })
}

fn hashes(payload: &[u8]) -> Option<Vec<u64>> {
    let (hashes, rest) = payload.as_chunks();
    let sound = rest.is_empty() && !hashes.is_empty();
    sound.then(|| {
        hashes
            .iter()
            .map(|hash| u64::from_le_bytes(*hash))
            .collect()
    })
}

fn prefix(payload: &[u8]) -> Option<Scope> {
    let (&[has_host, low, high], rest) = payload.split_first_chunk()?;
    let (host, prefix) = rest.split_at_checked(u16::from_le_bytes([low, high]).into())?;
    let host = match has_host {
        0 if host.is_empty() => None,
        1 => Some(host.into()),
        _ => return None,
    };
    let prefix = prefix.into();
    Some(Scope::Prefix { host, prefix })
}

impl Entry {
    /// What it stands for when its hashes mean nothing.
    fn widened(self) -> Self {
        let scope = match self.scope {
            Scope::Keys(_) => Scope::KeyFloor,
            Scope::Tags(_) => Scope::TagFloor,
            other => other,
        };
        Self { scope, ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope() -> impl Strategy<Value = Scope> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..20).prop_map(Into::into);
        let hashes = || proptest::collection::vec(any::<u64>(), 1..5);
        prop_oneof![
            Just(Scope::All),
            Just(Scope::KeyFloor),
            Just(Scope::TagFloor),
            hashes().prop_map(Scope::Keys),
            hashes().prop_map(Scope::Tags),
            (proptest::option::of(bytes()), bytes())
                .prop_map(|(host, prefix)| Scope::Prefix { host, prefix }),
            "[a-z]{1,5}"
                .prop_map(|word| Scope::Ban(Expression::parse(&format!("url ~ {word}")).unwrap())),
        ]
    }

    fn entry() -> impl Strategy<Value = Entry> {
        (scope(), 0..=LAST_MOMENT, 0..3usize).prop_map(|(scope, moment, strength)| Entry {
            moment,
            strength: Verdict::STRENGTHS[strength],
            scope,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(mut entries in proptest::collection::vec(entry(), 0..20)) {
            entries.push(Entry { moment: 3, strength: Verdict::Current, scope: Scope::Moment });
            let records = encode(&entries, 5);
            prop_assert_eq!(records.len(), 1);
            prop_assert_eq!(decode(&records[0], 5), (entries, vec![]));
        }

        #[test]
        fn damage_is_no_panic_and_is_told(
            entries in proptest::collection::vec(entry(), 1..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut record = encode(&entries, 5).remove(0);
            let cut = cut.index(record.len());
            record.truncate(cut);
            let (read, problems) = decode(&record, 5);
            prop_assert!(read.len() < entries.len());
            let between = encode(&entries[..read.len()], 5).concat().len();
            prop_assert!(!problems.is_empty() || cut == between);
        }

        #[test]
        fn no_bytes_are_a_panic(record in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(&record, 5);
        }
    }

    #[test]
    fn entries_that_cannot_be_are_damage() {
        let entry = |scope, strength, moment| Entry {
            moment,
            strength,
            scope,
        };
        for wrong in [
            entry(Scope::All, Verdict::Current, 1),
            entry(Scope::All, Verdict::Gone, LAST_MOMENT + 1),
            entry(Scope::Moment, Verdict::Gone, 1),
            entry(Scope::Tags(vec![]), Verdict::Gone, 1),
        ] {
            let (read, problems) = decode(&encode(&[wrong], 5)[0], 5);
            assert_eq!((read.len(), problems.len()), (0, 1));
        }
    }

    #[test]
    fn much_is_written_as_several_records() {
        let scope = Scope::Tags((0..1000).collect());
        let one = Entry {
            moment: 1,
            strength: Verdict::Gone,
            scope,
        };
        let records = encode(&vec![one.clone(); 100], 5);
        assert!(
            records.len() > 2
                && records
                    .iter()
                    .all(|record| record.len() < RECORD_BYTES + 9000)
        );
        let read: usize = records.iter().map(|record| decode(record, 5).0.len()).sum();
        assert_eq!(read, 100);
    }
}

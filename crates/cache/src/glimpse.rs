//! What is stored under a key, for the operator: in memory and on disk.

use std::sync::Arc;

use forebay_store::Wait;

use crate::disk::codec::{self, Layout};
use crate::index::Cache;
use crate::key::Key;
use crate::object::{Object, Tier, lines};
use crate::purge::Verdict;
use crate::terms::Terms;
use crate::vary::Selector;

/// Variants on disk that are shown.
const MOST_SHOWN: usize = 1024;

/// One variant as it lies there.
#[derive(Clone, Debug)]
pub struct Glimpse {
    /// The status of the response.
    pub status: u16,
    /// How it may be used.
    pub terms: Terms,
    /// What purges and unsafe requests made of it.
    pub verdict: Verdict,
    /// How often it was served since it came to where it lies.
    pub hits: u64,
    /// Bytes of the body that are stored.
    pub bytes: u64,
    /// Where it lies.
    pub tier: Tier,
    /// Only ranges of the body are stored.
    pub is_partial: bool,
    /// Names and values of the response's fields.
    pub fields: Vec<(String, String)>,
    /// The request fields that chose it and their values in normal form.
    pub vary: Vec<(String, String)>,
}

impl Cache {
    /// Every variant under a key, in memory first; what lies on disk as well is shown once. It
    /// reads from disk and waits for it.
    pub fn glimpse(&self, key: &Key<'_>) -> Vec<Glimpse> {
        let in_memory = self.variants(key);
        let mut all: Vec<Glimpse> = in_memory.iter().map(|one| self.of_object(one)).collect();
        let known: Vec<u32> = in_memory.iter().map(|object| object.variant()).collect();
        for (id, extent) in self
            .disk()
            .map_or_else(Vec::new, |disk| disk.find(key.hash, MOST_SHOWN))
        {
            if known.contains(&id.variant) {
                continue;
            }
            if let Ok(Some((_, meta, bytes))) = extent.read_meta(Wait::Yes)
                && let Some(recalled) = codec::decode(&meta)
                && *recalled.key == *key.text
            {
                all.push(self.of_recalled(&recalled, bytes));
            }
        }
        all
    }

    fn of_object(&self, object: &Arc<Object>) -> Glimpse {
        Glimpse {
            status: object.status(),
            terms: object.terms,
            verdict: self.verdict(object),
            hits: object.hits(),
            bytes: object.body_bytes(),
            tier: object.tier(),
            is_partial: object.whole().is_none(),
            fields: object
                .fields()
                .map(|(_, name, value)| pair(name, value))
                .collect(),
            vary: object.selector().map(vary).unwrap_or_default(),
        }
    }

    fn of_recalled(&self, recalled: &codec::Recalled, data_bytes: u64) -> Glimpse {
        let bytes = match &recalled.layout {
            Layout::Pieces(pieces) => pieces.iter().map(|piece| piece.len).sum(),
            Layout::Whole | Layout::Ranges(..) => data_bytes,
        };
        let fields = lines(recalled.head()).map(|(name, value)| pair(name, value));
        Glimpse {
            status: recalled.status(),
            terms: recalled.terms,
            verdict: self.purged(recalled),
            hits: 0,
            bytes,
            tier: Tier::Disk,
            is_partial: matches!(recalled.layout, Layout::Ranges(..)),
            fields: fields.collect(),
            vary: recalled.selector.as_ref().map(vary).unwrap_or_default(),
        }
    }
}

impl Glimpse {
    /// The value of the first field line with this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut named = self.fields.iter();
        let found = named.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

fn pair(name: &[u8], value: &[u8]) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(name), text(value))
}

fn vary(selector: &Selector) -> Vec<(String, String)> {
    let mut values = selector.values().split(|&byte| byte <= 1);
    let named = selector.names().map(|name| {
        let value = values.next().unwrap_or_default();
        pair(name, value)
    });
    named.collect()
}

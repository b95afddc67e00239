//! Taking the oldest segment back: what is still used is written anew, the rest goes.

use std::collections::HashMap;
use std::sync::Weak;

use bytes::Bytes;
use forebay_store::{Candidate, Extent, Id, Place, Verdict as Fate, Wait};

use super::codec::{self, Layout, PiecePlace};
use super::{Directory, Event};
use crate::Cache;
use crate::purge::Verdict;

/// An object that loses pieces, and those of them that lie in the segment that goes.
struct Moving {
    id: Id,
    pieces: HashMap<Place, Extent>,
}

impl Directory {
    /// Takes the oldest segment back. What was used since it was written or last looked at is
    /// written anew.
    pub(super) fn reclaim(&self, cache: &Weak<Cache>) {
        let cache_now = cache.upgrade();
        let cache_now = cache_now.as_deref();
        let mut moving: Vec<Moving> = Vec::new();
        let mut kept = 0;
        let outcome = self.log.reclaim(&mut |candidate| match candidate {
            Candidate::Entry {
                id, heat, extent, ..
            } => {
                let keep = heat > 0 && is_of_use(extent, cache_now);
                if keep {
                    kept += 1;
                    return Fate::Keep;
                }
                if let Some(cache) = cache_now {
                    cache.left_disk(id);
                }
                Fate::Drop
            }
            Candidate::Piece { id, place, .. } if !self.lists(id, place) => Fate::Drop,
            Candidate::Piece {
                id, place, heat, ..
            } => {
                if heat > 0
                    && let Some(extent) = self.log.extent(place)
                {
                    match moving.iter_mut().find(|moving| moving.id == id) {
                        Some(moving) => drop(moving.pieces.insert(place, extent)),
                        None => moving.push(Moving {
                            id,
                            pieces: HashMap::from([(place, extent)]),
                        }),
                    }
                } else {
                    self.drop_object(id, cache_now);
                }
                Fate::Drop
            }
        });
        for moving in moving {
            match self.rewrite(&moving, cache) {
                Some(()) => kept += 1,
                None => self.drop_object(moving.id, cache_now),
            }
        }
        if outcome.segment.is_some() {
            (self.watch)(Event::Reclaimed);
        }
        (0..kept).for_each(|_| (self.watch)(Event::Reinserted));
    }

    /// Whether the object that is found under an id now has this piece: it may be a newer one.
    fn lists(&self, id: Id, place: Place) -> bool {
        let hits = self.log.find(id.key);
        let entry = hits.iter().find(|hit| hit.id == id);
        let extent = entry.and_then(|hit| self.log.extent(hit.place));
        let meta = extent.and_then(|extent| extent.read_meta(Wait::Yes).ok().flatten());
        let layout = meta
            .and_then(|(_, meta, _)| codec::decode(&meta))
            .map(|recalled| recalled.layout);
        matches!(layout, Some(Layout::Pieces(pieces)) if pieces.iter().any(|piece| piece.place == place))
    }

    /// Gives an object up that has lost a part of its body.
    fn drop_object(&self, id: Id, cache: Option<&Cache>) {
        self.log.remove(id, None);
        if let Some(cache) = cache {
            cache.left_disk(id);
        }
    }

    /// Writes a large object anew, with all its pieces.
    fn rewrite(&self, moving: &Moving, cache: &Weak<Cache>) -> Option<()> {
        let hits = self.log.find(moving.id.key);
        let hit = hits.iter().find(|hit| hit.id == moving.id)?;
        let entry = self.log.extent(hit.place)?;
        let (_, meta, _) = entry.read_meta(Wait::Yes).ok()??;
        let recalled = codec::decode(&meta)?;
        if cache.upgrade()?.purged(&recalled) != Verdict::Current {
            return None;
        }
        let Layout::Pieces(pieces) = recalled.layout else {
            return None;
        };
        let mut places = Vec::with_capacity(pieces.len());
        for PiecePlace { place, len } in pieces {
            let elsewhere;
            let extent = match moving.pieces.get(&place) {
                Some(extent) => extent,
                None => {
                    elsewhere = self.log.extent(place)?;
                    &elsewhere
                }
            };
            let data: Vec<Bytes> = extent.read_data(0..len, Wait::Yes).ok()??;
            places.push(PiecePlace {
                place: self.append_piece(moving.id, &data, cache)?,
                len,
            });
        }
        let meta = codec::with_pieces(&meta, &places)?;
        if let Some(cache) = cache.upgrade() {
            cache.left_disk(moving.id);
        }
        self.append_entry(moving.id, meta, &[], cache).map(drop)
    }
}

/// Whether a record is one of an object that was not purged.
fn is_of_use(extent: &Extent, cache: Option<&Cache>) -> bool {
    let (Ok(Some((_, meta, _))), Some(cache)) = (extent.read_meta(Wait::Yes), cache) else {
        return false;
    };
    let Some(recalled) = codec::decode(&meta) else {
        return false;
    };
    // A weaker verdict would have to be written down with it: it is fetched anew instead.
    cache.purged(&recalled) == Verdict::Current
}

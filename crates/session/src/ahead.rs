//! The keys of commands that have come and are not carried out yet. An engine that is told of
//! several can wait for the memory of all of them at once ([`Engine::prefetch`]).
//!
//! It is for hints only: what a command means, and whether it is one, is decided when it is
//! carried out.

use crate::engine::Engine;

/// How many keys are gathered at most.
const KEYS_MOST: usize = 16;

/// What a command that is not carried out yet is about.
pub(crate) struct Next<'i> {
    /// The key; empty where it has none or several.
    pub(crate) key: &'i [u8],
    /// How many bytes it takes, those that are still to come included.
    pub(crate) bytes: usize,
}

/// Keys that are about to be asked for.
#[derive(Debug, Default)]
pub struct Ahead<'i> {
    keys: [&'i [u8]; KEYS_MOST],
    count: usize,
}

impl<'i> Ahead<'i> {
    /// Adds a key, unless it is empty or there are enough.
    pub(crate) fn add(&mut self, key: &'i [u8]) {
        if let Some(place) = self.keys.get_mut(self.count).filter(|_| !key.is_empty()) {
            *place = key;
            self.count += 1;
        }
    }

    /// Whether no more keys are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.count == KEYS_MOST
    }

    /// Tells the engine, if there is more than one: there is nothing to gain from one alone.
    pub fn tell<E: Engine>(&self, engine: &E) {
        if let Some(keys @ [_, _, ..]) = self.keys.get(..self.count) {
            engine.prefetch(keys);
        }
    }
}

//! The connections of a thread, by number. A number is not given again: who waited for a
//! connection that is gone finds none.

use mio::Token;

use crate::client::Client;

/// A connection's number: its place, and the how manieth that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    place: u32,
    turn: u32,
}

impl Id {
    /// None is lower.
    pub(crate) const LEAST: Self = Self { place: 0, turn: 0 };

    pub(crate) fn token(self) -> Token {
        Token((self.turn as usize) << 32 | self.place as usize)
    }

    pub(crate) fn of(token: Token) -> Self {
        Self {
            place: token.0 as u32,
            turn: (token.0 >> 32) as u32,
        }
    }
}

/// The highest turn; tokens above are not those of connections.
const TURN_MOST: u32 = u32::MAX >> 1;

#[derive(Debug, Default)]
struct Place {
    turn: u32,
    taken: bool,
    client: Option<Box<Client>>,
}

/// The connections of one thread.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    places: Vec<Place>,
    free: Vec<u32>,
    count: usize,
}

impl Clients {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// A number for one more.
    pub(crate) fn reserve(&mut self) -> Id {
        self.count += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            (self.places.len() - 1) as u32
        });
        let turn = match self.places.get_mut(place as usize) {
            Some(entry) => {
                entry.taken = true;
                entry.turn
            }
            None => 0,
        };
        Id { place, turn }
    }

    fn place(&mut self, id: Id) -> Option<&mut Place> {
        let place = self.places.get_mut(id.place as usize)?;
        (place.turn == id.turn && place.taken).then_some(place)
    }

    /// The connection, where it is.
    pub(crate) fn get(&mut self, id: Id) -> Option<&mut Client> {
        self.place(id)?.client.as_deref_mut()
    }

    /// Takes the connection out, to be put back or released.
    pub(crate) fn take(&mut self, id: Id) -> Option<Box<Client>> {
        self.place(id)?.client.take()
    }

    /// Puts it (back) in its place.
    pub(crate) fn put(&mut self, id: Id, client: Box<Client>) {
        if let Some(place) = self.place(id) {
            place.client = Some(client);
        }
    }

    /// Its number is no longer anybody's.
    pub(crate) fn release(&mut self, id: Id) {
        let Some(place) = self.place(id) else {
            return;
        };
        place.taken = false;
        place.turn = if place.turn < TURN_MOST {
            place.turn + 1
        } else {
            0
        };
        self.free.push(id.place);
        self.count -= 1;
    }

    /// All numbers with their connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &Client)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, place)| {
            let id = Id {
                place: at as u32,
                turn: place.turn,
            };
            Some((id, place.client.as_deref()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_given_twice_and_a_place_is() {
        let mut clients = Clients::default();
        let (first, second) = (clients.reserve(), clients.reserve());
        clients.release(first);
        clients.release(first);
        assert_eq!(clients.len(), 1);
        let third = clients.reserve();
        assert_eq!(third.place, first.place);
        assert_ne!(third.token(), first.token());
        assert_eq!(Id::of(third.token()), third);
        assert_ne!(third, second);
        assert!(clients.take(first).is_none());
    }
}

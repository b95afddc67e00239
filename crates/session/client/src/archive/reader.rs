//! An export while it is read. Nothing is handed out whose checksum is wrong, and lengths cost
//! memory only as their bytes arrive.

use std::io::{self, ErrorKind, Read};

use forebay_session::Item;

use super::Damage;
use super::head::{self, FILE_BYTES, RECORD_BYTES, Record};

/// Reads items up to the end mark.
pub struct Reader<R> {
    from: R,
    items: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    has_ended: bool,
}

impl<R: Read> Reader<R> {
    /// Begins a file; `from` should be buffered.
    ///
    /// # Errors
    /// When it is no export that this program knows.
    pub fn new(mut from: R) -> Result<Self, Damage> {
        let mut head = [0; FILE_BYTES];
        from.read_exact(&mut head)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => Damage::Foreign,
                _ => Damage::Unreadable(error),
            })?;
        head::check_file(&head)?;
        Ok(Self {
            from,
            items: 0,
            key: Vec::new(),
            value: Vec::new(),
            has_ended: false,
        })
    }

    /// How many items were read.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The next item with its key; `None`: the file is whole, and at its end.
    ///
    /// # Errors
    /// When it is cut off or damaged; what was given before is good.
    pub fn next_item(&mut self) -> Result<Option<(&[u8], Item<'_>)>, Damage> {
        if self.has_ended {
            return Ok(None);
        }
        let mut head = [0; RECORD_BYTES];
        self.exact(&mut head)?;
        match Record::decode(&head).ok_or(Damage::Corrupt(self.items))? {
            Record::End(said) => {
                self.check_end(said)?;
                Ok(None)
            }
            Record::Item {
                key_bytes,
                value_bytes,
                flags,
                expires_s,
            } => {
                self.read_body(key_bytes, value_bytes)?;
                self.items += 1;
                let item = Item {
                    value: &self.value,
                    flags,
                    expires_s,
                    ..Item::default()
                };
                Ok(Some((&self.key, item)))
            }
        }
    }

    fn read_body(&mut self, key_bytes: u16, value_bytes: u32) -> Result<(), Damage> {
        let items = self.items;
        gather(&mut self.from, key_bytes.into(), &mut self.key, items)?;
        gather(&mut self.from, value_bytes.into(), &mut self.value, items)?;
        let mut checksum = [0; 4];
        self.exact(&mut checksum)?;
        let expected = crc32c::crc32c_append(crc32c::crc32c(&self.key), &self.value);
        match checksum == expected.to_le_bytes() {
            true => Ok(()),
            false => Err(Damage::Corrupt(self.items)),
        }
    }

    fn check_end(&mut self, said: u64) -> Result<(), Damage> {
        let found = self.items;
        if said != found {
            return Err(Damage::Count { said, found });
        }
        self.has_ended = true;
        match self.from.read_exact(&mut [0]) {
            Ok(()) => Err(Damage::Trailing),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(Damage::Unreadable(error)),
        }
    }

    fn exact(&mut self, to: &mut [u8]) -> Result<(), Damage> {
        let items = self.items;
        self.from
            .read_exact(to)
            .map_err(|error| damage(error, items))
    }
}

/// Reads so many bytes into a buffer that grows as they come.
fn gather(from: &mut impl Read, bytes: u64, to: &mut Vec<u8>, items: u64) -> Result<(), Damage> {
    to.clear();
    let read = from.take(bytes).read_to_end(to);
    match read.map_err(|error| damage(error, items))? as u64 == bytes {
        true => Ok(()),
        false => Err(Damage::CutOff(items)),
    }
}

fn damage(error: io::Error, items: u64) -> Damage {
    match error.kind() {
        ErrorKind::UnexpectedEof => Damage::CutOff(items),
        _ => Damage::Unreadable(error),
    }
}

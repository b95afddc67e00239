//! Data files: rows of a CSV file (RFC 4180) whose columns are variables.

use std::sync::atomic::{AtomicU64, Ordering};

use super::model::{Data, DataOrder, OnEnd};

/// Largest data file, in bytes.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Reported of the rows that cannot be used.
const MAX_WRONG: usize = 10;

/// A data file in memory: one text, and where each cell ends.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    text: String,
    ends: Vec<u32>,
    order: DataOrder,
    on_end: OnEnd,
    /// The next row that no user has taken.
    next: AtomicU64,
}

impl Table {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// What is wrong with it, with line numbers.
    pub(crate) fn read(data: &Data, bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("`{}` is larger than 256 MiB", data.file));
        }
        let separator = u8::try_from(data.separator)
            .ok()
            .filter(u8::is_ascii)
            .ok_or("the separator is not an ASCII character")?;
        let mut table = Self {
            columns: data.columns.clone(),
            text: String::with_capacity(bytes.len()),
            ends: Vec::new(),
            order: data.order,
            on_end: data.on_end,
            next: AtomicU64::new(0),
        };
        // A byte order mark would become part of the first name.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        table.rows(&data.file, separator, bytes)?;
        Ok(table)
    }

    fn rows(&mut self, file: &str, separator: u8, bytes: &[u8]) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut wrong = Vec::new();
        for record in reader.records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    wrong.push(format!("`{file}`: {error}"));
                    break;
                }
            };
            if self.columns.is_empty() {
                self.columns = record.iter().map(|name| name.trim().to_owned()).collect();
                continue;
            }
            if record.len() < self.columns.len() {
                let line = record.position().map_or(0, csv::Position::line);
                let (has, names) = (record.len(), self.columns.len());
                wrong.push(format!("`{file}` line {line}: {has} of {names} columns"));
            }
            for cell in record.iter().take(self.columns.len()) {
                self.text.push_str(cell);
                self.ends.push(self.text.len() as u32);
            }
            if wrong.len() == MAX_WRONG {
                break;
            }
        }
        match (wrong.is_empty(), self.ends.is_empty()) {
            (false, _) => Err(wrong.join("\n")),
            (true, true) => Err(format!("`{file}` has no rows")),
            (true, false) => Ok(()),
        }
    }

    /// Names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are; at least one.
    pub(crate) fn len(&self) -> u64 {
        (self.ends.len() / self.columns.len().max(1)).max(1) as u64
    }

    /// A cell; empty when there is none.
    pub(crate) fn get(&self, row: u32, column: usize) -> &str {
        let index = row as usize * self.columns.len() + column;
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.text
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// The row for a user's next iteration; `None` when they are used up.
    pub(crate) fn take(&self, user: u32, rng: &mut fastrand::Rng) -> Option<u32> {
        let rows = self.len();
        let taken = match self.order {
            DataOrder::Sequential => self.next.fetch_add(1, Ordering::Relaxed),
            DataOrder::PerUser => u64::from(user),
            DataOrder::Random => rng.u64(..rows),
        };
        if taken >= rows && self.on_end == OnEnd::Stop {
            return None;
        }
        Some((taken % rows) as u32)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn data(order: DataOrder, on_end: OnEnd) -> Data {
        Data {
            file: "users.csv".into(),
            columns: Vec::new(),
            separator: ',',
            order,
            on_end,
        }
    }

    const USERS: &[u8] = b"\xef\xbb\xbfname, word\r\nann,\"a,1\"\r\nbob,\r\n";

    #[test]
    fn rows_are_taken_in_order_and_once_among_all() {
        let mut rng = fastrand::Rng::with_seed(1);
        let table = Table::read(&data(DataOrder::Sequential, OnEnd::Stop), USERS).unwrap();
        assert_eq!(table.columns(), ["name", "word"]);
        let taken: Vec<_> = (0..3).map(|user| table.take(user, &mut rng)).collect();
        assert_eq!(taken, [Some(0), Some(1), None]);
        assert_eq!((table.get(0, 0), table.get(0, 1)), ("ann", "a,1"));
        assert_eq!((table.get(1, 0), table.get(1, 1)), ("bob", ""));
        assert_eq!(table.get(2, 0), "");
        let table = Table::read(&data(DataOrder::Sequential, OnEnd::Wrap), USERS).unwrap();
        let taken: Vec<_> = (0..3).map(|user| table.take(user, &mut rng)).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn a_user_keeps_its_row() {
        let mut rng = fastrand::Rng::with_seed(1);
        let table = Table::read(&data(DataOrder::PerUser, OnEnd::Stop), USERS).unwrap();
        assert_eq!(table.take(1, &mut rng), table.take(1, &mut rng));
        assert_eq!(table.take(2, &mut rng), None);
    }

    #[test]
    fn what_cannot_be_used_is_said_with_its_line() {
        let read = |bytes: &[u8]| Table::read(&data(DataOrder::Random, OnEnd::Wrap), bytes);
        let error = read(b"a,b\n1,2\n3\n4\n").unwrap_err();
        assert!(
            error.contains("line 3: 1 of 2") && error.contains("line 4"),
            "{error}"
        );
        assert!(read(b"a,b\n").unwrap_err().contains("no rows"));
        assert!(read(b"").unwrap_err().contains("no rows"));
        assert!(read(b"a\n\xff\n").unwrap_err().contains("UTF-8"));
    }
}

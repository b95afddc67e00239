//! The statistics of a store.

use std::io::Write as _;

use crate::client::{Client, is_error};
use crate::error::Error;

/// More than any group of statistics has.
const ROWS_MOST: usize = 100_000;

impl Client {
    /// The statistics: all, or of a group such as `items` or `settings`; names and values.
    ///
    /// # Errors
    /// When the store does not answer, or does not know the group.
    pub fn stats(&mut self, group: &str) -> Result<Vec<(String, String)>, Error> {
        if !group
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(Error::Unaskable(format!(
                "`{group}` is no group of statistics"
            )));
        }
        let end = if group.is_empty() { "" } else { " " };
        let _ = write!(self.wire.output, "stats{end}{group}\r\n");
        self.wire.flush()?;
        let mut rows = Vec::new();
        loop {
            let line = self.wire.line()?.to_vec();
            if line == b"END" || line == b"RESET" {
                return Ok(rows);
            }
            let text = String::from_utf8_lossy(&line);
            let row = text
                .strip_prefix("STAT ")
                .map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
            match row {
                Some((name, value)) if rows.len() < ROWS_MOST => {
                    rows.push((name.into(), value.into()))
                }
                _ if line == b"ERROR" => {
                    let words = format!("it has no statistics `{group}`");
                    return Err(self.wire.refused(words.as_bytes()));
                }
                _ if is_error(&line) => return Err(self.wire.refused(&line)),
                _ => return Err(self.wire.strange("statistics", &line)),
            }
        }
    }
}

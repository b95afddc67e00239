//! What a recording held and a replay does not send, in words for the user:
//! nothing is dropped silently.

use std::fmt;

use crate::LineErrors;

/// What was read and is not sent, or not as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines that could not be read or whose URL cannot be sent.
    pub errors: LineErrors,
    /// Lines of requests that never arrived whole, as servers log them for closed connections.
    pub no_request: u64,
    /// Methods that were left out, as a log does not have their bodies, and how often each.
    pub methods: Vec<(String, u64)>,
    /// Requests beyond what a replay holds.
    pub beyond_limit: u64,
    /// Sent with the one before, as they had no time.
    pub without_time: u64,
    /// Sent without the query that they had: Squid cuts it off behind the `?`.
    pub without_query: u64,
    /// Sent at the beginning or the end: more than 24 days from the first line.
    pub out_of_time: u64,
}

impl Skipped {
    /// How many of the methods are listed by name.
    pub(crate) const NAMED: usize = 16;

    /// Counts a request that was left out for its method.
    pub(crate) fn method(&mut self, method: &str) {
        if let Some((_, count)) = self.methods.iter_mut().find(|(known, _)| known == method) {
            *count += 1;
        } else if self.methods.len() < Self::NAMED {
            self.methods.push((method.into(), 1));
        } else {
            self.method_beyond();
        }
    }

    fn method_beyond(&mut self) {
        match self.methods.last_mut() {
            Some((name, count)) if name == "others" => *count += 1,
            Some(last) => {
                let count = last.1 + 1;
                *last = ("others".into(), count);
            }
            None => {}
        }
    }

    /// Requests that were read and are not sent.
    pub fn total(&self) -> u64 {
        let methods: u64 = self.methods.iter().map(|(_, count)| count).sum();
        self.errors.total + self.no_request + methods + self.beyond_limit
    }

    /// Whether everything is sent as it was recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One line for each reason; nothing when nothing was left out.
impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |count: u64, words: &dyn fmt::Display| match count {
            0 => Ok(()),
            1 => writeln!(f, "1 request {words}"),
            count => writeln!(f, "{count} requests {words}"),
        };
        let methods: u64 = self.methods.iter().map(|(_, count)| count).sum();
        let list: Vec<String> = self
            .methods
            .iter()
            .map(|(method, count)| format!("{method} {count}"))
            .collect();
        let reason = "left out: bodies are not in a log, so only GET, HEAD and OPTIONS are sent \
                      (--all-methods sends all but CONNECT, without bodies)";
        line(methods, &format!("{reason}: {}", list.join(", ")))?;
        line(
            self.no_request,
            &"left out: the line says that none was read (closed early, or not HTTP)",
        )?;
        line(
            self.beyond_limit,
            &"left out: beyond what a replay holds in memory",
        )?;
        line(
            self.without_time,
            &"had no time in the line: sent together with the one before",
        )?;
        line(
            self.without_query,
            &"sent without a query: Squid logs none (strip_query_terms off makes it)",
        )?;
        line(
            self.out_of_time,
            &"more than 24 days from the first line: sent at the beginning or the end",
        )?;
        line(self.errors.total, &"left out: the line cannot be used")?;
        match self.errors.is_empty() {
            true => Ok(()),
            false => writeln!(f, "{}", self.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_named_up_to_a_limit() {
        let mut skipped = Skipped::default();
        for number in 0..40 {
            skipped.method(&format!("M{number}"));
        }
        skipped.method("M3");
        assert_eq!(skipped.methods.len(), Skipped::NAMED);
        assert_eq!(skipped.total(), 41);
        assert_eq!(skipped.methods[3], ("M3".to_owned(), 2));
        assert_eq!(skipped.methods[15], ("others".to_owned(), 25));
    }
}

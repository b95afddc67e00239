//! Everybody's origin: nginx with the documents of the suite, on the cores of
//! the load. It counts what it is asked.

use std::net::SocketAddr;
use std::path::Path;

use crate::launch::{self, Launched, Probe};
use crate::place::{Common, Place};
use crate::{probe, servers};

/// Where nginx tells its counts.
const STATUS: &str = "/.status";

/// The origin while it runs.
#[derive(Debug)]
pub(crate) struct Origin {
    launched: Launched,
}

impl Origin {
    /// Starts it.
    ///
    /// # Errors
    /// When nginx is not installed, or does not answer.
    pub(crate) fn start(
        place: &mut Place,
        common: &Common,
        document: &Probe<'_>,
    ) -> Result<Self, String> {
        let server = servers::origin();
        let program = server.program.path(Path::new("")).ok_or_else(|| {
            format!(
                "the origin of every comparison is nginx: {}, or --install",
                server.program.remedy()
            )
        })?;
        let launched = launch::start(&server, &program, place, common, launch::NOBODY, document)
            .map_err(|e| format!("the origin (nginx) does not start: {e}"))?;
        Ok(Self { launched })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.launched.address
    }

    /// Its command line.
    pub(crate) fn command(&self) -> &str {
        &self.launched.command
    }

    /// Requests so far, this one included; `None` when it does not tell.
    pub(crate) fn requests(&self) -> Option<u64> {
        let answer = probe::get(self.address(), STATUS).ok()?;
        parse(&String::from_utf8_lossy(&answer.body))
    }
}

/// The third number below `server accepts handled requests`.
fn parse(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    lines.find(|l| l.contains("requests"))?;
    lines.next()?.split_whitespace().nth(2)?.parse().ok()
}

/// Requests between two counts, the second count's own left out.
pub(crate) fn between(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_the_question_itself_left_out() {
        let text = "Active connections: 1 \nserver accepts handled requests\n 7 7 23 \nReading: 0";
        assert_eq!(parse(text), Some(23));
        assert_eq!(parse("<html>"), None);
        assert_eq!(between(Some(23), Some(24)), Some(0));
        assert_eq!(between(Some(23), Some(30)), Some(6));
        assert_eq!(between(None, Some(30)), None);
    }
}

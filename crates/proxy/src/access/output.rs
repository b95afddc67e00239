//! Where lines end up, and what happens when they cannot get there.

use forebay_config::settings::LogTarget;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// How often at most a failing log is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// An open log.
pub(super) struct Output {
    file: File,
    name: String,
    /// Whether the last line was cut off by an error.
    torn: bool,
    reported: Option<Instant>,
    /// Lines lost since the last report.
    lost: u64,
}

impl Output {
    /// Opens a target; `None` when the log is off.
    ///
    /// # Errors
    /// The file cannot be opened or created.
    pub(super) fn open(target: &LogTarget) -> io::Result<Option<Self>> {
        let (file, name) = match target {
            LogTarget::Off => return Ok(None),
            LogTarget::Stdout => (
                duplicate(io::stdout().as_fd())?,
                "standard output".to_owned(),
            ),
            LogTarget::Stderr => (
                duplicate(io::stderr().as_fd())?,
                "standard error".to_owned(),
            ),
            LogTarget::File(path) => {
                // Not for everyone's eyes: targets and addresses are personal.
                let file = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(0o640)
                    .open(path);
                let name = path.display().to_string();
                (
                    file.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?,
                    name,
                )
            }
        };
        Ok(Some(Self {
            file,
            name,
            torn: false,
            reported: None,
            lost: 0,
        }))
    }

    /// Writes whole lines; returns how many of them were lost. An error is
    /// reported, but not more often than once a minute.
    pub(super) fn write(&mut self, lines: &[u8]) -> u64 {
        if lines.is_empty() {
            return 0;
        }
        match self.try_write(lines) {
            Ok(()) => 0,
            Err((written, error)) => {
                let lost = count_lines(&lines[written..]);
                self.torn = written > 0 && lines[written - 1] != b'\n' || self.torn && written == 0;
                self.lost += lost;
                self.report(&error);
                lost
            }
        }
    }

    /// On an error also returns how many bytes of `lines` got through.
    fn try_write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        if self.torn {
            self.file.write_all(b"\n").map_err(|error| (0, error))?;
            self.torn = false;
        }
        let mut written = 0;
        while written < lines.len() {
            match self.file.write(&lines[written..]) {
                Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }

    fn report(&mut self, error: &io::Error) {
        let now = Instant::now();
        if self
            .reported
            .is_none_or(|last| now.duration_since(last) >= REPORT_INTERVAL)
        {
            tracing::error!(log = %self.name, lines_lost = self.lost, "the access log cannot be written: {error}");
            self.reported = Some(now);
            self.lost = 0;
        }
    }
}

/// The descriptor itself, so that lines do not pass through the standard
/// library's buffer and lock.
fn duplicate(descriptor: BorrowedFd<'_>) -> io::Result<File> {
    descriptor.try_clone_to_owned().map(File::from)
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    /// An output into a socket that takes only so much, and its other end.
    fn bounded() -> (Output, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let file = File::from(OwnedFd::from(near));
        (
            Output {
                file,
                name: "test".into(),
                torn: false,
                reported: None,
                lost: 0,
            },
            far,
        )
    }

    #[test]
    fn a_line_cut_off_by_an_error_does_not_swallow_the_next() {
        let (mut output, mut far) = bounded();
        let line = [vec![b'x'; 9_999], vec![b'\n']].concat();
        let many = line.repeat(1_000);
        let lost = output.write(&many);
        assert!((1..1_000).contains(&lost), "{lost} lost");
        let mut read = vec![0; many.len()];
        far.set_nonblocking(true).unwrap();
        let mut taken = 0;
        while let Ok(count) = far.read(&mut read[taken..]) {
            taken += count;
        }
        let whole = 1_000 - lost;
        assert!(
            taken as u64 > whole * 10_000,
            "the last line is not cut off; the test shows nothing"
        );
        assert_eq!(output.write(b"next\n"), 0);
        let count = far.read(&mut read).unwrap();
        assert_eq!(&read[..count], b"\nnext\n");
    }

    #[test]
    fn an_output_whose_reader_is_gone_loses_lines_quietly() {
        let (mut output, far) = bounded();
        drop(far);
        assert_eq!(output.write(b"one\ntwo\n"), 2);
        assert_eq!(output.write(b"three\n"), 1);
        assert_eq!(
            output.lost, 1,
            "the first report named two, the second waits for its minute"
        );
    }
}

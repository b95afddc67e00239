//! What a guard tells Forebay of its application: a line for each event, on the socket pair.

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The application runs, under this process id.
    Pid(u32),
    /// It has ended by itself, with this status.
    Exit(i32),
    /// It was ended by this signal.
    Signal(i32),
}

impl Report {
    /// Reads a line without its end; `None` when a guard does not say such.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        match word {
            "pid" => number.parse().ok().map(Self::Pid),
            "exit" => number.parse().ok().map(Self::Exit),
            "signal" => number.parse().ok().map(Self::Signal),
            _ => None,
        }
    }

    /// The line, with its end.
    pub(crate) fn line(self) -> String {
        match self {
            Self::Pid(pid) => format!("pid {pid}\n"),
            Self::Exit(status) => format!("exit {status}\n"),
            Self::Signal(signal) => format!("signal {signal}\n"),
        }
    }

    /// How it ended, in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Pid(pid) => format!("runs as {pid}"),
            Self::Exit(status) => format!("ended with status {status}"),
            Self::Signal(signal) => format!("was ended by signal {signal}{}", name(signal)),
        }
    }
}

/// The signals that end applications.
fn name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL; the system's out-of-memory killer sends it too)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for report in [Report::Pid(17), Report::Exit(3), Report::Signal(9)] {
            assert_eq!(Report::read(report.line().trim_end()), Some(report));
        }
        for line in ["", "pid", "pid x", "other 1"] {
            assert_eq!(Report::read(line), None);
        }
    }
}

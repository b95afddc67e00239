//! Whether a server is up, by what its last checks found.

/// What is known of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_up: bool,
    /// Checks in a row that contradict it.
    against: u32,
}

impl Default for Verdict {
    fn default() -> Self {
        Self {
            is_up: true,
            against: 0,
        }
    }
}

impl Verdict {
    /// Takes in a check. `rise` good ones in a row bring a server up, `fall` bad ones down. True
    /// when that changed.
    pub(crate) fn add(&mut self, is_good: bool, rise: u32, fall: u32) -> bool {
        if is_good == self.is_up {
            self.against = 0;
            return false;
        }
        self.against += 1;
        let enough = if is_good { rise } else { fall };
        if self.against < enough {
            return false;
        }
        *self = Self {
            is_up: is_good,
            against: 0,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What checks make of a server that rises with 2 and falls with 3: `+` good, `-` bad.
    fn after(checks: &str) -> bool {
        let mut verdict = Verdict::default();
        for check in checks.chars() {
            verdict.add(check == '+', 2, 3);
        }
        verdict.is_up
    }

    #[test]
    fn a_server_falls_and_rises_after_enough_checks_in_a_row() {
        for (checks, is_up) in [
            ("", true),
            ("--", true),
            ("---", false),
            ("--+--", true),
            ("---+", false),
            ("---+-+", false),
            ("---++", true),
            ("---++--", true),
            ("---++---", false),
        ] {
            assert_eq!(after(checks), is_up, "{checks}");
        }
    }
}

//! The two ways a log line writes the time, formatted once a second.

use forebay_http::date;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The second last formatted. One for each worker.
pub(super) struct Clock {
    second: Option<u64>,
    /// What [`date::write`] makes of it: `Sat, 21 Nov 2026 20:00:00 GMT`.
    http: Vec<u8>,
    /// `2026-11-21T20:00:00`
    rfc3339: Vec<u8>,
    /// `21/Nov/2026:20:00:00 +0000`
    common: Vec<u8>,
}

impl Clock {
    pub(super) fn new() -> Self {
        let [http, rfc3339, common] = [29, 19, 26].map(Vec::with_capacity);
        Self {
            second: None,
            http,
            rfc3339,
            common,
        }
    }

    /// Sets the clock to a time in milliseconds since 1970.
    #[inline]
    pub(super) fn set(&mut self, unix_ms: u64) {
        let second = unix_ms / 1_000;
        if self.second != Some(second) {
            self.second = Some(second);
            self.format(second);
        }
    }

    /// `2026-11-21T20:00:00`, the time set, in UTC.
    pub(super) fn rfc3339(&self) -> &[u8] {
        &self.rfc3339
    }

    /// `21/Nov/2026:20:00:00 +0000`, the time set, in UTC.
    pub(super) fn common(&self) -> &[u8] {
        &self.common
    }

    fn format(&mut self, second: u64) {
        self.http.clear();
        date::write(second, &mut self.http);
        let part = |range| self.http.get(range).unwrap_or_default();
        let (day, month, year, time) = (part(5..7), part(8..11), part(12..16), part(17..25));
        let number = 1 + MONTHS
            .iter()
            .position(|name| *name == month)
            .unwrap_or_default() as u8;
        let number = [b'0' + number / 10, b'0' + number % 10];
        join(
            &mut self.rfc3339,
            &[year, b"-", &number, b"-", day, b"T", time],
        );
        join(
            &mut self.common,
            &[day, b"/", month, b"/", year, b":", time, b" +0000"],
        );
    }
}

fn join(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.clear();
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(unix_ms: u64) -> (String, String) {
        let mut clock = Clock::new();
        clock.set(unix_ms);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(clock.rfc3339()), text(clock.common()))
    }

    #[test]
    fn known_times() {
        for (ms, rfc3339, common) in [
            (0, "1970-01-01T00:00:00", "01/Jan/1970:00:00:00 +0000"),
            (
                951_827_696_999,
                "2000-02-29T12:34:56",
                "29/Feb/2000:12:34:56 +0000",
            ),
            (
                1_795_291_200_123,
                "2026-11-21T20:00:00",
                "21/Nov/2026:20:00:00 +0000",
            ),
            (
                4_102_444_799_000,
                "2099-12-31T23:59:59",
                "31/Dec/2099:23:59:59 +0000",
            ),
        ] {
            assert_eq!(shown(ms), (rfc3339.to_owned(), common.to_owned()));
        }
    }

    #[test]
    fn a_month_has_its_number() {
        for (number, name) in (1..).zip(MONTHS) {
            // The 15th of each month of 2026, near enough by thirty days and a half.
            let (rfc3339, common) = shown(1_768_435_200_000 + (number - 1) * 2_635_200_000);
            assert_eq!(rfc3339[5..7], format!("{number:02}"), "{rfc3339}");
            assert_eq!(&common.as_bytes()[3..6], name, "{common}");
        }
    }

    #[test]
    fn the_clock_moves_with_the_time_in_both_directions() {
        let mut clock = Clock::new();
        for (ms, seconds) in [
            (59_999, b"59"),
            (60_000, b"00"),
            (60_999, b"00"),
            (1_000, b"01"),
        ] {
            clock.set(ms);
            assert_eq!(&clock.rfc3339()[17..], seconds);
        }
    }
}

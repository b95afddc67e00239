//! The table of timings: one documented row each. Times are recorded in
//! microseconds and shown in seconds, as Prometheus asks.

/// What the row of one timing says.
#[derive(Clone, Copy, Debug)]
pub struct TimingRow {
    /// The timing.
    pub timing: Timing,
    /// The key in `/status`.
    pub key: &'static str,
    /// The name in `/metrics`, without `_bucket`, `_sum` and `_count`.
    pub name: &'static str,
    /// `label="value"` in `/metrics`, or empty.
    pub label: &'static str,
    /// One sentence for the operator.
    pub help: &'static str,
}

macro_rules! timings {
    ($($variant:ident, $key:literal, $name:literal, $label:literal, $help:literal;)*) => {
        /// Something whose duration is recorded, in microseconds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Timing {
            $(#[doc = $help] $variant,)*
        }

        /// All rows, in the order of [`Timing`].
        pub const ROWS: &[TimingRow] = &[
            $(TimingRow {
                timing: Timing::$variant,
                key: $key,
                name: concat!("forebay_", $name, "_seconds"),
                label: $label,
                help: $help,
            },)*
        ];
    };
}

timings! {
    Hit, "hit", "request_duration", r#"result="hit""#,
        "From the request's head to the last byte given to the client's socket, answered out of the cache.";
    Miss, "miss", "request_duration", r#"result="miss""#,
        "From the request's head to the last byte given to the client's socket, with the origin's help.";
    OriginFirstByte, "origin_first_byte", "origin_first_byte", "",
        "From the request given to the origin's socket to the first byte of its response.";
    DiskRead, "disk_read", "disk_read", "",
        "From the order to read an object from disk to its bytes.";
}

/// How many timings there are.
pub const COUNT: usize = ROWS.len();

impl Timing {
    /// Where this timing stands in an array of [`COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// This timing's row.
    pub const fn row(self) -> &'static TimingRow {
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_where_their_timing_says() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.timing.index(), place, "{}", row.key);
            assert!(row.help.ends_with('.'), "{}", row.key);
        }
    }
}

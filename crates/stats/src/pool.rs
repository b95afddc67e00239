//! Figures of each pool as a whole: who waits, what was refused, what was tried again. Shown with the
//! label `pool`.

/// What the row of one figure of a pool says.
#[derive(Clone, Copy, Debug)]
pub struct PoolRow {
    /// The key in the state of a pool.
    pub key: &'static str,
    /// The name in `/metrics`.
    pub name: &'static str,
    /// Whether it only grows.
    pub counter: bool,
    /// What is counted: `requests`, …
    pub unit: &'static str,
    /// One sentence for the operator.
    pub help: &'static str,
    /// Reads the figure.
    pub read: fn(&PoolSnapshot) -> u64,
}

macro_rules! rows {
    ($($field:ident, $name:literal, $counter:literal, $unit:literal, $help:literal;)*) => {
        /// The figures of one pool at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct PoolSnapshot {
            /// Its name.
            pub pool: String,
            $(#[doc = $help] pub $field: u64,)*
        }

        /// All rows, in the order of `/metrics`.
        pub const ROWS: &[PoolRow] = &[
            $(PoolRow {
                key: stringify!($field),
                name: concat!("forebay_pool_", $name),
                counter: $counter,
                unit: $unit,
                help: $help,
                read: |pool| pool.$field,
            },)*
        ];

        impl PoolSnapshot {
            /// What happened since `earlier`; what is not counted stays as it is.
            #[must_use]
            pub(crate) fn since(&self, earlier: &Self) -> Self {
                Self {
                    pool: self.pool.clone(),
                    $($field: match $counter {
                        true => self.$field.saturating_sub(earlier.$field),
                        false => self.$field,
                    },)*
                }
            }
        }
    };
}

rows! {
    waiting, "waiting", false, "requests",
        "Requests that wait in the queue for a server.";
    longest_ms, "longest_wait_milliseconds", false, "milliseconds",
        "How long the first of those that wait has been waiting.";
    waited, "waited_total", true, "requests",
        "Requests that were given a server after they had waited.";
    queue_full, "queue_full_total", true, "requests",
        "Requests refused (503) because as many waited as `queue` allows.";
    queue_timeouts, "queue_timeouts_total", true, "requests",
        "Requests refused (503) because they had waited for `queue_timeout`.";
    retries, "retries_total", true, "requests",
        "Requests given to another connection or server after one had failed.";
    hedges, "hedges_total", true, "requests",
        "Second servers asked because the first was slow (`hedge_after`).";
    budget_empty, "retries_refused_total", true, "requests",
        "Retries and hedges that were not made because `retry_budget` was used up.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_only_they_are_named_so() {
        for row in ROWS {
            assert_eq!(row.counter, row.name.ends_with("_total"), "{}", row.name);
            assert!(row.help.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn since_takes_off_what_was_counted_before() {
        let earlier = PoolSnapshot {
            waiting: 3,
            waited: 5,
            ..PoolSnapshot::default()
        };
        let now = PoolSnapshot {
            waiting: 2,
            waited: 7,
            ..PoolSnapshot::default()
        };
        let since = now.since(&earlier);
        assert_eq!((since.waiting, since.waited), (2, 2));
    }
}

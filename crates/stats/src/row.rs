//! Figures of which there is a set for each of several things: what a row says of one, and how a
//! set of them is made from its rows.

use std::fmt;

/// What the row of one figure of a thing says; `S` is all figures of one such thing.
pub struct Row<S: 'static> {
    /// The key in the state of the thing.
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
    pub read: fn(&S) -> u64,
}

impl<S> Row<S> {
    /// Its kind, as Prometheus calls it.
    pub(crate) fn kind(&self) -> &'static str {
        if self.counter { "counter" } else { "gauge" }
    }
}

impl<S> fmt::Debug for Row<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The figures of a thing with a name, and their rows in the order of `/metrics`.
macro_rules! figures {
    (
        $(#[$doc:meta])* $snapshot:ident, $label:ident, $prefix:literal;
        $($field:ident, $name:literal, $counter:literal, $unit:literal, $help:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $snapshot {
            /// Its name.
            pub $label: String,
            $(#[doc = $help] pub $field: u64,)*
        }

        /// All rows, in the order of `/metrics`.
        pub const ROWS: &[$crate::row::Row<$snapshot>] = &[
            $($crate::row::Row {
                key: stringify!($field),
                name: concat!($prefix, $name),
                counter: $counter,
                unit: $unit,
                help: $help,
                read: |figures| figures.$field,
            },)*
        ];

        impl $snapshot {
            /// What happened since `earlier`; what is not counted stays as it is.
            #[must_use]
            pub(crate) fn since(&self, earlier: &Self) -> Self {
                Self {
                    $label: self.$label.clone(),
                    $($field: match $counter {
                        true => self.$field.saturating_sub(earlier.$field),
                        false => self.$field,
                    },)*
                }
            }
        }
    };
}

pub(crate) use figures;

/// Whether the names of counters, and of nothing else, say that they are.
#[cfg(test)]
pub(crate) fn are_well_named<S>(rows: &[Row<S>]) {
    for row in rows {
        assert_eq!(row.counter, row.name.ends_with("_total"), "{}", row.name);
        assert!(row.help.ends_with('.'), "{}", row.name);
    }
}

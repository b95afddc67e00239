//! The result of a load test as a program reads it: JSON, by the names that
//! are in the file.

use serde_json::Value;

/// A result of `forebay bench`.
#[derive(Clone, Debug)]
pub struct Figures(pub Value);

/// One phase of it.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a>(pub &'a Value);

impl Figures {
    /// Reads it.
    ///
    /// # Panics
    /// When it is no result.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        let value: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(value["format"], 1, "{text}");
        Self(value)
    }

    /// Its phases.
    pub fn phases(&self) -> Vec<Phase<'_>> {
        let phases = self.0["phases"].as_array().expect("phases");
        phases.iter().map(Phase).collect()
    }

    /// Its only phase.
    #[track_caller]
    pub fn phase(&self) -> Phase<'_> {
        let phases = self.phases();
        assert_eq!(phases.len(), 1, "one phase");
        phases[0]
    }

    /// A count of its only phase.
    #[track_caller]
    pub fn count(&self, name: &str) -> u64 {
        self.phase().count(name)
    }

    /// What a reader is warned of, a line each.
    pub fn warnings(&self) -> String {
        lines(&self.0["warnings"])
    }
}

impl Phase<'_> {
    /// `completed`, `connects`, `hits`, …
    #[track_caller]
    pub fn count(&self, name: &str) -> u64 {
        let counts = &self.0["tally"]["counts"];
        counts[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {counts}"))
    }

    /// Requests that failed for a cause; for all causes without one.
    pub fn failed(&self, cause: Option<&str>) -> u64 {
        let failed = &self.0["tally"]["counts"]["failed"];
        match cause {
            Some(cause) => failed[cause].as_u64().unwrap_or(0),
            None => sum(failed),
        }
    }

    /// Responses with a status.
    pub fn status(&self, status: u16) -> u64 {
        self.0["tally"]["counts"]["statuses"][status.to_string()]
            .as_u64()
            .unwrap_or(0)
    }

    /// `p50`, `p99`, `max`, `mean` of the whole duration, in milliseconds.
    #[track_caller]
    pub fn whole_ms(&self, statistic: &str) -> f64 {
        self.latency_ms("whole", statistic)
    }

    /// The same of `connect`, `first_byte` or `whole`.
    #[track_caller]
    pub fn latency_ms(&self, durations: &str, statistic: &str) -> f64 {
        let value = &self.0["tally"]["latency"][durations][format!("{statistic}_ns")];
        value
            .as_f64()
            .unwrap_or_else(|| panic!("no {statistic} of {durations}"))
            / 1e6
    }

    /// How many whole durations there are.
    pub fn durations(&self) -> u64 {
        self.0["tally"]["latency"]["whole"]["count"]
            .as_u64()
            .unwrap_or(0)
    }

    /// The measured time.
    pub fn seconds(&self) -> f64 {
        self.0["seconds"].as_f64().expect("seconds")
    }

    /// Requests of a label that succeeded, and that failed.
    #[track_caller]
    pub fn label(&self, name: &str) -> (u64, u64) {
        let names = self.0["labels"].as_array().expect("labels");
        let at = names.iter().position(|label| label == name);
        let at = at.unwrap_or_else(|| panic!("no label {name} in {names:?}"));
        let label = &self.0["tally"]["labels"][at];
        (
            label["succeeded"].as_u64().expect("succeeded"),
            label["failed"].as_u64().expect("failed"),
        )
    }

    /// Faults in words, with how often.
    pub fn faults(&self) -> Vec<(String, u64)> {
        let faults = self.0["tally"]["faults"].as_object().expect("faults");
        faults
            .iter()
            .map(|(words, count)| (words.clone(), count.as_u64().unwrap_or(0)))
            .collect()
    }

    /// Resident memory of the load tester, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.0["client"]["resident_bytes"]
            .as_u64()
            .expect("resident_bytes")
    }
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_object().expect("a table of counts");
    counts.values().filter_map(Value::as_u64).sum()
}

fn lines(list: &Value) -> String {
    let texts = list.as_array().expect("a list").iter();
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    texts.join("\n")
}

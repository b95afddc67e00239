//! The figures as text: for Prometheus and as JSON.

mod json;
mod prometheus;

pub use json::json;
pub use prometheus::{CONTENT_TYPE as PROMETHEUS_CONTENT_TYPE, prometheus};

pub(crate) use json::PERCENTILES;
pub(crate) use prometheus::BUILD_INFO;

//! `forebay.toml` to checked settings; each setting one documented row.

pub mod settings;

pub use settings::Settings;

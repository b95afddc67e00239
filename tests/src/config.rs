//! The text of a configuration, put together section by section.

use std::fmt::Write;

/// A small configuration in front of an origin; every port is a free one.
#[derive(Clone, Debug)]
pub struct Config {
    sections: Vec<(String, String)>,
    listen: Vec<String>,
    rest: String,
}

impl Config {
    /// One worker, one TCP listener, an administration address, one pool.
    pub fn new(servers: &[&str]) -> Self {
        let servers: Vec<String> = servers.iter().map(|s| format!("{s:?}")).collect();
        let config = Self {
            sections: Vec::new(),
            listen: vec!["127.0.0.1:0".into()],
            rest: String::new(),
        };
        config
            .set("server", "workers = 1")
            .set("server", "drain_timeout = \"2s\"")
            .set("admin", "address = \"127.0.0.1:0\"")
            .set("cache", "memory = \"32MiB\"")
            .set("pool.app", &format!("servers = [{}]", servers.join(", ")))
    }

    /// In front of one origin.
    pub fn to(origin: &crate::Origin) -> Self {
        Self::new(&[&origin.server()])
    }

    /// Adds a line to `[section]`, or replaces the one with the same key.
    pub fn set(mut self, section: &str, line: &str) -> Self {
        let at = self
            .sections
            .iter()
            .position(|(name, _)| name == section)
            .unwrap_or_else(|| {
                self.sections.push((section.to_owned(), String::new()));
                self.sections.len() - 1
            });
        let key = |line: &str| line.split('=').next().unwrap_or("").trim().to_owned();
        let lines = &mut self.sections[at].1;
        *lines = lines
            .lines()
            .filter(|old| key(old) != key(line))
            .map(|old| old.to_owned() + "\n")
            .collect();
        lines.push_str(line);
        lines.push('\n');
        self
    }

    /// Shorthand for a line of `[cache]`.
    pub fn cache(self, line: &str) -> Self {
        self.set("cache", line)
    }

    /// Shorthand for a line of `[cache.disk]`.
    pub fn disk(self, line: &str) -> Self {
        self.set("cache.disk", line)
    }

    /// Replaces the listeners.
    pub fn listen(mut self, addresses: &[&str]) -> Self {
        self.listen = addresses.iter().map(|a| (*a).to_owned()).collect();
        self
    }

    /// Adds TOML text at the end, for arrays of tables.
    pub fn append(mut self, text: &str) -> Self {
        self.rest.push_str(text);
        self.rest.push('\n');
        self
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for address in &self.listen {
            writeln!(text, "[[listen]]\naddress = {address:?}").expect("writing to a string");
        }
        for (name, lines) in &self.sections {
            writeln!(text, "[{name}]\n{lines}").expect("writing to a string");
        }
        text + &self.rest
    }
}

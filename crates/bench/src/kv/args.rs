//! The options of `forebay bench kv`, and the load that they make.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use forebay_config::units::parse_duration;
use forebay_workload::Sizes;

use super::Kv;
use super::choice::{Chooser, Distribution, Mix};
use super::protocol::{Command, MOST_KEPT, Resp};
use super::url::{Protocol, Server};
use super::value::{HEAD, Identity, Values};
use super::work::Work;

/// memcached's limit on keys, in bytes, less the digits of a number.
const MOST_PREFIX: usize = 200;
/// With --verify a thread remembers each key, in 16 bytes.
const MOST_VERIFIED: u64 = 10_000_000;
/// memcached takes a longer expiry for a date.
const MOST_EXPIRY: Duration = Duration::from_secs(30 * 86_400);
const MOST_MULTIGET: u16 = 1000;

/// What `forebay bench kv` sends.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What is sent")]
pub struct KvArgs {
    /// memcached://HOST[:PORT], memcached+meta://HOST, memcached+binary://HOST,
    /// memcached:///run/memcached.sock, redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]; rediss:// and memcacheds:// with TLS
    #[arg(value_name = "URL")]
    pub url: String,
    /// Reads and writes, and deletes if wanted: 9:1, 90:9:1
    #[arg(long, value_name = "READS:WRITES[:DELETES]", default_value = "9:1")]
    pub ratio: String,
    /// Any commands with their weights, instead of the ratio: get:80,set:10,add:2,delete:2,touch:3,incr:3
    #[arg(long, value_name = "LIST", conflicts_with = "ratio")]
    pub mix: Option<String>,
    /// How many keys there are
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=4_000_000_000))]
    pub keys: u64,
    /// What every key begins with; a number follows
    #[arg(long, value_name = "TEXT", default_value = "forebay:")]
    pub key_prefix: String,
    /// Which keys are asked for: uniform, zipf[:EXPONENT], sequential, gaussian
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    pub key_distribution: String,
    /// Sizes of values: 1KiB, 100B..4KiB, lognormal(1KiB,1.2), pareto(200B,1.1), 100B:50,1KiB:45,64KiB:5
    #[arg(long, value_name = "DISTRIBUTION", default_value = "1KiB")]
    pub size: String,
    /// Values expire after this [default: never]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub expiry: Option<Duration>,
    /// Keys in one read
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_MULTIGET)))]
    pub multiget: u16,
    /// Store all keys before the load begins; this is not measured
    #[arg(long)]
    pub preload: bool,
    /// Check every value that is read (its key, its length, every byte), and count keys that were stored and are gone
    #[arg(long)]
    pub verify: bool,
    /// What follows a read that finds nothing
    #[arg(long, value_enum, default_value = "nothing")]
    pub on_miss: OnMiss,
}

/// What follows a read that finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMiss {
    /// The next request
    Nothing,
    /// The value is stored, as applications with a cache beside their database do
    Set,
}

impl KvArgs {
    /// The load that the options make.
    ///
    /// # Errors
    /// What is wrong with them, in words for the user.
    pub fn plan(&self, seed: u64) -> Result<Kv, String> {
        let server = Server::parse(&self.url)?;
        let mix = match &self.mix {
            Some(list) => Mix::of_list(list).map_err(|error| format!("--mix: {error}"))?,
            None => Mix::of_ratio(&self.ratio).map_err(|error| format!("--ratio: {error}"))?,
        };
        let sizes: Sizes = self
            .size
            .parse()
            .map_err(|error| format!("--size: {error}"))?;
        let distribution: Distribution = self
            .key_distribution
            .parse()
            .map_err(|error| format!("--key-distribution: {error}"))?;
        Chooser::new(distribution, self.keys, 0, 1)
            .map_err(|error| format!("--key-distribution: {error}"))?;
        self.check(&mix, &sizes)?;
        let refill = self.on_miss == OnMiss::Set;
        let fills_counters = mix.has(Command::Incr) && server.protocol != Protocol::Resp;
        let is_sent = |command| match command {
            Command::Set if refill => true,
            Command::Add if fills_counters => true,
            command => mix.has(command),
        };
        let greeting = Resp::greeting(
            server.user.as_deref(),
            server.password.as_deref(),
            server.database,
        );
        let prefix = self.key_prefix.as_bytes();
        let work = Work {
            labels: Command::ALL
                .into_iter()
                .filter(|&command| is_sent(command))
                .collect(),
            distribution,
            keys: self.keys,
            counter_prefix: [prefix, b"n:"].concat(),
            prefix: prefix.to_vec(),
            identity: Identity::new(prefix),
            values: Values::new(sizes, seed),
            expiry_s: self.expiry.map_or(0, |expiry| expiry.as_secs() as u32),
            multiget: self.multiget,
            verify: self.verify,
            refill,
            looks: self.verify || refill || fills_counters,
            keeps: self.verify || (refill && self.multiget > 1),
            greeting,
            seed,
            is_full: Default::default(),
            is_filled: Default::default(),
            mix,
        };
        Ok(Kv {
            title: self.title(&server, &work),
            protocol: server.protocol,
            place: server.place,
            preload: self.preload,
            work: Arc::new(work),
        })
    }

    fn check(&self, mix: &Mix, sizes: &Sizes) -> Result<(), String> {
        let prefix = self.key_prefix.as_bytes();
        if prefix.len() > MOST_PREFIX || !prefix.iter().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "--key-prefix: at most {MOST_PREFIX} visible ASCII characters"
            ));
        }
        if let Some(expiry) = self.expiry
            && (expiry < Duration::from_secs(1)
                || expiry > MOST_EXPIRY
                || expiry.subsec_millis() > 0)
        {
            return Err("--expiry: whole seconds, from 1s to 30d".into());
        }
        if mix.has(Command::Touch) && self.expiry.is_none() {
            return Err("touch gives keys a new expiry: add --expiry".into());
        }
        if self.verify && self.keys > MOST_VERIFIED {
            return Err(format!("--verify: at most {MOST_VERIFIED} keys"));
        }
        let (least, most) = bounds(sizes);
        if self.verify && least < HEAD as u64 {
            return Err(format!("--verify: values of at least {HEAD} bytes"));
        }
        if most > MOST_KEPT as u64 {
            return Err("--size: values of at most 64 MiB".into());
        }
        Ok(())
    }

    fn title(&self, server: &Server, work: &Work) -> String {
        let protocol = match server.protocol {
            Protocol::Text => "memcached",
            Protocol::Meta => "memcached (meta)",
            Protocol::Binary => "memcached (binary)",
            Protocol::Resp => "Redis",
        };
        format!(
            "{protocol} at {}: {} of {} keys ({}), {} each",
            server.place.place(),
            work.mix.words(),
            self.keys,
            self.key_distribution,
            self.size
        )
    }
}

/// The smallest and the largest size of a distribution, in bytes.
fn bounds(sizes: &Sizes) -> (u64, u64) {
    match sizes {
        Sizes::Constant(size) => (*size, *size),
        Sizes::Uniform(low, high) => (*low, *high),
        Sizes::Lognormal { most, .. } => (0, *most),
        Sizes::Pareto { least, most, .. } => (*least, *most),
        Sizes::Weighted(list) => {
            let sizes = || list.iter().map(|(size, _)| *size);
            (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
        }
    }
}

//! Load from several machines. One leads; on each of the others an agent
//! waits, gets the leader's options and files, and sends its share.
//!
//! They talk in JSON lines over TCP ([`Order`] one way, [`Word`] the other).
//! Histograms travel whole, so that merging them is exact.

mod lead;
mod serve;
mod wire;

use std::collections::BTreeMap;

use forebay_engine::Interval;
use forebay_results::Machine;
use serde::{Deserialize, Serialize};

use crate::rung::{Rung, Share};

pub(crate) use lead::Agents;
pub(crate) use serve::serve;

/// Of this conversation.
const VERSION: u32 = 1;

/// What the leader says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Hello {
        version: u32,
        secret: Option<String>,
    },
    /// The options, as after `forebay bench`, and the files that they name, in base64.
    Job {
        options: Vec<String>,
        files: BTreeMap<String, String>,
    },
    Start {
        rung: Rung,
        share: Share,
    },
    Stop,
}

/// What an agent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Ready(Machine),
    Prepared,
    Refused(String),
    Interval(Box<Interval>),
    /// Nothing new, but it is there.
    Alive,
    /// All threads of the rung have ended.
    Ended,
}

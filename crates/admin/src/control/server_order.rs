//! What can be ordered of a server of a pool, and how it stands in JSON: over the API, and where it
//! is written down.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is to be done with a server of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOrder {
    /// The pool's name.
    pub pool: String,
    /// The server's address as it would stand in the file, or its name.
    pub server: String,
    /// What.
    pub act: ServerAct,
    /// Whether it holds over reloads and, with `server.state_file`, over restarts.
    pub keep: bool,
}

/// What is done with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAct {
    /// It comes into the pool.
    Add(Share),
    /// It goes; requests under way there are finished.
    Remove,
    /// It gets no new requests, but for users that are bound to it.
    Drain,
    /// It gets no requests.
    Down,
    /// It is asked like the others again.
    Up,
    /// Its share changes; what is `None` stays.
    Set(Share),
}

/// What a server may be given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// Its share, relative to the others'; 0: no new requests.
    pub weight: Option<u32>,
    /// Requests it may be working on at once; 0: as the pool says.
    pub max_connections: Option<u64>,
    /// Servers of a greater number are used only when none of a smaller one can be. Only for one
    /// that comes.
    pub priority: Option<u8>,
    /// Where it stands. Only for one that comes.
    pub zone: Option<String>,
}

/// The order as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    pool: String,
    server: String,
    action: String,
    #[serde(default)]
    keep: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_connections: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
}

impl ServerAct {
    fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::Remove => "remove",
            Self::Drain => "drain",
            Self::Down => "down",
            Self::Up => "up",
            Self::Set(_) => "set",
        }
    }

    fn of(name: &str, share: &Share) -> Result<Self, String> {
        let act = match name {
            "add" => return Ok(Self::Add(share.clone())),
            "set" if share.weight.is_none() && share.max_connections.is_none() => {
                return Err("`set` takes `weight`, `max_connections`, or both".into());
            }
            "set" if share.priority.is_some() || share.zone.is_some() => {
                return Err("`priority` and `zone` are given when a server is added".into());
            }
            "set" => return Ok(Self::Set(share.clone())),
            "remove" => Self::Remove,
            "drain" => Self::Drain,
            "down" => Self::Down,
            "up" => Self::Up,
            other => {
                let known = "add, remove, drain, down, up, set";
                return Err(format!("there is no action `{other}`; there are {known}"));
            }
        };
        if *share == Share::default() {
            Ok(act)
        } else {
            Err(format!("`{name}` takes no share"))
        }
    }
}

impl ServerOrder {
    /// Reads an order: an object with `pool`, `server`, `action`, and what the action takes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_json(order: &Value) -> Result<Self, String> {
        let written = Written::deserialize(order).map_err(|error| error.to_string())?;
        let share = Share {
            weight: written.weight,
            max_connections: written.max_connections,
            priority: written.priority,
            zone: written.zone,
        };
        Ok(Self {
            act: ServerAct::of(&written.action, &share)?,
            pool: written.pool,
            server: written.server,
            keep: written.keep,
        })
    }

    /// The order as [`ServerOrder::from_json`] reads it.
    pub fn to_json(&self) -> Value {
        let share = match &self.act {
            ServerAct::Add(share) | ServerAct::Set(share) => share.clone(),
            _ => Share::default(),
        };
        json!(Written {
            pool: self.pool.clone(),
            server: self.server.clone(),
            action: self.act.name().into(),
            keep: self.keep,
            weight: share.weight,
            max_connections: share.max_connections,
            priority: share.priority,
            zone: share.zone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(body: Value) -> Result<ServerOrder, String> {
        let order = ServerOrder::from_json(&body);
        if let Ok(order) = &order {
            assert_eq!(ServerOrder::from_json(&order.to_json()).as_ref(), Ok(order));
        }
        order
    }

    #[test]
    fn orders_are_read() {
        let added = order(json!({
            "pool": "app", "server": "127.0.0.1:1", "action": "add", "weight": 3, "keep": true,
        }));
        let share = Share {
            weight: Some(3),
            ..Share::default()
        };
        let expected = ServerOrder {
            pool: "app".into(),
            server: "127.0.0.1:1".into(),
            act: ServerAct::Add(share),
            keep: true,
        };
        assert_eq!(added, Ok(expected));
        let up = order(json!({ "pool": "app", "server": "a", "action": "up" }));
        assert!(up.is_ok_and(|up| up.act == ServerAct::Up && !up.keep));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let why = |body: Value| order(body).err().unwrap_or_default();
        let of = |action: &str| json!({ "pool": "app", "server": "a", "action": action });
        assert!(why(of("stop")).contains("add, remove, drain"));
        assert!(why(of("set")).contains("weight"));
        let mut drain = of("drain");
        drain["weight"] = 3.into();
        assert!(why(drain).contains("takes no share"));
        let mut set = of("set");
        (set["weight"], set["zone"]) = (1.into(), "a".into());
        assert!(why(set).contains("when a server is added"));
        assert!(why(json!({ "pool": "app" })).contains("missing field"));
        let mut unknown = of("up");
        unknown["wait"] = 3.into();
        assert!(why(unknown).contains("unknown field"));
    }
}

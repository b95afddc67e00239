//! A control that can do everything, an administration with it, and a client.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use forebay_admin::control::{
    Ban, Inspection, Order, Popular, Problem, Purged, SettingInForce, State, Tail, TailEvent,
    TailFilter, Variant, What,
};
use forebay_admin::{Access, Address, Admin, Control, Role, Token, start};
use forebay_stats::{Gauges, Snapshot};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Knows one object, remembers what it was told.
pub struct Everything {
    pub orders: Mutex<Vec<Order>>,
    pub level: Mutex<String>,
    pub draining: Mutex<bool>,
    /// Filters of tails that were begun, with the end that feeds them.
    pub tails: Sender<(TailFilter, Sender<TailEvent>)>,
}

struct Lines(Receiver<TailEvent>);

impl Tail for Lines {
    fn next(&mut self, patience: Duration) -> TailEvent {
        match self.0.recv_timeout(patience) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => TailEvent::Quiet,
            Err(RecvTimeoutError::Disconnected) => TailEvent::End,
        }
    }
}

impl Control for Everything {
    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            cache_bytes: 11,
            workers: 2,
            ..Gauges::default()
        }
    }

    fn reload(&self) -> Result<Vec<String>, String> {
        Ok(vec!["a warning".into()])
    }

    fn version(&self) -> &str {
        "1.2.3"
    }

    fn status_extra(&self) -> Value {
        Value::Null
    }

    fn state(&self) -> State {
        State {
            draining: *self.draining.lock().unwrap(),
            listening: vec!["127.0.0.1:80".into()],
            ..State::default()
        }
    }

    fn settings(&self) -> Vec<SettingInForce> {
        vec![SettingInForce {
            name: "cache.memory".into(),
            value: "1GiB".into(),
            default: true,
        }]
    }

    fn inspect(&self, url: &str) -> Result<Inspection, Problem> {
        if url.contains(' ') {
            return Err(Problem::Invalid(format!("`{url}` is not a URL")));
        }
        Ok(Inspection {
            url: url.into(),
            variants: vec![Variant {
                status: 200,
                ..Variant::default()
            }],
            ..Inspection::default()
        })
    }

    fn hottest(&self, limit: usize) -> Result<Vec<Popular>, Problem> {
        Ok(vec![Popular::default(); limit])
    }

    fn purge(&self, order: &Order) -> Result<Purged, Problem> {
        if order.what == What::Url("bad".into()) {
            return Err(Problem::Invalid("`bad` is not a URL".into()));
        }
        self.orders.lock().unwrap().push(order.clone());
        Ok(Purged {
            done: "purged".into(),
            ..Purged::default()
        })
    }

    fn bans(&self) -> Result<Vec<Ban>, Problem> {
        Ok(vec![Ban::default()])
    }

    fn tail(&self, filter: &TailFilter) -> Result<Box<dyn Tail>, Problem> {
        let (sender, events) = channel();
        self.tails.send((filter.clone(), sender)).unwrap();
        Ok(Box::new(Lines(events)))
    }

    fn drain(&self) -> Result<(), Problem> {
        let mut draining = self.draining.lock().unwrap();
        if *draining {
            return Err(Problem::Conflict("draining already".into()));
        }
        *draining = true;
        Ok(())
    }

    fn log_level(&self) -> String {
        self.level.lock().unwrap().clone()
    }

    fn set_log_level(&self, level: &str) -> Result<(), Problem> {
        if !["error", "warn", "info", "debug"].contains(&level) {
            return Err(Problem::Invalid(format!("there is no level `{level}`")));
        }
        *self.level.lock().unwrap() = level.into();
        Ok(())
    }
}

pub struct Running {
    pub admin: Admin,
    pub control: Arc<Everything>,
    pub tails: Receiver<(TailFilter, Sender<TailEvent>)>,
}

/// Status, head and body of an answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn parse(text: &str) -> Self {
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no head in {text:?}"));
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub fn tokens() -> Vec<Token> {
    let token = |role: Role| Token {
        role,
        secret: format!("{}-secret", role.name()),
    };
    vec![token(Role::Read), token(Role::Purge), token(Role::Admin)]
}

/// An administration on a loopback address without tokens.
pub fn running() -> Running {
    serving(Access::from("127.0.0.1:0".parse::<SocketAddr>().unwrap()))
}

pub fn serving(access: Access) -> Running {
    let (sender, tails) = channel();
    let control = Arc::new(Everything {
        orders: Mutex::default(),
        level: Mutex::new("info".into()),
        draining: Mutex::default(),
        tails: sender,
    });
    let admin = start(access, control.clone()).unwrap();
    Running {
        admin,
        control,
        tails,
    }
}

pub fn on_socket(path: &Path) -> Access {
    Access {
        listen: vec![Address::Unix(path.to_owned())],
        ..Access::default()
    }
}

impl Running {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.admin.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// Sends bytes as they are and reads to the end of the connection.
    pub fn raw(&self, request: &[u8]) -> Answer {
        exchange(self.connect(), request)
    }

    /// A request with these fields (each with its line end) and body.
    pub fn send(&self, method: &str, target: &str, fields: &str, body: &str) -> Answer {
        self.raw(request(method, target, fields, body).as_bytes())
    }

    pub fn get(&self, target: &str) -> Answer {
        self.send("GET", target, "", "")
    }

    /// A request with a JSON body.
    pub fn json(&self, method: &str, target: &str, body: &str) -> Answer {
        let fields = "Content-Type: application/json\r\n";
        self.send(method, target, fields, body)
    }
}

pub fn request(method: &str, target: &str, fields: &str, body: &str) -> String {
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{fields}{length}\r\n{body}")
}

pub fn exchange(mut stream: impl Read + Write, request: &[u8]) -> Answer {
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    Answer::parse(&answer)
}

pub fn over_socket(path: &Path, request: &str) -> Answer {
    exchange(UnixStream::connect(path).unwrap(), request.as_bytes())
}

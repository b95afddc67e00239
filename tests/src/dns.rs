//! A DNS server that knows what a test tells it (RFC 1035, RFC 2782), over UDP.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A record's data.
#[derive(Clone, Debug)]
pub enum Record {
    /// An address.
    A(Ipv4Addr),
    /// A server of a service: priority, weight, port, host.
    Srv(u16, u16, u16, String),
}

type Known = Arc<Mutex<HashMap<String, (u32, Vec<Record>)>>>;

/// A running server; it stops when the process does, or with its socket.
#[derive(Debug)]
pub struct Dns {
    address: SocketAddr,
    known: Known,
    asked: Arc<Mutex<Vec<String>>>,
}

const A: u16 = 1;
const SRV: u16 = 33;

impl Dns {
    /// Starts it; it knows nothing.
    pub fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let dns = Self {
            address: socket.local_addr().unwrap(),
            known: Known::default(),
            asked: Arc::default(),
        };
        let (known, asked) = (Arc::downgrade(&dns.known), Arc::clone(&dns.asked));
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        std::thread::spawn(move || {
            let mut question = [0; 1500];
            while let Some(known) = known.upgrade() {
                if let Ok((length, from)) = socket.recv_from(&mut question) {
                    let (name, answer) = answer(&question[..length], &known.lock().unwrap());
                    asked.lock().unwrap().push(name);
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        dns
    }

    /// Its address.
    pub fn server(&self) -> String {
        self.address.to_string()
    }

    /// From now on `name` has these records, for `ttl_s` seconds.
    pub fn set(&self, name: &str, ttl_s: u32, records: &[Record]) {
        let mut known = self.known.lock().unwrap();
        known.insert(name.to_owned(), (ttl_s, records.to_vec()));
    }

    /// Names asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The name that a question is about, and the answer to it.
fn answer(question: &[u8], known: &HashMap<String, (u32, Vec<Record>)>) -> (String, Vec<u8>) {
    let mut at = 12;
    let mut labels = Vec::new();
    while question[at] != 0 {
        let length = usize::from(question[at]);
        let label = &question[at + 1..at + 1 + length];
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += 1 + length;
    }
    let name = labels.join(".");
    let kind = u16::from_be_bytes([question[at + 1], question[at + 2]]);
    let (ttl_s, records) = known.get(&name).cloned().unwrap_or_default();
    let matching: Vec<&Record> = records
        .iter()
        .filter(|record| matches!((record, kind), (Record::A(_), A) | (Record::Srv(..), SRV)))
        .collect();
    let code = if known.contains_key(&name) { 0 } else { 3 };
    let mut out = question[..2].to_vec();
    out.extend_from_slice(&[0x81, 0x80 | code, 0, 1]);
    out.extend_from_slice(&(matching.len() as u16).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&question[12..at + 5]);
    for record in matching {
        let data = match record {
            Record::A(ip) => ip.octets().to_vec(),
            Record::Srv(priority, weight, port, host) => service(*priority, *weight, *port, host),
        };
        out.extend_from_slice(&[0xc0, 12]);
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&[0, 1]);
        out.extend_from_slice(&ttl_s.to_be_bytes());
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(&data);
    }
    (name, out)
}

fn service(priority: u16, weight: u16, port: u16, host: &str) -> Vec<u8> {
    let mut data = [priority, weight, port].map(u16::to_be_bytes).concat();
    for label in host.split('.') {
        data.push(label.len() as u8);
        data.extend_from_slice(label.as_bytes());
    }
    data.push(0);
    data
}

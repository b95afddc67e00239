//! What an operation costs a server: `load PID PORT [KIND] [SECONDS] [CONNECTIONS]` keeps
//! connections busy at loopback, and tells how much processor time the server's process took for
//! each operation. KIND: `plain` (a set to nine gets), `deep` (the same, 16 at a time), `many` (gets
//! of ten keys, each an operation). 100,000 keys, values of 1,024 bytes.

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

const KEYS: u64 = 100_000;
const VALUE: usize = 1024;
const TICKS_A_SECOND: f64 = 100.0;

/// The length of a value in an answer: `VALUE key:000000 0 1024\r\n`, the value, `\r\n`.
const FOUND: usize = 25 + VALUE + 2;

struct Client {
    stream: TcpStream,
    expected: usize,
}

struct Load {
    kind: String,
    value: String,
    random: u64,
    request: Vec<u8>,
}

impl Load {
    fn key(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % KEYS
    }

    /// Makes the next request; returns its operations and the length of its answer.
    fn next(&mut self) -> (u64, usize) {
        self.request.clear();
        match self.kind.as_str() {
            "many" => {
                self.request.extend_from_slice(b"get");
                for _ in 0..10 {
                    let key = self.key();
                    let _ = write!(self.request, " key:{key:06}");
                }
                self.request.extend_from_slice(b"\r\n");
                (10, 10 * FOUND + 5)
            }
            "deep" => (16, (0..16).map(|_| self.one()).sum()),
            _ => (1, self.one()),
        }
    }

    fn one(&mut self) -> usize {
        let key = self.key();
        if self.random >> 40 & 1023 < 102 {
            let value = &self.value;
            let _ = write!(self.request, "set key:{key:06} 0 0 {VALUE}\r\n{value}\r\n");
            8
        } else {
            let _ = write!(self.request, "get key:{key:06}\r\n");
            FOUND + 5
        }
    }
}

fn fill(port: u16, value: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
    for from in (0..KEYS).step_by(100) {
        let sets =
            (from..from + 100).map(|key| format!("set key:{key:06} 0 0 {VALUE}\r\n{value}\r\n"));
        stream.write_all(sets.collect::<String>().as_bytes())?;
        stream.read_exact(&mut [0; 800])?;
    }
    Ok(())
}

/// Processor time of a process, in seconds.
fn busy_s(pid: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (field(11).unwrap_or(0.0), field(12).unwrap_or(0.0));
    Ok((user / TICKS_A_SECOND, system / TICKS_A_SECOND))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |at: usize, default: &str| arguments.get(at).map_or(default.to_owned(), Clone::clone);
    let (pid, port) = (argument(0, "self"), argument(1, "11311").parse()?);
    let seconds = Duration::from_secs_f64(argument(3, "5").parse()?);
    let mut load = Load {
        kind: argument(2, "plain"),
        value: "v".repeat(VALUE),
        random: 88_172_645_463_325_252,
        request: Vec::new(),
    };
    fill(port, &load.value)?;
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for number in 0..argument(4, "64").parse()? {
        let stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry()
            .register(&mut stream, Token(number), Interest::READABLE)?;
        clients.push(Client {
            stream,
            expected: 0,
        });
    }
    let (before, start) = (busy_s(&pid)?, Instant::now());
    let operations = run(&mut poll, &mut clients, &mut load, start + seconds)?;
    let (after, took_s) = (busy_s(&pid)?, start.elapsed().as_secs_f64());
    let each = |seconds: f64| seconds * 1e9 / operations as f64;
    println!(
        "{:6} {:9.0} operations/s; {:6.0} ns of the server's processor each: {:.0} user, {:.0} system",
        load.kind,
        operations as f64 / took_s,
        each(after.0 - before.0 + after.1 - before.1),
        each(after.0 - before.0),
        each(after.1 - before.1)
    );
    Ok(())
}

fn run(
    poll: &mut Poll,
    clients: &mut [Client],
    load: &mut Load,
    until: Instant,
) -> Result<u64, Box<dyn Error>> {
    let (mut events, mut buffer, mut operations) =
        (Events::with_capacity(1024), vec![0; 256 << 10], 0);
    for client in &mut *clients {
        operations += send(client, load)?;
    }
    while Instant::now() < until {
        poll.poll(&mut events, Some(Duration::from_secs(5)))?;
        for event in &events {
            let Some(client) = clients.get_mut(event.token().0) else {
                continue;
            };
            while client.expected > 0 {
                match client.stream.read(&mut buffer) {
                    Ok(0) => return Err("the server has closed a connection".into()),
                    Ok(read) if read > client.expected => {
                        return Err("an answer is too long".into());
                    }
                    Ok(read) => client.expected -= read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.into()),
                }
            }
            if client.expected == 0 {
                operations += send(client, load)?;
            }
        }
    }
    Ok(operations)
}

fn send(client: &mut Client, load: &mut Load) -> Result<u64, Box<dyn Error>> {
    let (operations, expected) = load.next();
    client.expected = expected;
    client.stream.write_all(&load.request)?;
    Ok(operations)
}

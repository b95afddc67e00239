//! The leader's side.

use std::io::BufReader;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forebay_results::Machine;

use super::{Order, VERSION, Word, wire};
use crate::conduct::News;
use crate::files::Files;
use crate::rung::{Rung, Share};

/// An agent that says nothing for so long is lost; it says something each second.
const SILENCE: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);

/// Agents that wait for orders.
pub(crate) struct Agents {
    all: Vec<Agent>,
}

struct Agent {
    machine: Machine,
    stream: TcpStream,
    is_lost: bool,
}

impl Agents {
    /// Greets every agent and gives it the job.
    ///
    /// # Errors
    /// When one cannot be reached, or refuses.
    pub(crate) fn enlist(
        addresses: &[String],
        secret: Option<&str>,
        options: &[String],
        files: &Files,
    ) -> Result<Self, String> {
        let files = files
            .all()
            .into_iter()
            .map(|(name, bytes)| (name, STANDARD.encode(bytes)))
            .collect();
        let job = Order::Job {
            options: options.to_vec(),
            files,
        };
        let mut all = Vec::new();
        for address in addresses {
            let agent = greet(address, secret, &job);
            all.push(agent.map_err(|why| format!("agent {address}: {why}"))?);
        }
        Ok(Self { all })
    }

    pub(crate) fn machines(&self) -> Vec<Machine> {
        self.all.iter().map(|agent| agent.machine.clone()).collect()
    }

    /// All that are left begin a rung; their news come until all have ended.
    ///
    /// # Errors
    /// When none is left.
    pub(crate) fn start(&mut self, rung: &Rung) -> Result<Receiver<News>, String> {
        let (sender, news) = channel();
        let left: Vec<usize> = (0..self.all.len())
            .filter(|&n| !self.all[n].is_lost)
            .collect();
        if left.is_empty() {
            return Err("no agent is left".into());
        }
        let cores = left.iter().map(|&n| self.all[n].machine.cores).min();
        for (machine, &n) in left.iter().enumerate() {
            let share = Share {
                machine: machine as u32,
                machines: left.len() as u32,
                threads: (cores.unwrap_or(1) / 2).max(1) as u32,
            };
            let order = Order::Start {
                rung: rung.clone(),
                share,
            };
            let agent = &mut self.all[n];
            let started = wire::write(&agent.stream, &order)
                .and_then(|()| agent.stream.try_clone())
                .map(|stream| follow(n as u32, stream, sender.clone()));
            if let Err(error) = started {
                agent.is_lost = true;
                let _ = sender.send(News::Lost(n as u32, error.to_string()));
            }
        }
        Ok(news)
    }

    /// An agent is gone and gets no further rung.
    pub(crate) fn lose(&mut self, machine: u32) {
        if let Some(agent) = self.all.get_mut(machine as usize) {
            agent.is_lost = true;
        }
    }

    /// All end the rung under way.
    pub(crate) fn stop(&mut self) {
        for agent in self.all.iter().filter(|agent| !agent.is_lost) {
            let _ = wire::write(&agent.stream, &Order::Stop);
        }
    }
}

fn greet(address: &str, secret: Option<&str>, job: &Order) -> Result<Agent, String> {
    let words = |error: std::io::Error| error.to_string();
    let socket = address
        .to_socket_addrs()
        .map_err(words)?
        .next()
        .ok_or("the name has no address")?;
    let stream = TcpStream::connect_timeout(&socket, CONNECT).map_err(words)?;
    stream.set_nodelay(true).map_err(words)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(words)?;
    let mut reader = BufReader::new(stream.try_clone().map_err(words)?);
    let hello = Order::Hello {
        version: VERSION,
        secret: secret.map(str::to_owned),
    };
    wire::write(&stream, &hello).map_err(words)?;
    let mut machine = match wire::read(&mut reader).map_err(words)? {
        Word::Ready(machine) => machine,
        Word::Refused(why) => return Err(why),
        _ => return Err("it is not an agent".into()),
    };
    machine.name = address.to_owned();
    wire::write(&stream, job).map_err(words)?;
    loop {
        match wire::read(&mut reader).map_err(words)? {
            Word::Prepared => break,
            Word::Alive => {}
            Word::Refused(why) => return Err(why),
            _ => return Err("it said something unexpected".into()),
        }
    }
    Ok(Agent {
        machine,
        stream,
        is_lost: false,
    })
}

/// Passes on what an agent says until its rung has ended.
fn follow(machine: u32, stream: TcpStream, sender: Sender<News>) {
    let pass = move || {
        let mut reader = BufReader::new(stream);
        loop {
            let news = match wire::read(&mut reader) {
                Ok(Word::Interval(interval)) => News::Interval(machine, interval),
                Ok(Word::Alive) => continue,
                Ok(Word::Ended) => return,
                Ok(Word::Refused(why)) => News::Lost(machine, why),
                Ok(Word::Ready(_) | Word::Prepared) => {
                    News::Lost(machine, "it said something unexpected".into())
                }
                Err(error) => News::Lost(machine, error.to_string()),
            };
            let is_end = matches!(news, News::Lost(..));
            if sender.send(news).is_err() || is_end {
                return;
            }
        }
    };
    // A thread that cannot be had shows as an agent that says nothing.
    let _ = std::thread::Builder::new()
        .name(format!("agent-{machine}"))
        .spawn(pass);
}

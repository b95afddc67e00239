//! One start of a server: folders made, files written, the process started on
//! its cores, and seen to answer.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::companions::{self, Beside};
use crate::comparison::ConfigFile;
use crate::place::{Common, Folders, Place, fill, hand_over};
use crate::process::{Running, free_port};
use crate::servers::Server;
use crate::{command, interrupt, probe};

/// How long a server may take until it answers, and to prepare itself.
const START: Duration = Duration::from_secs(30);
/// Where nobody listens, for servers without an origin.
pub(crate) const NOBODY: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);
/// How much of what it printed goes into an error.
const MOST_OUTPUT: usize = 2_000;

/// The document by which a server is seen to answer.
#[derive(Clone, Debug)]
pub(crate) struct Probe<'a> {
    pub(crate) path: &'a str,
    pub(crate) bytes: u64,
}

/// A server that answers. It is ended, and then its folders go, when this is dropped.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) process: Running,
    pub(crate) address: SocketAddr,
    /// As one would type it.
    pub(crate) command: String,
    pub(crate) environment: Vec<String>,
    pub(crate) files: Vec<ConfigFile>,
    /// Whose processor time and memory count, if anybody's.
    pub(crate) observed: Option<u32>,
    beside: Beside,
    _folders: Folders,
}

/// Starts `server`, whose program is `program`, in front of `origin`.
///
/// # Errors
/// When it does not start or does not answer with the probe's document: with what it printed.
pub(crate) fn start(
    server: &Server,
    program: &Path,
    place: &mut Place,
    common: &Common,
    origin: SocketAddr,
    probe: &Probe<'_>,
) -> Result<Launched, String> {
    let port = free_port()?;
    let folders = place.folders(server)?;
    let spots = companions::spots(server, &folders)?;
    let places = companions::placeholders(server, &spots);
    let mut values = place.values(server, &folders, common, port, origin, probe.bytes);
    values.extend(
        places
            .iter()
            .map(|(name, place)| (name.as_str(), place.clone())),
    );
    let files = write_files(server, &folders, &values)?;
    hand_over(server, &folders)?;
    let output = folders.dir.join("output.log");
    let filled = |words: &[String]| -> Vec<String> {
        words.iter().map(|word| fill(word, &values)).collect()
    };
    let environment: Vec<(&String, String)> = server
        .environment
        .iter()
        .map(|(name, value)| (name, fill(value, &values)))
        .collect();
    let build = |arguments: &[String]| -> Result<Command, String> {
        let log = fs::File::options().append(true).create(true).open(&output);
        let log = log.map_err(|e| format!("{}: {e}", output.display()))?;
        let mut command = command::pinned(&common.cores, program);
        command
            .args(filled(arguments))
            .envs(environment.iter().map(|(name, value)| (*name, value)))
            .current_dir(&folders.dir)
            .stdout(log.try_clone().map_err(|e| e.to_string())?)
            .stderr(log);
        Ok(command)
    };
    let beside = companions::start(server, &spots, &folders.dir, &common.cores, &values)
        .map_err(|e| format!("{e}{}", tail(&output)))?;
    for step in &server.prepare {
        let mut command = build(step)?;
        let status = Running::start(&mut command)?.wait(START);
        if !status.as_ref().is_ok_and(|s| s.success()) {
            let line = command::line(&command);
            return Err(format!("{line}: {status:?}{}", tail(&output)));
        }
    }
    let mut command = build(&server.arguments)?;
    let process = Running::start(&mut command)?;
    let mut launched = Launched {
        observed: beside.observed(server.observed, process.pid()),
        beside,
        process,
        address: SocketAddr::from(([127, 0, 0, 1], port)),
        command: command::line(&command),
        environment: environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
        files,
        _folders: folders,
    };
    answering(&mut launched, server, probe).map_err(|e| format!("{e}{}", tail(&output)))?;
    Ok(launched)
}

fn write_files(
    server: &Server,
    folders: &Folders,
    values: &[(&str, String)],
) -> Result<Vec<ConfigFile>, String> {
    let mut written = Vec::new();
    for template in &server.files {
        let file = folders.dir.join(&template.path);
        let text = fill(&template.text, values);
        let write = || {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&file, &text)
        };
        write().map_err(|e| format!("{}: {e}", file.display()))?;
        written.push(ConfigFile {
            name: template.path.clone(),
            text,
        });
    }
    Ok(written)
}

/// Waits until the server sends the whole document.
fn answering(launched: &mut Launched, server: &Server, probe: &Probe<'_>) -> Result<(), String> {
    let deadline = Instant::now() + START;
    let path = server.ready_path.as_deref();
    loop {
        interrupt::check()?;
        let answer = probe::get(launched.address, path.unwrap_or(probe.path));
        let found = match answer {
            Ok(answer) if answer.status != 200 => format!("status {}", answer.status),
            Ok(_) if path.is_some() => break,
            Ok(answer) if answer.body.len() as u64 == probe.bytes => break,
            Ok(answer) => format!("{} bytes instead of {}", answer.body.len(), probe.bytes),
            Err(error) => error,
        };
        if let Some(status) = launched.process.ended() {
            return Err(format!("it ended ({status}) before it answered"));
        }
        if let Some(name) = launched.beside.ended() {
            return Err(format!("{name} beside it ended before it answered"));
        }
        if Instant::now() > deadline {
            return Err(format!(
                "no right answer after {} s: {found}",
                START.as_secs()
            ));
        }
        sleep(Duration::from_millis(20));
    }
    // What answers on the port might be somebody else.
    match launched.process.ended() {
        None => Ok(()),
        Some(status) => Err(format!("it ended ({status})")),
    }
}

/// The end of what a server printed, on lines of its own.
fn tail(output: &Path) -> String {
    let text = fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    let start = text.len().saturating_sub(MOST_OUTPUT);
    let start = (start..text.len()).find(|&i| text.is_char_boundary(i));
    match text.get(start.unwrap_or(0)..) {
        Some(end) if !end.is_empty() => format!("\n{end}"),
        _ => String::new(),
    }
}

//! The same over TLS.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use forebay_session_server::{Listen, Server, Tls};
use forebay_tls::{Identity, ServerName, Session, Trust, client_config, server_config};
use support::{Store, ask, connect, expect, is_served, listen, serve};

/// A certificate for `localhost` and its key, as files.
fn certificate(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "openssl: {made:?}");
    let read = |name| std::fs::read(folder.join(name)).unwrap();
    (read("cert.pem"), read("key.pem"))
}

/// A client's end: a session on a socket that waits.
struct Client {
    session: Session,
    stream: TcpStream,
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.session.read(&mut self.stream, buffer)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.session.write(&mut self.stream, &[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.session.flush(&mut self.stream)
    }
}

fn client(server: &Server, trusted: &[u8], identity: Option<Identity<'_>>) -> Client {
    let config = client_config(Trust::These(trusted), identity, &[]).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = Client {
        session: Session::client(config, name).unwrap(),
        stream: connect(server),
    };
    client.session.handshake(&mut client.stream).unwrap();
    client
}

#[test]
fn commands_and_large_values_go_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = certificate(folder.path());
    let identity = Identity {
        chain: &chain,
        key: &key,
    };
    let store = Store::new();
    let tls = Some(Tls::new(server_config(identity, None, &[]).unwrap()));
    let server = serve(
        1,
        vec![Listen {
            tls,
            ..listen(&store)
        }],
    );
    let mut first = client(&server, &chain, None);
    let mut second = client(&server, &chain, None);
    let value: Vec<u8> = (0..900_000).map(|at: usize| (at % 251) as u8).collect();
    let set = [&b"set k 0 0 900000\r\n"[..], &value, b"\r\n"].concat();
    ask(&mut first, &set, b"STORED\r\n");
    let found = [&b"VALUE k 0 900000\r\n"[..], &value, b"\r\nEND\r\n"].concat();
    second.write_all("get k\r\n".repeat(30).as_bytes()).unwrap();
    for _ in 0..20 {
        is_served(&mut first);
    }
    for _ in 0..30 {
        expect(&mut second, &found);
    }
    ask(&mut second, b"mn\r\nquit\r\n", b"MN\r\n");
    // Announced, not torn off.
    assert_eq!(second.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn without_tls_and_without_a_certificate_nobody_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = certificate(folder.path());
    let identity = Identity {
        chain: &chain,
        key: &key,
    };
    let store = Store::new();
    let tls = Some(Tls::new(
        server_config(identity, Some(&chain), &[]).unwrap(),
    ));
    let server = serve(
        1,
        vec![Listen {
            tls,
            ..listen(&store)
        }],
    );
    let mut plain = connect(&server);
    plain.write_all(b"get k\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"END"), "{answer:?}");
    let mut unknown = client(&server, &chain, None);
    let _ = unknown.write_all(b"mn\r\n");
    assert!(unknown.read(&mut [0; 10]).map_or(true, |read| read == 0));
    assert_eq!(store.asked(), 0);
}

#[test]
fn a_peer_that_never_shakes_hands_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = certificate(folder.path());
    let identity = Identity {
        chain: &chain,
        key: &key,
    };
    let tls = Some(Tls::new(server_config(identity, None, &[]).unwrap()));
    let stalled_timeout = std::time::Duration::from_millis(1);
    let server = serve(
        1,
        vec![Listen {
            tls,
            stalled_timeout,
            ..listen(&Store::new())
        }],
    );
    // It may be told why; then it ends.
    let ended = connect(&server).read_to_end(&mut Vec::new());
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn a_new_certificate_is_for_new_connections_and_leaves_the_others_alone() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [old, new] = folders.each_ref().map(|folder| certificate(folder.path()));
    let config = |(chain, key): &(Vec<u8>, Vec<u8>)| {
        server_config(Identity { chain, key }, None, &[]).unwrap()
    };
    let tls = Tls::new(config(&old));
    let server = serve(
        1,
        vec![Listen {
            tls: Some(tls.clone()),
            ..listen(&Store::new())
        }],
    );
    let mut before = client(&server, &old.0, None);
    is_served(&mut before);
    tls.replace(config(&new));
    is_served(&mut client(&server, &new.0, None));
    is_served(&mut before);
}

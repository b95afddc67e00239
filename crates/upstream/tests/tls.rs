//! TLS on a connection whose server reads when it likes: what was written arrives all the same.

#![allow(clippy::unwrap_used)]

mod harness;

use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::time::Duration;

use forebay_stream::Stream;
use forebay_tls::{Session, Trust, client_config};
use harness::worker;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Longer than any of this takes.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server that shakes hands, reads nothing until it is told how many bytes there are, then answers.
fn server(directory: &Path) -> (SocketAddr, Sender<usize>) {
    let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=test"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    assert!(made.unwrap().status.success());
    let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    // Without tickets nothing comes before the answer: they would wake who waits for it.
    config.send_tls13_tickets = 0;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, counts) = channel();
    std::thread::spawn(move || serve(&listener, config, &counts));
    (address, sender)
}

fn serve(listener: &TcpListener, config: ServerConfig, counts: &Receiver<usize>) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut session = ServerConnection::new(Arc::new(config)).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut socket).unwrap();
    }
    let mut left = counts.recv().unwrap();
    let mut stream = rustls::Stream::new(&mut session, &mut socket);
    let mut buffer = vec![0; 64 << 10];
    while left > 0 {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{left} bytes never came");
        left -= read;
    }
    stream.write_all(b"all").unwrap();
    // Until the other side has seen it.
    let _ = stream.read(&mut buffer);
}

async fn connected(address: SocketAddr) -> Stream {
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let config = client_config(Trust::Anyone, None, &[]).unwrap();
    let name = "test".try_into().unwrap();
    let session = Session::client(config, name).unwrap();
    Stream::from(socket)
        .secure(Box::new(session))
        .await
        .unwrap()
}

/// Writes until nothing more is taken; how much was.
async fn fill(stream: &mut Stream) -> usize {
    let piece = vec![b'x'; 16 << 10];
    let mut taken = 0;
    std::future::poll_fn(|cx| {
        loop {
            match stream.poll_write(cx, &[IoSlice::new(&piece)]) {
                Poll::Ready(written) => taken += written.unwrap(),
                // Others had to have their turn.
                Poll::Pending if stream.poll_flush(cx).is_ready() => {}
                Poll::Pending => return Poll::Ready(taken),
            }
        }
    })
    .await
}

#[test]
fn who_waits_for_an_answer_sends_what_the_socket_had_not_taken_before() {
    let directory = tempfile();
    let (address, counts) = server(&directory);
    worker(async {
        let mut stream = connected(address).await;
        let taken = fill(&mut stream).await;
        counts.send(taken).unwrap();
        let readable = std::future::poll_fn(|cx| stream.poll_readable(cx));
        let readable = tokio::time::timeout(DEADLINE, readable).await;
        readable.expect("the server waits for the rest").unwrap();
        let mut answer = [0; 8];
        let read = std::future::poll_fn(|cx| stream.poll_read(cx, &mut answer)).await;
        assert_eq!(&answer[..read.unwrap()], b"all");
    });
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_connection_of_another_worker_carries_a_request_at_once() {
    let directory = tempfile();
    let (address, counts) = server(&directory);
    worker(async {
        let stream = connected(address).await;
        // Another event loop does not know yet that the socket takes something.
        let mut stream = stream.hand_over().unwrap();
        let request = [b'x'; 100];
        let slices = [IoSlice::new(&request)];
        let written = std::future::poll_fn(|cx| stream.poll_write(cx, &slices)).await;
        counts.send(written.unwrap()).unwrap();
        let mut answer = [0; 8];
        let read = std::future::poll_fn(|cx| {
            if stream.poll_readable(cx)?.is_pending() {
                return Poll::Pending;
            }
            stream.poll_read(cx, &mut answer)
        });
        let read = tokio::time::timeout(DEADLINE, read).await;
        let read = read.expect("the request never left").unwrap();
        assert_eq!(&answer[..read], b"all");
    });
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A directory of one's own.
fn tempfile() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = (std::process::id(), NEXT.fetch_add(1, SeqCst));
    let path = std::env::temp_dir().join(format!("forebay-tls-{}-{}", number.0, number.1));
    std::fs::create_dir(&path).unwrap();
    path
}

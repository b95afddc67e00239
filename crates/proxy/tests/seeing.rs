//! A running server, seen from beside it: exchanges live, the hottest objects, its pools.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use forebay_config::Settings;
use forebay_config::settings::{
    ListenAddress, LogTarget, Pool, PoolServer, ServerAddress, Service, Site,
};
use forebay_proxy::{Handle, Server, StatusFilter, Tail, TailFilter, TailLine};
use forebay_stats::Counter;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// An origin that answers `/missing…` with 404 and all else with 200 and `max-age`.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            for line in lines.by_ref() {
                if line.unwrap().is_empty() {
                    break;
                }
            }
            let status = if first.contains("/missing") { 404 } else { 200 };
            let head = format!("HTTP/1.1 {status} X\r\nCache-Control: max-age=60\r\n");
            let rest = "Connection: close\r\nContent-Length: 2\r\n\r\nok";
            // A connection that breaks shows at the client.
            let _ = { &stream }.write_all((head + rest).as_bytes());
        }
    });
    address
}

fn settings(origin: SocketAddr) -> Settings {
    let mut settings = Settings::default();
    settings.server.workers = 2;
    settings.listen = vec![ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))];
    let servers = vec![ServerAddress::Tcp {
        host: origin.ip().to_string(),
        port: origin.port(),
    }];
    let pool = Pool {
        servers: servers.into_iter().map(PoolServer::at).collect(),
        ..Pool::default()
    };
    settings.pools.insert("app".into(), pool);
    settings.sites.push(Site {
        name: "all".into(),
        hosts: Vec::new(),
        service: Service {
            pool: Some("app".into()),
            ..Service::default()
        },
        methods: Vec::new(),
        policy: settings.cache.policy.clone(),
        paths: Vec::new(),
    });
    settings
}

fn start(settings: Settings) -> (Server, SocketAddr) {
    let server = Server::start(settings, Vec::new()).unwrap();
    let address = match server.addresses().first() {
        Some(ListenAddress::Tcp(address)) => *address,
        other => panic!("it listens on {other:?}"),
    };
    (server, address)
}

/// One request on a connection of its own; returns when the connection has ended.
fn get(address: SocketAddr, target: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nHost: Shop.example\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(b"ok"));
}

fn tail(handle: &Handle, filter: TailFilter) -> Tail {
    handle.tail(filter, 100).unwrap()
}

#[track_caller]
fn line(tail: &mut Tail) -> String {
    match tail.recv(LONG) {
        Some(TailLine::Exchange(line)) => String::from_utf8(line).unwrap(),
        other => panic!("no exchange: {other:?}"),
    }
}

#[test]
fn exchanges_are_seen_with_the_log_off() {
    let (server, address) = start(settings(origin()));
    let handle = server.handle();
    let mut all = tail(&handle, TailFilter::default());
    let hits = TailFilter {
        cache: vec!["hit".into()],
        host: Some("SHOP.*".into()),
        ..TailFilter::default()
    };
    let mut hits = tail(&handle, hits);
    let missing = TailFilter {
        status: vec![StatusFilter::Class(4)],
        url: Some("shop.example/miss*".into()),
        ..TailFilter::default()
    };
    let mut missing = tail(&handle, missing);
    assert_eq!(handle.gauges().tails, 3);
    for target in ["/a", "/a", "/missing"] {
        get(address, target);
    }
    let (first, second) = (line(&mut all), line(&mut all));
    assert!(first.contains("\"cache\":\"miss\""), "{first}");
    assert!(first.contains("\"target\":\"/a\""), "{first}");
    assert!(second.contains("\"cache\":\"hit\""), "{second}");
    assert_eq!(line(&mut hits), second);
    assert_eq!(line(&mut missing), line(&mut all));
    assert_eq!(missing.recv(Duration::ZERO), None);
    drop((all, hits, missing));
    assert_eq!(handle.gauges().tails, 0);
}

#[test]
fn a_reader_that_does_not_read_is_told_what_it_missed() {
    let (server, address) = start(settings(origin()));
    let handle = server.handle();
    let mut small = handle.tail(TailFilter::default(), 1).unwrap();
    let mut all = tail(&handle, TailFilter::default());
    for _ in 0..5 {
        get(address, "/a");
    }
    // When the big one has all five, the small one was offered them too.
    for _ in 0..5 {
        line(&mut all);
    }
    assert!(line(&mut small).contains("\"miss\""));
    assert_eq!(small.recv(Duration::ZERO), Some(TailLine::Dropped(4)));
    assert_eq!(handle.stats().snapshot().get(Counter::TailDropped), 4);
}

#[test]
fn a_reload_that_moves_the_log_does_not_end_the_view() {
    let origin = origin();
    let (server, address) = start(settings(origin));
    let handle = server.handle();
    let mut all = tail(&handle, TailFilter::default());
    let mut changed = settings(origin);
    changed.listen = vec![ListenAddress::Tcp(address)];
    changed.log.access = LogTarget::File(Path::new("/dev/null").to_owned());
    handle.reload(changed).unwrap();
    get(address, "/after");
    assert!(line(&mut all).contains("/after"));
}

#[test]
fn the_hottest_and_the_biggest_are_named() {
    let (server, address) = start(settings(origin()));
    let handle = server.handle();
    for target in ["/cold", "/warm", "/hot", "/hot", "/hot", "/warm"] {
        get(address, target);
    }
    let name = |object: forebay_proxy::Popular| (object.url, object.hits);
    let hottest: Vec<_> = handle.hottest(10).into_iter().map(name).collect();
    assert_eq!(
        hottest,
        [
            ("shop.example/hot".to_owned(), 2),
            ("shop.example/warm".to_owned(), 1)
        ]
    );
    let biggest = handle.biggest(2);
    assert_eq!(biggest.len(), 2);
    assert!(
        biggest.iter().all(|object| object.bytes == 2),
        "{biggest:?}"
    );
}

#[test]
fn a_pool_shows_how_its_servers_do() {
    let (server, address) = start(settings(origin()));
    for target in ["/a", "/b", "/b"] {
        get(address, target);
    }
    let status = server.handle().status();
    let pool = &status.pools[0];
    assert_eq!((pool.requests, pool.connects), (2, 2));
    assert_eq!((pool.errors, pool.timeouts, pool.failures), (0, 0, 0));
    assert!(pool.mean_us > 0 && pool.p50_us > 0, "{pool:?}");
    assert!(pool.p99_us >= pool.p50_us, "{pool:?}");
}

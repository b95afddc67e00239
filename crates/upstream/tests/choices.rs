//! Which server gets a request, and which one after a failure.

#![allow(clippy::unwrap_used)]

mod harness;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use forebay_config::settings::{Balance, Pool as PoolSettings, PoolServer, ServerAddress, Sticky};
use forebay_stream::Stream;
use forebay_upstream::{
    Ask, ConnectError, Connection, Local, NewServer, Order, Owner, ServerFailure, ServerKind,
    Tried, acquire,
};
use harness::*;

/// An address where nobody listens, for as long as it lives.
struct Dead(socket2::Socket);

impl Dead {
    fn new() -> Self {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(&any.into()).unwrap();
        Self(socket)
    }

    fn server(&self) -> PoolServer {
        let address = self.0.local_addr().unwrap().as_socket().unwrap();
        PoolServer::at(ServerAddress::Tcp {
            host: "127.0.0.1".into(),
            port: address.port(),
        })
    }
}

/// How many of so many requests each server gets.
async fn shares(settings: PoolSettings, requests: usize) -> BTreeMap<String, usize> {
    let pool = pool(settings);
    let local = Local::default();
    let mut shares = BTreeMap::new();
    for _ in 0..requests {
        let connection = get(&pool, &local).await.unwrap();
        *shares
            .entry(connection.server().label().to_string())
            .or_default() += 1;
        keep(&local, connection);
    }
    shares
}

#[test]
fn weights_make_shares() {
    worker(async {
        let (one, two) = (
            Backend::start(Duration::ZERO),
            Backend::start(Duration::ZERO),
        );
        let mut settings = settings(&[&one, &two]);
        settings.servers[0].weight = 3;
        for balance in [Balance::RoundRobin, Balance::LeastConnections] {
            let settings = PoolSettings {
                balance: balance.clone(),
                ..settings.clone()
            };
            let shares = shares(settings, 40).await;
            let heavy = shares[&one.address.to_string()];
            match balance {
                Balance::RoundRobin => assert_eq!(heavy, 30),
                // Nothing is under way when the next one comes: the heavier one has less to do.
                _ => assert_eq!(heavy, 40),
            }
        }
    });
}

#[test]
fn servers_that_cannot_be_reached_cost_no_request() {
    worker(async {
        let (dead, gone) = (Dead::new(), Dead::new());
        let backend = Backend::start(Duration::ZERO);
        let mut settings = settings(&[&backend]);
        settings.servers.insert(0, dead.server());
        settings.servers.push(gone.server());
        let pool = pool(settings);
        let local = Local::default();
        for _ in 0..20 {
            assert!(get(&pool, &local).await.is_ok());
        }
        let errors: u64 = pool
            .servers()
            .iter()
            .map(|server| server.stats().snapshot().errors)
            .sum();
        assert_eq!(errors, 2, "each is left out after one failure");
    });
}

#[test]
fn all_failing_are_all_tried_and_none_is_an_answer() {
    worker(async {
        let (dead, gone) = (Dead::new(), Dead::new());
        let pool = pool(PoolSettings {
            servers: vec![dead.server(), gone.server()],
            ..PoolSettings::default()
        });
        let local = Local::default();
        for _ in 0..3 {
            assert_eq!(
                get(&pool, &local).await.err(),
                Some(ConnectError::Unreachable)
            );
        }
        let servers = pool.servers();
        let errors = servers
            .iter()
            .map(|server| server.stats().snapshot().errors);
        assert_eq!(
            errors.sum::<u64>(),
            6,
            "the failed are tried when there is nobody else"
        );
        for server in pool.servers() {
            pool.set_order(&server, Order::Down);
        }
        assert_eq!(get(&pool, &local).await.err(), Some(ConnectError::NoServer));
    });
}

#[test]
fn a_backup_is_asked_when_all_others_are_gone() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let backup = Backend::start(Duration::ZERO);
        let mut settings = settings(&[&backend, &backup]);
        settings.servers[1].priority = PoolServer::BACKUP;
        let pool = pool(settings);
        let local = Local::default();
        let main = pool.servers()[0].clone();
        let asked = async || {
            get(&pool, &local)
                .await
                .unwrap()
                .server()
                .label()
                .to_string()
        };
        assert_eq!(asked().await, backend.address.to_string());
        pool.set_healthy(&main, false);
        assert_eq!(asked().await, backup.address.to_string());
        pool.set_healthy(&main, true);
        assert_eq!(asked().await, backend.address.to_string());
    });
}

#[test]
fn a_cookie_of_ours_keeps_its_server_even_when_it_is_drained() {
    worker(async {
        let (one, two) = (
            Backend::start(Duration::ZERO),
            Backend::start(Duration::ZERO),
        );
        let pool = pool(PoolSettings {
            sticky: Some(Sticky {
                cookie: "route".into(),
                learn: false,
                lifetime: None,
                most: 10,
                secret: None,
            }),
            ..settings(&[&one, &two])
        });
        let (local, timeouts) = (Local::default(), timeouts());
        let first = get(&pool, &local).await.unwrap();
        let (name, server) = (first.sticky_name(), first.server().clone());
        let asked = async || {
            let ask = Ask {
                sticky: Some(&name),
                ..ask(&timeouts)
            };
            let connection = acquire(&pool, &local, &ask, &mut Tried::default()).await;
            connection.unwrap().server().clone()
        };
        for _ in 0..5 {
            assert_eq!(asked().await.label(), server.label());
        }
        pool.set_order(&server, Order::Drain);
        assert_eq!(asked().await.label(), server.label());
        let newcomer = get(&pool, &local).await.unwrap();
        assert_ne!(newcomer.server().label(), server.label());
        pool.set_order(&server, Order::Down);
        assert_ne!(asked().await.label(), server.label());
        pool.set_order(&server, Order::Up);
        assert_eq!(asked().await.label(), server.label());
        pool.set_order(&server, Order::Leaving);
        assert_ne!(asked().await.label(), server.label());
        pool.set_order(&server, Order::Up);
        assert_eq!(server.order(), Order::Leaving, "nobody calls it back");
    });
}

#[test]
fn servers_that_hang_are_tried_once_in_a_while_and_nobody_else_waits_for_them() {
    let (one, two) = (
        Backend::start(Duration::ZERO),
        Backend::start(Duration::ZERO),
    );
    let fail = |connection: Connection, failure| connection.failed(failure, 1000, now_ms());
    for (servers, max_connections) in [(vec![&one, &two], None), (vec![&one, &two], Some(1))] {
        worker(async {
            let count = servers.len();
            let pool = pool(PoolSettings {
                max_connections,
                ..settings(&servers)
            });
            let local = Local::default();
            // Those that fail at once cost nobody anything: they are asked all the same.
            for _ in 0..8 {
                fail(get(&pool, &local).await.unwrap(), ServerFailure::Error);
            }
            let begun = std::time::Instant::now();
            let mut asked = 0;
            while let Ok(connection) = get(&pool, &local).await {
                fail(connection, ServerFailure::TimedOut);
                asked += 1;
            }
            let seconds = begun.elapsed().as_secs() as usize;
            assert!(asked <= (4 + seconds) * count, "{asked} in {seconds} s");
            // One of those that try is answered: the server is asked like any other.
            let connection = loop {
                match get(&pool, &local).await {
                    Ok(connection) => break connection,
                    Err(error) => assert_eq!(error, ConnectError::NoServer),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            };
            connection.answered(200, 1000, now_ms());
            drop(connection);
            for _ in 0..4 {
                get(&pool, &local).await.unwrap();
            }
        });
    }
}

#[test]
fn new_connections_begin_at_each_address_of_a_name_in_turn() {
    let one = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = one.local_addr().unwrap().port();
    let two = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let came = |listener: &TcpListener| {
        listener.set_nonblocking(true).unwrap();
        listener.incoming().take_while(Result::is_ok).count()
    };
    worker(async {
        let pool = pool(PoolSettings {
            servers: vec![PoolServer::at(ServerAddress::Tcp {
                host: "two.internal".into(),
                port,
            })],
            ..PoolSettings::default()
        });
        let found = ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse().unwrap());
        pool.servers()[0].set_addresses(&found);
        let local = Local::default();
        for _ in 0..4 {
            get(&pool, &local).await.unwrap();
        }
        assert_eq!((came(&one), came(&two)), (2, 2));
        drop(two);
        for _ in 0..4 {
            get(&pool, &local).await.unwrap();
        }
        assert_eq!(came(&one), 4);
        assert!(!pool.servers()[0].is_failed(now_ms()));
    });
}

#[test]
fn a_learned_cookie_keeps_its_server() {
    worker(async {
        let (one, two) = (
            Backend::start(Duration::ZERO),
            Backend::start(Duration::ZERO),
        );
        let pool = pool(PoolSettings {
            sticky: Some(Sticky {
                cookie: "PHPSESSID".into(),
                learn: true,
                lifetime: None,
                most: 10,
                secret: None,
            }),
            ..settings(&[&one, &two])
        });
        let (local, timeouts) = (Local::default(), timeouts());
        let first = get(&pool, &local).await.unwrap();
        first.learn(b"s3cret", now_ms());
        for _ in 0..5 {
            let ask = Ask {
                sticky: Some(b"s3cret"),
                ..ask(&timeouts)
            };
            let connection = acquire(&pool, &local, &ask, &mut Tried::default())
                .await
                .unwrap();
            assert_eq!(connection.server().label(), first.server().label());
        }
    });
}

#[test]
fn a_hash_keeps_its_server_for_each_key() {
    worker(async {
        let backends: Vec<Backend> = (0..3).map(|_| Backend::start(Duration::ZERO)).collect();
        let pool = pool(PoolSettings {
            balance: Balance::Hash {
                by: Vec::new(),
                bound_percent: None,
            },
            ..settings(&backends.iter().collect::<Vec<_>>())
        });
        let (local, timeouts) = (Local::default(), timeouts());
        let mut seen = std::collections::BTreeSet::new();
        for key in 0..50u8 {
            let mut servers = std::collections::BTreeSet::new();
            for _ in 0..3 {
                let ask = Ask {
                    key: Some(forebay_upstream::key([&[key][..]])),
                    ..ask(&timeouts)
                };
                let connection = acquire(&pool, &local, &ask, &mut Tried::default())
                    .await
                    .unwrap();
                servers.insert(connection.server().label().to_string());
                keep(&local, connection);
            }
            assert_eq!(servers.len(), 1);
            seen.extend(servers);
        }
        assert_eq!(seen.len(), 3);
    });
}

#[test]
fn a_back_end_that_dials_in_is_used_over_its_own_connections() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let pool = pool(PoolSettings {
            join_tokens: vec!["secret".into()],
            ..PoolSettings::default()
        });
        let local = Local::default();
        let server = pool
            .add(&NewServer {
                kind: ServerKind::DialedIn("edge-7".into()),
                ..NewServer::at(backend.at(), Owner::Program)
            })
            .unwrap();
        // It is there and has no connection yet: requests wait for one.
        let mut waiting = Box::pin(get(&pool, &local));
        let pending = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending())
        });
        assert!(pending.await);
        let stream = tokio::net::TcpStream::connect(backend.address)
            .await
            .unwrap();
        pool.supply(&local, &server, Stream::from(stream));
        let mut connection = waiting.await.unwrap();
        exchange(&mut connection, 1).await.unwrap();
        keep(&local, connection);
        assert_eq!((server.limit(), server.shelved()), (Some(1), 1));
        let mut connection = get(&pool, &local).await.unwrap();
        exchange(&mut connection, 2).await.unwrap();
        assert!(connection.reused);
        // It is closed: there is none left.
        drop(connection);
        assert_eq!((server.limit(), server.active()), (Some(0), 0));
        assert_eq!(backend.connections(), 1);
    });
}

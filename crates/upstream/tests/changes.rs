//! What becomes of connections and servers when something changes between two requests: a server
//! that fails late, one that joins again, one whose idle connections have ended.

#![allow(clippy::unwrap_used)]

mod harness;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use forebay_config::settings::{Pool as PoolSettings, ProxyProtocol};
use forebay_stream::Stream;
use forebay_upstream::{
    ConnectError, Local, NewServer, Owner, Pool, Server, ServerKind, Tried, acquire,
};
use harness::*;

fn dialed_in(name: &str) -> NewServer {
    let at_none = forebay_config::settings::ServerAddress::Unix("/".into());
    NewServer {
        kind: ServerKind::DialedIn(name.into()),
        ..NewServer::at(at_none, Owner::Program)
    }
}

/// A pool that back ends join.
fn joined() -> Arc<Pool> {
    pool(PoolSettings {
        join_tokens: vec!["secret".into()],
        ..settings(&[])
    })
}

/// A connection that a back end has opened: the back end's end, and ours.
fn opened() -> (TcpStream, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, _) = listener.accept().unwrap();
    ours.set_nonblocking(true).unwrap();
    (
        theirs,
        tokio::net::TcpStream::from_std(ours).unwrap().into(),
    )
}

/// Hands in a connection of `server`; its end.
fn supply(pool: &Pool, local: &Local, server: &Arc<Server>) -> TcpStream {
    let (theirs, ours) = opened();
    pool.supply(local, server, ours);
    theirs
}

/// The same with a connection that the back end has closed meanwhile, which the event loop knows.
async fn supply_closed(pool: &Pool, local: &Local, server: &Arc<Server>) {
    let (theirs, mut ours) = opened();
    drop(theirs);
    std::future::poll_fn(|cx| ours.poll_readable(cx))
        .await
        .unwrap();
    pool.supply(local, server, ours);
}

async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut *future).poll(cx);
        std::task::Poll::Ready(polled.is_pending())
    })
    .await
}

#[test]
fn one_that_joins_again_is_not_charged_with_its_older_selfs_connections() {
    worker(async {
        let (pool, local) = (joined(), Local::default());
        let older = pool.add(&dialed_in("a")).unwrap();
        let _theirs = supply(&pool, &local, &older);
        let under_way = get(&pool, &local).await.unwrap();
        pool.remove(&older);
        let newer = pool.add(&dialed_in("a")).unwrap();
        let _theirs = supply(&pool, &local, &newer);
        // The older one's connection ends.
        drop(under_way);
        assert_eq!((older.active(), newer.limit()), (0, Some(1)));
        let connection = get(&pool, &local).await.unwrap();
        assert!(Arc::ptr_eq(connection.server(), &newer));
    });
}

#[test]
fn one_that_has_closed_its_idle_connections_has_not_failed() {
    worker(async {
        let (pool, local) = (joined(), Local::default());
        let closes = pool.add(&dialed_in("closes")).unwrap();
        let stays = pool.add(&dialed_in("stays")).unwrap();
        supply_closed(&pool, &local, &closes).await;
        let _theirs = supply(&pool, &local, &stays);
        let connection = get(&pool, &local).await.unwrap();
        assert!(Arc::ptr_eq(connection.server(), &stays));
        // Where there is no other, it is waited for.
        supply_closed(&pool, &local, &closes).await;
        let mut waiting = Box::pin(get(&pool, &local));
        assert!(is_pending(&mut waiting).await);
        let _theirs = supply(&pool, &local, &closes);
        let connection = waiting.await.unwrap();
        assert!(Arc::ptr_eq(connection.server(), &closes));
        assert!(!closes.is_failed(now_ms()));
        assert_eq!(closes.stats().snapshot().errors, 0);
    });
}

#[test]
fn a_server_that_fails_a_request_that_waited_long_is_left_out_from_then_on() {
    worker(async {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = nobody.local_addr().unwrap();
        drop(nobody);
        let server = forebay_config::settings::PoolServer::at(
            forebay_config::settings::ServerAddress::Tcp {
                host: address.ip().to_string(),
                port: address.port(),
            },
        );
        let pool = pool(PoolSettings {
            servers: vec![server],
            fail_timeout: Duration::from_secs(10),
            ..PoolSettings::default()
        });
        let timeouts = timeouts();
        let long_ago = forebay_upstream::Ask {
            now_ms: now_ms() - 20_000,
            ..ask(&timeouts)
        };
        let local = Local::default();
        let answer = acquire(&pool, &local, &long_ago, &mut Tried::default()).await;
        assert_eq!(answer.err(), Some(ConnectError::Unreachable));
        assert!(pool.servers()[0].is_failed(now_ms()));
    });
}

#[test]
fn a_connection_is_not_used_again_when_connections_come_about_in_another_way() {
    for max_connections in [None, Some(1)] {
        worker(async {
            let backend = Backend::start(Duration::ZERO);
            let plain = PoolSettings {
                max_connections,
                ..settings(&[&backend])
            };
            let introduced = PoolSettings {
                proxy_protocol: Some(ProxyProtocol::V1),
                ..plain.clone()
            };
            let local = Local::default();
            let first = pools(plain.clone(), None);
            let mut connection = get(first.get("app").unwrap(), &local).await.unwrap();
            exchange(&mut connection, 1).await.unwrap();
            keep(&local, connection);
            let same = pools(plain, Some(&first));
            let connection = get(same.get("app").unwrap(), &local).await.unwrap();
            assert!(connection.reused, "nothing has changed");
            keep(&local, connection);
            let other = pools(introduced, Some(&same));
            let connection = get(other.get("app").unwrap(), &local).await.unwrap();
            assert!(!connection.reused);
        });
    }
}

#[test]
fn what_is_said_anew_of_a_server_holds_but_for_a_weight_that_the_operator_has_changed() {
    let pool = pool(settings(&[]));
    let new = NewServer::at(
        forebay_config::settings::ServerAddress::Unix("/a".into()),
        Owner::Program,
    );
    let server = pool.add(&new).unwrap();
    let said = |weight, priority| NewServer {
        weight,
        priority,
        ..new.clone()
    };
    let is = || {
        let member = pool.members().remove(0);
        (member.weight, member.priority)
    };
    assert!(pool.renew(&server, &said(1, 2)));
    assert_eq!(is(), (1, 2));
    assert!(!pool.renew(&server, &said(1, 2)), "nothing is new");
    pool.set_weight(&server, 7);
    assert!(pool.renew(&server, &said(1, 3)));
    assert_eq!(is(), (7, 3));
    assert!(pool.renew(&server, &said(2, 3)));
    assert_eq!(is(), (2, 3));
}

#[test]
fn a_check_is_one_of_the_requests_that_a_server_may_be_working_on() {
    worker(async {
        let backend = Backend::one_connection_at_a_time(Duration::ZERO);
        let pool = pool(PoolSettings {
            max_connections: Some(1),
            ..settings(&[&backend])
        });
        let (local, server) = (Local::default(), Arc::clone(&pool.servers()[0]));
        let mut connection = get(&pool, &local).await.unwrap();
        assert!(pool.place_for_check(&server).is_none());
        exchange(&mut connection, 1).await.unwrap();
        keep(&local, connection);
        assert_eq!(server.shelved(), 1);
        let place = pool.place_for_check(&server).unwrap();
        assert_eq!(server.shelved(), 0, "its connection would be one too many");
        let mut waiting = Box::pin(get(&pool, &local));
        assert!(is_pending(&mut waiting).await);
        drop(place);
        assert!(waiting.await.is_ok());
    });
}

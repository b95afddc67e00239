//! Limits and the queue, with workers on several threads and real sockets.

#![allow(clippy::unwrap_used)]

mod harness;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use arc_swap::ArcSwap;
use forebay_config::settings::Priority;
use forebay_upstream::{
    ConnectError, Connection, Local, NewServer, Order, Owner, Pools, Tried, acquire,
};
use harness::*;

const WORKERS: usize = 4;

/// So many workers with so many tasks each make so many requests with the pool of the moment.
fn load(pools: &Arc<ArcSwap<Pools>>, tasks: usize, requests: usize) {
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let pools = Arc::clone(pools);
            std::thread::spawn(move || worker(ask_again(&pools, tasks, requests)))
        })
        .collect();
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
}

async fn ask_again(pools: &Arc<ArcSwap<Pools>>, tasks: usize, requests: usize) {
    let local = Rc::new(Local::default());
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let (pools, local) = (Arc::clone(pools), Rc::clone(&local));
            tokio::task::spawn_local(async move {
                for _ in 0..requests {
                    let mut connection = connection(&pools, &local).await;
                    // One that the server closed in the same moment is not what is looked at here.
                    exchange(&mut connection, 1).await.unwrap();
                    keep(&local, connection);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// A connection, once the pool has a server.
async fn connection(pools: &ArcSwap<Pools>, local: &Local) -> Connection {
    loop {
        let pool = Arc::clone(pools.load().get("app").unwrap());
        match get(&pool, local).await {
            Err(ConnectError::NoServer) => tokio::task::yield_now().await,
            got => return got.unwrap(),
        }
    }
}

#[test]
fn a_limit_is_never_exceeded_by_several_workers() {
    for limit in [1, 3] {
        let backend = Backend::start(Duration::from_micros(200));
        let settings = forebay_config::settings::Pool {
            max_connections: Some(limit),
            ..settings(&[&backend])
        };
        let pools = Arc::new(ArcSwap::from_pointee(pools(settings, None)));
        load(&pools, 10, 25);
        assert_eq!(backend.requests(), WORKERS * 250);
        assert_eq!(backend.most(), limit);
        assert!(backend.connections() <= limit, "{}", backend.connections());
    }
}

#[test]
fn a_limit_is_not_exceeded_while_the_configuration_is_loaded_again_and_again() {
    let backend = Backend::start(Duration::from_micros(200));
    let settings = forebay_config::settings::Pool {
        max_connections: Some(1),
        ..settings(&[&backend])
    };
    let shared = Arc::new(ArcSwap::from_pointee(pools(settings.clone(), None)));
    let done = Arc::new(AtomicBool::new(false));
    let reloading = std::thread::spawn({
        let (shared, done) = (Arc::clone(&shared), Arc::clone(&done));
        move || {
            let mut reloads = 0;
            while !done.load(SeqCst) {
                // Every other time the server is in another pool's place, or gone for a moment.
                let empty = forebay_config::settings::Pool {
                    servers: Vec::new(),
                    ..settings.clone()
                };
                let before = shared.load_full();
                let without = pools(empty, Some(&before));
                shared.store(Arc::new(pools(settings.clone(), Some(&without))));
                reloads += 1;
                std::thread::yield_now();
            }
            reloads
        }
    });
    load(&shared, 5, 50);
    done.store(true, SeqCst);
    assert!(reloading.join().unwrap() > 0);
    assert_eq!(backend.most(), 1);
    assert_eq!(backend.requests(), WORKERS * 250);
}

#[test]
fn an_idle_connection_of_one_worker_does_not_block_another() {
    let backend = Backend::one_connection_at_a_time(Duration::from_micros(100));
    let settings = forebay_config::settings::Pool {
        max_connections: Some(1),
        ..settings(&[&backend])
    };
    let pools = Arc::new(ArcSwap::from_pointee(pools(settings, None)));
    load(&pools, 5, 40);
    assert_eq!(backend.requests(), WORKERS * 200);
    assert_eq!(
        backend.connections(),
        1,
        "the workers hand it to each other"
    );
}

#[test]
fn a_queue_has_an_end_and_a_time() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let pool = pool(forebay_config::settings::Pool {
            max_connections: Some(1),
            queue: 1,
            queue_timeout: Some(Duration::from_millis(50)),
            ..settings(&[&backend])
        });
        let local = Local::default();
        let first = get(&pool, &local).await.unwrap();
        let mut second = Box::pin(get(&pool, &local));
        assert!(futures_pending(&mut second).await);
        assert_eq!(pool.figures().waiting, 1);
        let third = get(&pool, &local).await;
        assert_eq!(third.err(), Some(ConnectError::QueueFull));
        assert_eq!(second.await.err(), Some(ConnectError::QueueTimedOut));
        let figures = pool.figures();
        assert_eq!(
            (figures.waiting, figures.queue_full, figures.queue_timeouts),
            (0, 1, 1)
        );
        drop(first);
        assert!(get(&pool, &local).await.is_ok());
    });
}

/// Polls once; whether it is still waiting.
async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| {
        let pending = std::pin::Pin::new(&mut *future).poll(cx).is_pending();
        std::task::Poll::Ready(pending)
    })
    .await
}

#[test]
fn who_leaves_the_queue_is_out_of_it_and_his_place_goes_on() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let pool = pool(forebay_config::settings::Pool {
            max_connections: Some(1),
            ..settings(&[&backend])
        });
        let local = Local::default();
        let first = get(&pool, &local).await.unwrap();
        let mut second = Box::pin(get(&pool, &local));
        let mut third = Box::pin(get(&pool, &local));
        assert!(futures_pending(&mut second).await && futures_pending(&mut third).await);
        // The place is given to the second, who leaves before it has noticed.
        drop(first);
        drop(second);
        assert!(third.await.is_ok());
        assert_eq!(pool.servers()[0].active(), 0);
    });
}

#[test]
fn a_higher_class_is_served_first() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let pool = pool(forebay_config::settings::Pool {
            max_connections: Some(1),
            ..settings(&[&backend])
        });
        let local = Rc::new(Local::default());
        let first = get(&pool, &local).await.unwrap();
        let mut tasks = Vec::new();
        let classes = [
            (Priority::Low, 1),
            (Priority::Normal, 2),
            (Priority::High, 3),
            (Priority::Normal, 4),
            (Priority::High, 5),
        ];
        for (priority, byte) in classes {
            let (asked, local) = (Arc::clone(&pool), Rc::clone(&local));
            tasks.push(tokio::task::spawn_local(async move {
                let timeouts = timeouts();
                let ask = forebay_upstream::Ask {
                    priority,
                    ..ask(&timeouts)
                };
                let mut tried = Tried::default();
                let mut connection = acquire(&asked, &local, &ask, &mut tried).await.unwrap();
                exchange(&mut connection, byte).await.unwrap();
                keep(&local, connection);
            }));
            while pool.figures().waiting < tasks.len() as u64 {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(backend.order(), [3, 5, 2, 4, 1]);
    });
}

#[test]
fn requests_wait_for_the_first_server_and_get_it_when_it_comes() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let pool = pool(settings(&[]));
        let local = Local::default();
        let mut waiting = Box::pin(get(&pool, &local));
        assert!(futures_pending(&mut waiting).await);
        let new = NewServer::at(backend.at(), Owner::Program);
        let server = pool.add(&new).unwrap();
        assert!(pool.add(&new).is_err(), "it is there already");
        let mut connection = waiting.await.unwrap();
        exchange(&mut connection, 1).await.unwrap();
        pool.set_order(&server, Order::Drain);
        let mut waiting = Box::pin(get(&pool, &local));
        assert!(
            futures_pending(&mut waiting).await,
            "it takes no new requests"
        );
        pool.set_order(&server, Order::Up);
        assert!(waiting.await.is_ok());
        assert!(pool.remove(&server) && !pool.remove(&server));
        assert_eq!(server.order(), Order::Removed);
        exchange(&mut connection, 2).await.unwrap();
    });
}

#[test]
fn a_server_that_returns_before_its_requests_have_ended_keeps_its_limit() {
    worker(async {
        let backend = Backend::start(Duration::ZERO);
        let listed = forebay_config::settings::Pool {
            max_connections: Some(1),
            ..settings(&[&backend])
        };
        let local = Local::default();
        let first = pools(listed.clone(), None);
        let connection = get(first.get("app").unwrap(), &local).await.unwrap();
        let other = Backend::start(Duration::ZERO);
        let second = pools(settings(&[&other]), Some(&first));
        // The pool is gone altogether for a while.
        let third = Pools::new(forebay_upstream::Prepared::default(), Some(&second));
        let fourth = pools(listed, Some(&third));
        let pool = fourth.get("app").unwrap();
        let mut waiting = Box::pin(get(pool, &local));
        assert!(futures_pending(&mut waiting).await);
        drop(connection);
        assert!(waiting.await.is_ok());
    });
}

#[test]
fn who_waits_for_the_other_server_does_not_keep_a_free_one_from_the_next() {
    worker(async {
        let (one, two) = (
            Backend::start(Duration::ZERO),
            Backend::start(Duration::ZERO),
        );
        let pool = pool(forebay_config::settings::Pool {
            max_connections: Some(1),
            ..settings(&[&one, &two])
        });
        let local = Local::default();
        let first = get(&pool, &local).await.unwrap();
        let second = get(&pool, &local).await.unwrap();
        // It was at the first one's server before, and that did not answer it well.
        let timeouts = timeouts();
        let ask = ask(&timeouts);
        let mut tried = Tried::default();
        tried.add(first.server());
        let wanted = Arc::clone(second.server());
        let mut picky = Box::pin(acquire(&pool, &local, &ask, &mut tried));
        let mut next = Box::pin(get(&pool, &local));
        assert!(futures_pending(&mut picky).await && futures_pending(&mut next).await);
        drop(first);
        let third = next.await.unwrap();
        assert!(futures_pending(&mut picky).await);
        drop(second);
        assert!(Arc::ptr_eq(picky.await.unwrap().server(), &wanted));
        drop(third);
    });
}

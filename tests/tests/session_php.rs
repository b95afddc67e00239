//! Sessions of PHP, by both of its extensions for memcached, in a store of the same Forebay that
//! stands before the site.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_tests::site::free_port;
use forebay_tests::{Client, Config, Forebay, PhpFpm, Response};

/// What php.ini says besides `session.save_path`, and how the address is written there.
struct Handler {
    values: &'static [(&'static str, &'static str)],
    scheme: &'static str,
}

/// The extensions `memcached` and `memcache`, each in the binary and in the text protocol.
const HANDLERS: [Handler; 4] = [
    Handler {
        values: &[
            ("session.save_handler", "memcached"),
            ("memcached.sess_binary_protocol", "1"),
            ("memcached.sess_lock_wait_min", "5"),
            ("memcached.sess_lock_wait_max", "20"),
            ("memcached.sess_lock_retries", "1000"),
        ],
        scheme: "",
    },
    Handler {
        values: &[
            ("session.save_handler", "memcached"),
            ("memcached.sess_binary_protocol", "0"),
            ("memcached.sess_lock_wait_min", "5"),
            ("memcached.sess_lock_wait_max", "20"),
            ("memcached.sess_lock_retries", "1000"),
        ],
        scheme: "",
    },
    Handler {
        values: &[
            ("session.save_handler", "memcache"),
            ("memcache.protocol", "binary"),
        ],
        scheme: "tcp://",
    },
    Handler {
        values: &[
            ("session.save_handler", "memcache"),
            ("memcache.protocol", "ascii"),
        ],
        scheme: "tcp://",
    },
];

const SCRIPTS: &[(&str, &str)] = &[
    (
        "write.php",
        "<?php session_start(); $_SESSION['a'] = $_GET['a']; echo 'written';",
    ),
    (
        "read.php",
        "<?php session_start(); echo $_SESSION['a'] ?? 'nothing';",
    ),
    (
        "count.php",
        "<?php session_start(); $n = $_SESSION['n'] ?? 0; usleep(2000);
         $_SESSION['n'] = $n + 1; echo $n + 1;",
    ),
    (
        "renew.php",
        "<?php session_start(); session_regenerate_id(true); echo 'renewed';",
    ),
    (
        "end.php",
        "<?php session_start(); session_destroy(); echo 'ended';",
    ),
];

/// A site of PHP whose sessions are in the program before it.
struct Shop {
    forebay: Forebay,
    config: Config,
    _php: PhpFpm,
    _directory: tempfile::TempDir,
}

impl Shop {
    fn open(handler: &Handler, values: &[(&str, &str)]) -> Self {
        // The port is free again when the listener is dropped.
        let address = format!("127.0.0.1:{}", free_port());
        let save_path = format!("\"{}{address}\"", handler.scheme);
        let mut all = vec![
            ("session.save_path", save_path.as_str()),
            ("display_errors", "1"),
        ];
        all.extend_from_slice(handler.values);
        all.extend_from_slice(values);
        let php = PhpFpm::start_with(8, &all);
        for (name, script) in SCRIPTS {
            php.write(name, script);
        }
        let directory = tempfile::tempdir().unwrap();
        let config = Config::new(&[&php.server()])
            .set("pool.app", "protocol = \"fastcgi\"")
            .set("site.main", "pool = \"app\"")
            .set("site.main", &format!("root = {:?}", php.root()))
            .set("session.web", &format!("address = {address:?}"))
            .set("session.web", &format!("path = {:?}", directory.path()))
            .set("session.web", "memory = \"16MiB\"");
        Self {
            forebay: Forebay::start(&config),
            config,
            _php: php,
            _directory: directory,
        }
    }

    fn visitor(&self) -> Visitor {
        Visitor {
            client: self.forebay.client(),
            cookie: None,
        }
    }

    /// The keys of the sessions in the store, with the second at which each ends. (The extension
    /// `memcache` leaves its locks behind, open, for 15 seconds.)
    fn keys(&self) -> Vec<(String, u64)> {
        let mut client = self.forebay.session();
        client.send(b"lru_crawler metadump all\r\n");
        let rows = client.read_until("END\r\n").unwrap();
        let keys = rows.lines().filter_map(|row| {
            let (key, rest) = row.strip_prefix("key=")?.split_once(' ')?;
            if key.ends_with(".lock") {
                return None;
            }
            let (end, _) = rest.strip_prefix("exp=")?.split_once(' ')?;
            Some((key.to_owned(), end.parse().ok()?))
        });
        keys.collect()
    }
}

/// A browser, as far as its session goes.
struct Visitor {
    client: Client,
    cookie: Option<String>,
}

impl Visitor {
    #[track_caller]
    fn get(&mut self, target: &str) -> String {
        let page = match &self.cookie {
            Some(cookie) => self
                .client
                .get_with(target, &[&format!("Cookie: {cookie}")]),
            None => self.client.get(target),
        };
        assert_eq!(page.status, 200, "{}", page.text());
        self.take_cookie(&page);
        page.text()
    }

    fn take_cookie(&mut self, page: &Response) {
        if let Some(field) = page.field("set-cookie") {
            let pair = field.split(';').next().unwrap_or(field);
            self.cookie = Some(pair.to_owned());
        }
    }

    /// Another browser window of the same session.
    fn again(&self, shop: &Shop) -> Self {
        Self {
            client: shop.forebay.client(),
            cookie: self.cookie.clone(),
        }
    }
}

#[test]
fn session_written_on_one_page_is_read_on_the_next_and_by_nobody_else() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[]);
        let mut visitor = shop.visitor();
        assert_eq!(visitor.get("/write.php?a=shoes"), "written");
        assert_eq!(visitor.get("/read.php"), "shoes");
        assert_eq!(visitor.again(&shop).get("/read.php"), "shoes");
        assert_eq!(shop.visitor().get("/read.php"), "nothing");
        let long = "x".repeat(7000);
        assert_eq!(visitor.get(&format!("/write.php?a={long}")), "written");
        assert_eq!(visitor.get("/read.php"), long);
    }
}

#[test]
fn pages_of_one_session_at_once_lose_no_update() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[]);
        let mut visitor = shop.visitor();
        assert_eq!(visitor.get("/count.php"), "1");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut window = visitor.again(&shop);
                scope.spawn(move || (0..5).for_each(|_| drop(window.get("/count.php"))));
            }
        });
        assert_eq!(visitor.get("/count.php"), "22", "an update was lost");
    }
}

#[test]
fn fifty_visitors_at_once_have_each_their_own_session() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[]);
        let cookies: Vec<Option<String>> = std::thread::scope(|scope| {
            let visit = || {
                let mut visitor = shop.visitor();
                for count in 1..=10 {
                    assert_eq!(visitor.get("/count.php"), count.to_string());
                }
                visitor.cookie
            };
            let visitors: Vec<_> = (0..50).map(|_| scope.spawn(visit)).collect();
            visitors.into_iter().map(|v| v.join().unwrap()).collect()
        });
        assert_eq!(cookies.iter().collect::<BTreeSet<_>>().len(), 50);
        assert_eq!(shop.keys().len(), 50, "{:?}", shop.keys());
    }
}

#[test]
fn session_with_a_new_name_keeps_its_content_and_the_old_name_is_worth_nothing() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[]);
        let mut visitor = shop.visitor();
        visitor.get("/write.php?a=shoes");
        let mut thief = visitor.again(&shop);
        assert_eq!(visitor.get("/renew.php"), "renewed");
        assert_ne!(visitor.cookie, thief.cookie);
        assert_eq!(visitor.get("/read.php"), "shoes");
        assert_eq!(thief.get("/read.php"), "nothing");
    }
}

#[test]
fn session_that_was_destroyed_is_gone_from_the_store() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[]);
        let mut visitor = shop.visitor();
        visitor.get("/write.php?a=shoes");
        assert_eq!(shop.keys().len(), 1, "{:?}", shop.keys());
        assert_eq!(visitor.get("/end.php"), "ended");
        assert_eq!(shop.keys(), []);
        assert_eq!(visitor.get("/read.php"), "nothing");
    }
}

#[test]
fn sessions_end_when_php_says_to_the_second() {
    for handler in &HANDLERS {
        let shop = Shop::open(handler, &[("session.gc_maxlifetime", "1440")]);
        let before = now_s();
        shop.visitor().get("/write.php?a=shoes");
        let after = now_s();
        let keys = shop.keys();
        let [(_, end)] = keys.as_slice() else {
            panic!("one session: {keys:?}");
        };
        assert!(
            (before + 1440..=after + 1440).contains(end),
            "{end}, written between {before} and {after}"
        );
    }
}

#[test]
fn session_that_nobody_visits_ends() {
    let short = [("session.gc_maxlifetime", "1")];
    let visited = HANDLERS.iter().map(|handler| {
        let shop = Shop::open(handler, &short);
        let mut visitor = shop.visitor();
        assert_eq!(visitor.get("/write.php?a=shoes"), "written");
        (shop, visitor)
    });
    // All of them are visited before the first is waited for.
    for (shop, mut visitor) in visited.collect::<Vec<_>>() {
        let expired = "forebay_session_expired_total";
        shop.forebay.wait_for_metric(expired, 1.0);
        assert_eq!(visitor.get("/read.php"), "nothing");
    }
}

#[test]
fn restart_of_the_store_between_two_pages_is_not_noticed() {
    for handler in &HANDLERS {
        let mut shop = Shop::open(handler, &[]);
        let mut visitor = shop.visitor();
        visitor.get("/write.php?a=shoes");
        shop.forebay.stop();
        shop.forebay = Forebay::start(&shop.config);
        let mut visitor = visitor.again(&shop);
        assert_eq!(visitor.get("/read.php"), "shoes");
        assert_eq!(visitor.get("/write.php?a=socks"), "written");
        assert_eq!(visitor.get("/read.php"), "socks");
    }
}

#[test]
fn kill_of_a_store_that_always_keeps_costs_no_session() {
    for handler in &HANDLERS {
        let mut shop = Shop::open(handler, &[]);
        shop.forebay.stop();
        shop.config = shop.config.set("session.web", "durability = \"always\"");
        shop.forebay = Forebay::start(&shop.config);
        let mut visitor = shop.visitor();
        for count in 1..=5 {
            assert_eq!(visitor.get("/count.php"), count.to_string());
            shop.forebay.kill();
            shop.forebay = Forebay::start(&shop.config);
            visitor = visitor.again(&shop);
        }
        assert_eq!(visitor.get("/count.php"), "6");
    }
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

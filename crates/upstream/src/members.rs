//! The servers of a pool at one moment, and how they change while the pool works: by a reload, by
//! the operator, by processes that start and end, by back ends that join and leave.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use forebay_config::settings::{Balance, Pool as PoolSettings, ServerAddress};

use crate::balance::{Ring, round_robin};
use crate::idle::Local;
use crate::pool::{Core, Pool};
use crate::server::{Order, Server, ServerKind};
use forebay_stream::Stream;

/// A pool's servers. It never changes; a new one takes its place.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) list: Vec<Member>,
    /// Where the pool is balanced by hash.
    pub(crate) ring: Ring,
    /// Some of them take only so many requests at once: places are given one at a time.
    pub(crate) gated: bool,
    /// Servers that are out of the pool and have requests under way. One that comes back before they
    /// have ended is the same server: its limit counts them.
    leaving: Vec<Weak<Server>>,
}

/// What members follow from, held while they change.
#[derive(Debug, Default)]
pub(crate) struct Changing {
    /// The settings in force.
    settings: PoolSettings,
    /// Servers of the file that the operator has taken out for good.
    removed: Vec<ServerKind>,
}

/// A server with what this pool says of it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) server: Arc<Server>,
    pub(crate) weight: u32,
    /// The weight in the file: what was changed meanwhile holds until that changes.
    listed_weight: u32,
    pub(crate) priority: u8,
    zone: Option<String>,
    /// Its own, in place of the pool's.
    max_connections: Option<usize>,
    /// It stands in the zone of this Forebay.
    pub(crate) near: bool,
    owner: Owner,
}

/// Who decides whether a server is in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The configuration file.
    File,
    /// The operator, who added it while the pool worked; it stays until the next reload, or over
    /// reloads with `keep`.
    Operator {
        /// Whether it stays over reloads.
        keep: bool,
    },
    /// The program: an application process, or a back end that joined. Reloads leave it alone.
    Program,
}

/// A server to be added.
#[derive(Clone, Debug)]
pub struct NewServer {
    /// How connections to it come about.
    pub kind: ServerKind,
    /// Its share, relative to the others'; 0: none.
    pub weight: u32,
    /// See `priority` of a server in the file.
    pub priority: u8,
    /// Where it stands.
    pub zone: Option<String>,
    /// In place of the pool's.
    pub max_connections: Option<usize>,
    /// Who may take it out.
    pub owner: Owner,
}

/// A server and how it is in its pool.
#[derive(Clone, Debug)]
pub struct MemberState {
    /// The server.
    pub server: Arc<Server>,
    /// Its share, relative to the others'.
    pub weight: u32,
    /// Servers of a greater number are used only when none of a smaller one can be.
    pub priority: u8,
    /// Where it stands.
    pub zone: Option<String>,
    /// Who put it in.
    pub owner: Owner,
}

impl NewServer {
    /// One like any other, at `address`.
    pub fn at(address: ServerAddress, owner: Owner) -> Self {
        Self {
            kind: ServerKind::Listed(address),
            weight: 1,
            priority: 0,
            zone: None,
            max_connections: None,
            owner,
        }
    }
}

impl Member {
    fn new(server: Arc<Server>, new: &NewServer) -> Self {
        Self {
            server,
            weight: new.weight,
            listed_weight: new.weight,
            priority: new.priority,
            zone: new.zone.clone(),
            max_connections: new.max_connections,
            near: false,
            owner: new.owner,
        }
    }

    /// Whether it takes new requests, as far as operator and active checks say.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.server.order() == Order::Up
            && self.server.is_healthy()
            && self.weight > 0
            && !self.server.stands_for_others()
    }
}

impl Members {
    /// These, with what follows from them and from the pool's settings. `before` are those that
    /// they take the place of.
    fn new(mut list: Vec<Member>, settings: &PoolSettings, before: &Self) -> Self {
        for member in &mut list {
            member.near = member.zone.is_some() && member.zone == settings.zone;
            if matches!(member.server.kind(), ServerKind::Listed(_)) {
                let limit = member.max_connections.or(settings.max_connections);
                let limit = limit.map_or(u64::MAX, |limit| limit as u64);
                member.server.limit.store(limit, Relaxed);
            }
        }
        let by_hash = matches!(settings.balance, Balance::Hash { .. });
        let points = list
            .iter()
            .map(|member| (&**member.server.label(), member.weight));
        let stays = |server: &Server| list.iter().any(|member| member.server.id == server.id);
        let gone = before.list.iter().filter(|member| !stays(&member.server));
        let leaving = gone.map(|member| Arc::downgrade(&member.server));
        let still = before.leaving.iter().filter(|server| {
            server
                .upgrade()
                .is_some_and(|server| server.active() > 0 && !stays(&server))
        });
        Self {
            ring: if by_hash {
                Ring::new(points)
            } else {
                Ring::default()
            },
            gated: list.iter().any(|member| member.server.shares_connections()),
            leaving: leaving.chain(still.cloned()).collect(),
            list,
        }
    }

    /// Requests that were given to them so far.
    pub(crate) fn requests(&self) -> u64 {
        self.list
            .iter()
            .map(|member| member.server.stats().requests())
            .sum()
    }

    /// One that is leaving and has requests under way, to be the same again. Not one that dials in:
    /// what it may be asked is what connections it has opened, and those of its older self are not
    /// the new one's.
    fn returning(&self, kind: &ServerKind) -> Option<Arc<Server>> {
        if matches!(kind, ServerKind::DialedIn(_)) {
            return None;
        }
        let leaving = self.leaving.iter().filter_map(Weak::upgrade);
        leaving
            .into_iter()
            .find(|server| server.kind() == kind && server.active() > 0)
    }
}

impl Core {
    /// Takes over what a configuration says. `started_ms` is when servers that are new have come;
    /// 0: with the program.
    pub(crate) fn configure(&self, settings: &PoolSettings, started_ms: u64) {
        let mut changing = self.changing.lock();
        changing.settings.clone_from(settings);
        let is_listed = |kind: &ServerKind| {
            let mut listed = settings.servers.iter();
            listed.any(|listed| matches!(kind, ServerKind::Listed(at) if *at == listed.address))
        };
        changing.removed.retain(is_listed);
        let before = self.members.load_full();
        let mut old: Vec<&Member> = before.list.iter().collect();
        let mut list = Vec::new();
        for (number, listed) in settings.servers.iter().enumerate() {
            let new = NewServer {
                weight: listed.weight,
                priority: listed.priority,
                zone: listed.zone.clone(),
                max_connections: listed.max_connections,
                ..NewServer::at(listed.address.clone(), Owner::File)
            };
            if changing.removed.contains(&new.kind) {
                continue;
            }
            let known = old
                .iter()
                .position(|member| *member.server.kind() == new.kind);
            let known = known.map(|at| old.swap_remove(at));
            let server = match known {
                Some(member) => Arc::clone(&member.server),
                None => self.arrive(&before, &new, started_ms, (number, settings.servers.len())),
            };
            let mut member = Member::new(server, &new);
            if let Some(known) = known.filter(|known| known.listed_weight == new.weight) {
                member.weight = known.weight;
            }
            list.push(member);
        }
        let stays = |member: &&&Member| {
            matches!(
                member.owner,
                Owner::Program | Owner::Operator { keep: true }
            )
        };
        list.extend(old.iter().filter(stays).map(|member| (*member).clone()));
        self.take_over(&before, list, settings);
        drop(changing);
        self.dispatch();
    }

    /// A server that comes as the `number`th of `count`.
    fn arrive(
        &self,
        before: &Members,
        new: &NewServer,
        at_ms: u64,
        (number, count): (usize, usize),
    ) -> Arc<Server> {
        let server = before
            .returning(&new.kind)
            .unwrap_or_else(|| Arc::new(Server::new(new.kind.clone())));
        server.set_order(Order::Up);
        server.came(at_ms);
        let first = round_robin::first_pass(u64::from(new.weight) * 1000, number, count);
        server.pass.store(self.virtual_now() + first, Relaxed);
        server
    }

    fn take_over(&self, before: &Members, list: Vec<Member>, settings: &PoolSettings) {
        let after = Arc::new(Members::new(list, settings, before));
        self.members.store(Arc::clone(&after));
        let gone = before.list.iter().filter(|old| {
            !after
                .list
                .iter()
                .any(|member| member.server.id == old.server.id)
        });
        for member in gone {
            member.server.set_order(Order::Removed);
            member.server.clear_shelf();
            self.learned.forget(&member.server);
        }
    }
}

impl Pool {
    /// Puts a server into the pool; requests that wait are given to it at once.
    ///
    /// # Errors
    /// One with the same address, or name, is there already: that one, as it is.
    pub fn add(&self, new: &NewServer) -> Result<Arc<Server>, Arc<Server>> {
        let mut changing = self.core.changing.lock();
        changing.removed.retain(|kind| *kind != new.kind);
        let before = self.core.members.load_full();
        if let Some(there) = before
            .list
            .iter()
            .find(|member| *member.server.kind() == new.kind)
        {
            return Err(Arc::clone(&there.server));
        }
        let server = self.core.arrive(&before, new, crate::unix_ms(), (0, 1));
        if matches!(new.kind, ServerKind::DialedIn(_)) {
            // It takes as many requests as it has opened connections.
            server.limit.store(0, Relaxed);
        }
        let mut list = before.list.clone();
        list.push(Member::new(Arc::clone(&server), new));
        self.core.take_over(&before, list, &changing.settings);
        drop(changing);
        self.core.dispatch();
        Ok(server)
    }

    /// The server of this address or name.
    pub fn find(&self, label: &str) -> Option<Arc<Server>> {
        let members = self.core.members.load();
        let found = members
            .list
            .iter()
            .find(|member| **member.server.label() == *label);
        found.map(|member| Arc::clone(&member.server))
    }

    /// Takes a server out of the pool. Requests under way there go on; idle connections are closed.
    /// False: it was not in the pool.
    pub fn remove(&self, server: &Server) -> bool {
        self.change(|list| {
            let before = list.len();
            list.retain(|member| member.server.id != server.id);
            list.len() < before
        })
    }

    /// The same, and a reload does not bring it back, for as long as the file lists it.
    pub fn remove_for_good(&self, server: &Server) -> bool {
        let mut changing = self.core.changing.lock();
        if !changing.removed.contains(server.kind()) {
            changing.removed.push(server.kind().clone());
        }
        drop(changing);
        self.remove(server)
    }

    /// Takes over what `new` says of a server that was added with other words: its priority, zone and
    /// weight. A weight that the operator has changed holds until another one than before is said.
    /// False: it is not in the pool, or nothing is new.
    pub fn renew(&self, server: &Server, new: &NewServer) -> bool {
        self.change(|list| {
            let member = list.iter_mut().find(|member| member.server.id == server.id);
            let Some(member) = member else { return false };
            let same_weight = member.listed_weight == new.weight;
            if same_weight && member.priority == new.priority && member.zone == new.zone {
                return false;
            }
            if !same_weight {
                (member.weight, member.listed_weight) = (new.weight, new.weight);
            }
            member.priority = new.priority;
            member.zone.clone_from(&new.zone);
            true
        })
    }

    /// Changes a server's share; 0: it gets no new requests. False: it is not in the pool.
    pub fn set_weight(&self, server: &Server, weight: u32) -> bool {
        self.change(|list| {
            let member = list.iter_mut().find(|member| member.server.id == server.id);
            member.map(|member| member.weight = weight).is_some()
        })
    }

    /// Changes the requests that a server may be working on at once; `None`: as the pool says.
    /// False: it is not in the pool.
    pub fn set_max_connections(&self, server: &Server, most: Option<usize>) -> bool {
        self.change(|list| {
            let member = list.iter_mut().find(|member| member.server.id == server.id);
            member.map(|member| member.max_connections = most).is_some()
        })
    }

    /// Says that a server is up, is drained, is down, or is leaving. To take it out,
    /// [`Pool::remove`] it. One that is leaving, or gone, stays so.
    pub fn set_order(&self, server: &Server, order: Order) {
        if matches!(server.order(), Order::Leaving | Order::Removed) || order == Order::Removed {
            return;
        }
        if server.order() != Order::Up && order == Order::Up {
            server.came(crate::unix_ms());
        }
        server.set_order(order);
        self.core.dispatch();
    }

    /// Says what active checks found. One that comes back gets its share slowly, where the pool
    /// says so, and its failures are forgotten.
    pub fn set_healthy(&self, server: &Server, healthy: bool) {
        if healthy && !server.is_healthy() {
            server.passive.answered();
            server.came(crate::unix_ms());
        }
        server.set_healthy(healthy);
        self.core.dispatch();
    }

    /// Hands in a connection that a server has opened, and gives it to who waits. It is registered
    /// with the event loop of the worker whose `local` it is; others take it over when they need it.
    pub fn supply(&self, local: &Local, server: &Arc<Server>, stream: Stream) {
        server.limit.fetch_add(1, Relaxed);
        if local.shelve_new(server, self.way, stream, crate::unix_ms()) {
            self.core.dispatch();
        } else {
            server.lose_connection();
        }
    }

    /// All members and how they are, for the administration.
    pub fn members(&self) -> Vec<MemberState> {
        let members = self.core.members.load();
        let state = |member: &Member| MemberState {
            server: Arc::clone(&member.server),
            weight: member.weight,
            priority: member.priority,
            zone: member.zone.clone(),
            owner: member.owner,
        };
        members.list.iter().map(state).collect()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Member>) -> bool) -> bool {
        let changing = self.core.changing.lock();
        let before = self.core.members.load_full();
        let mut list = before.list.clone();
        let changed = change(&mut list);
        if changed {
            self.core.take_over(&before, list, &changing.settings);
        }
        drop(changing);
        self.core.dispatch();
        changed
    }
}

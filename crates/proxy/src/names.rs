//! Names of servers, kept up to date beside the workers: asked for when they come, and again when
//! what was answered expires.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_config::settings::ServerAddress;
use forebay_names::{Names, Service};
use forebay_upstream::{MemberState, Name, NewServer, Owner, Pool, Server};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How often it is looked which names are due.
const LOOK: Duration = Duration::from_secs(1);
/// A question that has no answer after so long counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a failure it is asked again so soon.
const AGAIN: Duration = Duration::from_secs(2);

/// What names there are, and who is asked.
pub(crate) struct Asked {
    pub(crate) pools: Vec<Arc<Pool>>,
    /// DNS servers; none: the system's.
    pub(crate) resolvers: Vec<SocketAddr>,
}

/// The thread that asks. It ends when there is nothing to ask about any more.
pub(crate) struct Resolver {
    orders: mpsc::UnboundedSender<oneshot::Sender<Vec<String>>>,
}

impl Resolver {
    /// `asked` returns nothing when it is over.
    pub(crate) fn start(asked: impl Fn() -> Option<Asked> + Send + 'static) -> io::Result<Self> {
        let (orders, received) = mpsc::unbounded_channel();
        let event_loop = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("resolver".into())
            .spawn(move || event_loop.block_on(run(asked, received)))?;
        Ok(Self { orders })
    }

    /// Waits until every name was asked for once. Returns what failed.
    pub(crate) fn settle(&self) -> Vec<String> {
        let (done, waiting) = oneshot::channel();
        // Where the thread has ended, nobody serves anybody any more.
        let _ = self.orders.send(done);
        waiting.blocking_recv().unwrap_or_default()
    }
}

async fn run(
    asked: impl Fn() -> Option<Asked>,
    mut orders: mpsc::UnboundedReceiver<oneshot::Sender<Vec<String>>>,
) {
    let mut known = Known::default();
    loop {
        let order = match timeout(LOOK, orders.recv()).await {
            Ok(None) => return,
            Ok(Some(order)) => Some(order),
            Err(_) => None,
        };
        let Some(asked) = asked() else { return };
        let failed = known.round(&asked).await;
        if let Some(order) = order {
            let _ = order.send(failed);
        }
    }
}

/// What was answered so far.
#[derive(Default)]
struct Known {
    names: Option<(Vec<SocketAddr>, Arc<Names>)>,
    /// By the server's address in memory, which it keeps as long as it is held here.
    entries: HashMap<usize, Entry>,
}

struct Entry {
    /// The pool with the settings of the last answer.
    pool: Arc<Pool>,
    server: Arc<Server>,
    due: Instant,
    is_failing: bool,
    /// Members that stand in a pool because a service's records name them.
    members: Vec<Arc<Server>>,
}

/// What came of one question.
enum Answer {
    Addresses(Vec<std::net::IpAddr>, Duration),
    Services(Vec<Service>, Duration),
    Nothing(String),
}

impl Known {
    /// Asks for all that is due, and for what came out of that. Returns what failed.
    async fn round(&mut self, asked: &Asked) -> Vec<String> {
        let names = match self.names(&asked.resolvers) {
            Ok(names) => names,
            Err(error) => return vec![format!("names cannot be asked for: {error}")],
        };
        let mut failed = self.ask(&names, asked).await;
        // The servers of a service have names of their own.
        failed.extend(self.ask(&names, asked).await);
        failed
    }

    fn names(&mut self, resolvers: &[SocketAddr]) -> Result<Arc<Names>, String> {
        if let Some((of, names)) = &self.names
            && of == resolvers
        {
            return Ok(Arc::clone(names));
        }
        let names = Arc::new(Names::new(resolvers)?);
        self.names = Some((resolvers.to_vec(), Arc::clone(&names)));
        Ok(names)
    }

    async fn ask(&mut self, names: &Arc<Names>, asked: &Asked) -> Vec<String> {
        let mut questions = JoinSet::new();
        let mut there = Vec::new();
        let now = Instant::now();
        for pool in &asked.pools {
            for server in pool
                .servers()
                .into_iter()
                .filter(|server| server.name().is_some())
            {
                let key = Arc::as_ptr(&server) as usize;
                there.push(key);
                if self.entries.get(&key).is_none_or(|entry| entry.due <= now) {
                    let (names, pool) = (Arc::clone(names), Arc::clone(pool));
                    questions.spawn(async move {
                        let answer = question(&names, &server).await;
                        (pool, server, answer)
                    });
                }
            }
        }
        self.entries.retain(|key, entry| {
            let stays = there.contains(key);
            if !stays {
                // The service is gone, and with it the servers it stood for.
                entry
                    .members
                    .iter()
                    .for_each(|gone| remove(&entry.pool, gone));
            }
            stays
        });
        let mut failed = Vec::new();
        while let Some(done) = questions.join_next().await {
            if let Ok((pool, server, answer)) = done {
                failed.extend(self.take(&pool, server, answer));
            }
        }
        failed
    }

    /// Takes an answer over. Returns what failed.
    fn take(&mut self, pool: &Arc<Pool>, server: Arc<Server>, answer: Answer) -> Option<String> {
        let key = Arc::as_ptr(&server) as usize;
        let entry = self.entries.entry(key).or_insert_with(|| Entry {
            pool: Arc::clone(pool),
            server,
            due: Instant::now(),
            is_failing: false,
            members: Vec::new(),
        });
        entry.pool = Arc::clone(pool);
        let server = &entry.server;
        let (holds, error) = match answer {
            Answer::Addresses(found, holds) => {
                if !found.is_empty() {
                    server.set_addresses(&found);
                }
                (
                    holds,
                    found
                        .is_empty()
                        .then(|| "the name has no address".to_owned()),
                )
            }
            Answer::Services(found, holds) => {
                replace(pool, server, &mut entry.members, &found);
                (
                    holds,
                    found
                        .is_empty()
                        .then(|| "no server offers the service".to_owned()),
                )
            }
            // What was known before holds on.
            Answer::Nothing(error) => (AGAIN, Some(error)),
        };
        entry.due = Instant::now() + holds;
        let was_failing = std::mem::replace(&mut entry.is_failing, error.is_some());
        let failed = error.map(|error| format!("cannot resolve {}: {error}", server.label()));
        match &failed {
            Some(failed) if !was_failing => tracing::warn!(pool = %pool.name, "{failed}"),
            None if was_failing => {
                tracing::info!(pool = %pool.name, server = %server.label(), "the name resolves again");
            }
            _ => {}
        }
        failed
    }
}

async fn question(names: &Names, server: &Server) -> Answer {
    let asking = async {
        Ok(match server.name() {
            Some(Name::Host(host)) => {
                let found = names.addresses(host).await?;
                Answer::Addresses(found.items, found.valid_for)
            }
            Some(Name::Service(service)) => {
                let found = names.services(service).await?;
                Answer::Services(found.items, found.valid_for)
            }
            None => Answer::Addresses(Vec::new(), PATIENCE),
        })
    };
    match timeout(PATIENCE, asking).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Answer::Nothing(error),
        Err(_) => Answer::Nothing(format!("no answer within {PATIENCE:?}")),
    }
}

/// Puts the servers of a service into the pool, and takes out those that are none any more.
fn replace(pool: &Pool, template: &Server, members: &mut Vec<Arc<Server>>, found: &[Service]) {
    let state = pool.members();
    let state = state
        .iter()
        .find(|member| std::ptr::eq(&*member.server, template));
    let Some(state) = state else { return };
    let mut priorities: Vec<u16> = found.iter().map(|service| service.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let mut stay: Vec<Arc<Server>> = Vec::new();
    for service in found {
        let address = ServerAddress::Tcp {
            host: service.host.clone(),
            port: service.port,
        };
        let rank = priorities
            .iter()
            .filter(|other| **other < service.priority)
            .count();
        let new = NewServer {
            // A weight of 0 means as little as possible, not nothing.
            weight: u32::from(service.weight).max(1),
            priority: state.priority.saturating_add(rank.min(254) as u8).min(254),
            zone: state.zone.clone(),
            ..NewServer::at(address, Owner::Program)
        };
        match pool.add(&new) {
            Ok(server) => stay.push(server),
            Err(there) if members.iter().any(|member| Arc::ptr_eq(member, &there)) => {
                pool.renew(&there, &new);
                stay.push(there);
            }
            // It is listed beside the service.
            Err(_) => {}
        }
    }
    for gone in members
        .iter()
        .filter(|member| !stay.iter().any(|stays| Arc::ptr_eq(stays, member)))
    {
        remove(pool, gone);
    }
    *members = stay;
}

/// Takes a server out that stood in for a service, unless it is listed by now.
fn remove(pool: &Pool, server: &Arc<Server>) {
    let is_ours = |member: &MemberState| {
        Arc::ptr_eq(&member.server, server) && member.owner == Owner::Program
    };
    if pool.members().iter().any(is_ours) {
        pool.remove(server);
    }
}

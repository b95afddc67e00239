//! The server under test, with one worker, in this process.

use std::net::SocketAddr;

use forebay_config::settings::{
    KeyPart, ListenAddress, Log, LogTarget, Pool, PoolServer, ServerAddress, Service, Settings,
    Site,
};
use forebay_proxy::Server;

use crate::origin::Origin;

/// Settings with one site, which `origin` answers for.
pub fn settings(origin: &Origin) -> Settings {
    let mut settings = Settings::default();
    settings.server.workers = 1;
    settings.cache.policy.key = vec![KeyPart::Path];
    settings.listen = vec![ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))];
    let server = ServerAddress::Tcp {
        host: origin.address.ip().to_string(),
        port: origin.address.port(),
    };
    settings.pools.insert(
        "origin".into(),
        Pool {
            servers: vec![PoolServer::at(server)],
            ..Pool::default()
        },
    );
    settings.sites.push(Site {
        name: "all".into(),
        hosts: Vec::new(),
        service: Service {
            pool: Some("origin".into()),
            ..Service::default()
        },
        methods: Vec::new(),
        policy: settings.cache.policy.clone(),
        paths: Vec::new(),
    });
    settings
}

/// An access log to a file, with no more buffer than is there from the start.
pub fn log_to(path: std::path::PathBuf) -> Log {
    Log {
        access: LogTarget::File(path),
        buffer_bytes: 1 << 20,
        ..Log::default()
    }
}

/// Starts a server; the second value is where it listens.
pub fn start(settings: Settings) -> (Server, SocketAddr) {
    let server = Server::start(settings, Vec::new()).unwrap();
    let address = match server.addresses().first() {
        Some(ListenAddress::Tcp(address)) => *address,
        other => panic!("it listens on {other:?}"),
    };
    (server, address)
}

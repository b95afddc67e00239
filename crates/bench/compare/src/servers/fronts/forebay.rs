//! Forebay before an application: with each limit of connections, over FastCGI, and joined.

use super::{
    BACKS, FASTCGI, LIMITS, PROCESSES, before_php, before_rack, limit_name, limit_words, members,
};
use crate::servers::{Companion, Listens, Program, Requirement, Role, Server, apps};

pub(super) fn servers() -> Vec<Server> {
    let server = |name: String, about: String, application: &str| {
        let config = include_str!("../../templates/front-forebay.toml");
        Server::new(
            &format!("forebay-{name}"),
            &format!("Forebay, {about}"),
            Role::Front,
            Program::Forebay,
        )
        .file("forebay.toml", config.replace("{application}", application))
        .arguments("serve -c {dir}/forebay.toml")
        .version("--version")
    };
    let limits = LIMITS.into_iter().flat_map(|limit| {
        BACKS.map(|(name, back)| {
            let about = format!("10 × {name}, {}", limit_words(limit));
            let pool = forebay_pool(limit);
            before_rack(
                server(format!("{}-{name}", limit_name(limit)), about, &pool),
                back(),
            )
        })
    });
    let fastcgi = FASTCGI.map(|(name, listens)| {
        let place = match listens {
            Listens::Port => "127.0.0.1:{php_1}",
            Listens::Socket | Listens::Nowhere => "unix:{php_1}",
        };
        let about = format!("10 processes of PHP over FastCGI ({name})");
        let site = FOREBAY_PHP.replace("{place}", place);
        let mut server = server(format!("fcgi-{name}"), about, &site);
        server
            .requires
            .push(Requirement::Understood(FOREBAY_PHP_TRIAL));
        before_php(server, listens)
    });
    let mut dial_in = server(
        "dial-in-thin".into(),
        "10 × thin that connect to it".into(),
        FOREBAY_DIAL_IN,
    );
    dial_in
        .requires
        .push(Requirement::Understood(FOREBAY_DIAL_IN_TRIAL));
    let mut dial_in = before_rack(dial_in, apps::thin());
    let join = "join 127.0.0.1:{port} --pool app --local 127.0.0.1:{peer} --token compare";
    dial_in.beside.push(
        Companion::of("join", Program::Forebay)
            .listens(Listens::Nowhere)
            .times(PROCESSES)
            .arguments(join),
    );
    limits.chain(fastcgi).chain([dial_in]).collect()
}

fn forebay_pool(limit: Option<u32>) -> String {
    let limit = limit.map_or_else(|| "\"unlimited\"".into(), |limit| limit.to_string());
    format!(
        "[pool.app]\nservers = [\n{}\n]\nbalance = \"least_connections\"\nmax_connections = {limit}\n\n[site.all]\nhosts = [\"*\"]\npool = \"app\"\n\
         pass = true",
        members("    \"127.0.0.1:{back_{n}}\",")
    )
}

const FOREBAY_PHP: &str = "[site.all]
hosts = [\"*\"]
root = \"{dir}/app\"
php = \"{place}\"
pass = true";

/// What a version with FastCGI understands.
const FOREBAY_PHP_TRIAL: &str = "[[listen]]
address = \"127.0.0.1:8080\"

[site.all]
hosts = [\"*\"]
root = \"{dir}\"
php = \"127.0.0.1:9000\"
pass = true";

/// What a version that is joined understands.
const FOREBAY_DIAL_IN_TRIAL: &str = "[[listen]]
address = \"127.0.0.1:8080\"

[pool.app]
join_tokens = [\"compare\"]

[site.all]
pool = \"app\"";

/// Servers come by themselves, and get one request at a time.
const FOREBAY_DIAL_IN: &str = "[pool.app]
join_tokens = [\"compare\"]
balance = \"least_connections\"
max_connections = 1

[site.all]
hosts = [\"*\"]
pool = \"app\"
pass = true";

//! Servers in front of an application of ten processes, each with the ways of
//! reaching it that it has.

use super::apps::{self, PHP, PROCESSES, RACK};
use super::beside::{Companion, Listens, Requirement};
use super::{Program, Role, Server};

/// What is behind a front that speaks HTTP to it: its name, and what it is.
const BACKS: [(&str, fn() -> Companion); 2] = [("thin", apps::thin), ("puma", apps::puma)];
/// How FastCGI is reached.
const FASTCGI: [(&str, Listens); 2] = [("tcp", Listens::Port), ("socket", Listens::Socket)];
/// Connections to each process of the application at once; the rest wait in the front.
const LIMITS: [Option<u32>; 3] = [Some(10), Some(1), None];

/// All of them.
pub(super) fn servers() -> Vec<Server> {
    let mut servers = forebay();
    servers.extend(nginx());
    servers.extend(haproxy());
    servers.extend(lighttpd());
    servers.extend(apache());
    servers
}

/// Puts the application behind a server of the operator's own; `None` when `back` names no way of reaching it.
pub(super) fn before(server: Server, back: &str) -> Option<Server> {
    let mut server = match back {
        "php-tcp" => before_php(server, Listens::Port),
        "php-socket" => before_php(server, Listens::Socket),
        _ => {
            let (_, companion) = BACKS.into_iter().find(|(name, _)| *name == back)?;
            before_rack(server, companion())
        }
    };
    server.role = Role::Front;
    Some(server)
}

fn front(name: String, about: String, program: &'static str, package: &'static str) -> Server {
    let program = Program::Packaged { program, package };
    Server::new(&name, &about, Role::Front, program)
}

/// With ten processes that speak HTTP behind it.
fn before_rack(server: Server, back: Companion) -> Server {
    let mut server = server.file(RACK.0, RACK.1);
    server.beside.push(back);
    server
}

/// With ten processes that speak FastCGI behind it.
fn before_php(server: Server, listens: Listens) -> Server {
    let mut server = server
        .file(PHP.0, PHP.1)
        .file("php-fpm.conf", apps::php_config(listens, PROCESSES, ""));
    server.beside.push(apps::php(listens));
    server.account = Some("www-data");
    server
}

/// A line for each process of the application; `{n}` is its number.
fn members(line: &str) -> String {
    let numbers = 1..=PROCESSES;
    let lines: Vec<String> = numbers
        .map(|n| line.replace("{n}", &n.to_string()))
        .collect();
    lines.join("\n")
}

fn limit_name(limit: Option<u32>) -> String {
    limit.map_or_else(|| "none".into(), |limit| limit.to_string())
}

fn limit_words(limit: Option<u32>) -> String {
    match limit {
        Some(1) => "one connection to each process".into(),
        Some(limit) => format!("{limit} connections to each process"),
        None => "no limit of connections".into(),
    }
}

fn nginx() -> Vec<Server> {
    let server = |name: &str, about: &str, upstream: &str, location: &str| {
        let config = include_str!("../templates/front-nginx.conf")
            .replace("{upstream}", upstream)
            .replace("{location}", location);
        front(format!("nginx-{name}"), format!("nginx, {about}"), "nginx", "nginx-light")
            .file("nginx.conf", config)
            .arguments("-c {dir}/nginx.conf -p {dir} -e {dir}/error.log")
            .version("-v")
    };
    let upstream = format!(
        "    upstream application {{\n        least_conn;\n{}\n        keepalive 64;\n    }}",
        members("        server 127.0.0.1:{back_{n}};")
    );
    let proxy = "        location / {
            proxy_pass http://application;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $host;
        }";
    let http = BACKS.map(|(name, back)| {
        let about = format!("10 × {name}, the least busy first");
        before_rack(server(name, &about, &upstream, proxy), back())
    });
    let fastcgi = FASTCGI.map(|(name, listens)| {
        let about = format!("10 processes of PHP over FastCGI ({name})");
        let pass = fastcgi_pass(listens);
        before_php(server(&format!("fcgi-{name}"), &about, "", &pass), listens)
    });
    http.into_iter().chain(fastcgi).collect()
}

fn fastcgi_pass(listens: Listens) -> String {
    let place = match listens {
        Listens::Port => "127.0.0.1:{php_1}",
        Listens::Socket | Listens::Nowhere => "unix:{php_1}",
    };
    format!(
        "        location / {{
            fastcgi_pass {place};
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME {{dir}}/app$fastcgi_script_name;
        }}"
    )
}

fn haproxy() -> Vec<Server> {
    let server = |limit: Option<u32>, name: &str, back: Companion| {
        let maxconn = limit.map_or_else(String::new, |limit| format!(" maxconn {limit}"));
        let line = format!("    server back{{n}} 127.0.0.1:{{back_{{n}}}}{maxconn}");
        let config = include_str!("../templates/front-haproxy.cfg");
        let server = front(
            format!("haproxy-{}-{name}", limit_name(limit)),
            format!("HAProxy, 10 × {name}, {}", limit_words(limit)),
            "haproxy",
            "haproxy",
        )
        .file("haproxy.cfg", config.replace("{members}", &members(&line)))
        .arguments("-db -f {dir}/haproxy.cfg")
        .version("-v");
        before_rack(server, back)
    };
    let limits = LIMITS.into_iter();
    limits
        .flat_map(|limit| BACKS.map(|(name, back)| server(limit, name, back())))
        .collect()
}

fn lighttpd() -> Vec<Server> {
    let server = |name: &str, about: &str, module: &str, handing_on: &str| {
        let config = include_str!("../templates/front-lighttpd.conf")
            .replace("{module}", module)
            .replace("{handing_on}", handing_on);
        front(format!("lighttpd-{name}"), format!("lighttpd, {about}"), "lighttpd", "lighttpd")
            .file("lighttpd.conf", config)
            .arguments("-D -f {dir}/lighttpd.conf")
            .version("-v")
    };
    let proxy = format!(
        "proxy.balance = \"least-connection\"\nproxy.server = ( \"\" => (\n{}\n) )",
        members("    ( \"host\" => \"127.0.0.1\", \"port\" => {back_{n}} ),")
    );
    let http = BACKS.map(|(name, back)| {
        let about = format!("10 × {name}, the least busy first");
        before_rack(server(name, &about, "mod_proxy", &proxy), back())
    });
    let fastcgi = FASTCGI.map(|(name, listens)| {
        let place = match listens {
            Listens::Port => "\"host\" => \"127.0.0.1\", \"port\" => {php_1}",
            Listens::Socket | Listens::Nowhere => "\"socket\" => \"{php_1}\"",
        };
        let about = format!("10 processes of PHP over FastCGI ({name})");
        let pass = format!("fastcgi.server = ( \".php\" => (( {place} )) )");
        before_php(
            server(&format!("fcgi-{name}"), &about, "mod_fastcgi", &pass),
            listens,
        )
    });
    http.into_iter().chain(fastcgi).collect()
}

fn apache() -> Vec<Server> {
    let server = |name: &str, about: &str, part: &str| {
        // A request that waits for the application occupies a thread; with fewer than the most clients that come,
        // Apache closes connections that wait for their next request, and some of these were just sent one.
        let config = include_str!("../templates/apache.conf")
            .replace("ServerLimit {cores}", "ServerLimit 5")
            .replace("StartServers {cores}", "StartServers 5")
            .replace("{apache_threads}", "1280")
            .replace("one process a core", "five processes")
            .replace("{part}", part);
        let mut server = front(
            format!("apache-{name}"),
            format!("Apache httpd, {about}"),
            "apache2",
            "apache2",
        )
        .file("apache.conf", config)
        .file("mime.types", "text/html html\n")
        .arguments("-D FOREGROUND -f {dir}/apache.conf")
        .version("-v");
        server.account = Some("www-data");
        server
    };
    let balancer = format!(
        "{APACHE_BALANCER}<Proxy balancer://application>\n{}\n    ProxySet lbmethod=bybusyness\n</Proxy>\n\
         ProxyPass / balancer://application/",
        members("    BalancerMember http://127.0.0.1:{back_{n}}")
    );
    let http = BACKS.map(|(name, back)| {
        let about = format!("10 × {name}, the least busy first");
        before_rack(server(name, &about, &balancer), back())
    });
    let fastcgi = FASTCGI.map(|(name, listens)| {
        let place = match listens {
            Listens::Port => "fcgi://127.0.0.1:{php_1}",
            Listens::Socket | Listens::Nowhere => "unix:{php_1}|fcgi://localhost",
        };
        let about = format!("10 processes of PHP over FastCGI ({name})");
        let part = APACHE_FASTCGI.replace("{place}", place);
        before_php(server(&format!("fcgi-{name}"), &about, &part), listens)
    });
    let mut passenger = server(
        "passenger",
        "Passenger with 10 processes; its processor time and memory include theirs",
        APACHE_PASSENGER,
    )
    .file(RACK.0, RACK.1)
    .file("app/public/robots.txt", "");
    passenger.requires.push(Requirement::File {
        path: "/usr/lib/apache2/modules/mod_passenger.so",
        package: "libapache2-mod-passenger",
    });
    http.into_iter().chain(fastcgi).chain([passenger]).collect()
}

const APACHE_BALANCER: &str = "LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule slotmem_shm_module {modules}/mod_slotmem_shm.so
LoadModule proxy_balancer_module {modules}/mod_proxy_balancer.so
LoadModule lbmethod_bybusyness_module {modules}/mod_lbmethod_bybusyness.so
";

const APACHE_FASTCGI: &str = "LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_fcgi_module {modules}/mod_proxy_fcgi.so
DocumentRoot {dir}/app
<Directory {dir}/app>
    Require all granted
    AllowOverride None
    SetHandler \"proxy:{place}\"
</Directory>";

const APACHE_PASSENGER: &str = "LoadModule passenger_module {modules}/mod_passenger.so
PassengerRoot /usr/lib/ruby/vendor_ruby/phusion_passenger/locations.ini
PassengerDefaultRuby /usr/bin/ruby
PassengerInstanceRegistryDir {dir}
PassengerLogFile {dir}/passenger.log
PassengerLogLevel 1
PassengerDefaultUser {user}
PassengerAppEnv production
PassengerMaxPoolSize 10
PassengerMinInstances 10
PassengerMaxRequestQueueSize 0
PassengerPoolIdleTime 0
PassengerDisableSecurityUpdateCheck on
PassengerDisableAnonymousTelemetry on
DocumentRoot {dir}/app/public
<Directory {dir}/app/public>
    Require all granted
    AllowOverride None
    Options -MultiViews
</Directory>";

fn forebay() -> Vec<Server> {
    let server = |name: String, about: String, application: &str| {
        let config = include_str!("../templates/front-forebay.toml");
        Server::new(&format!("forebay-{name}"), &format!("Forebay, {about}"), Role::Front, Program::Forebay)
            .file("forebay.toml", config.replace("{application}", application))
            .arguments("serve -c {dir}/forebay.toml")
            .version("--version")
    };
    let limits = LIMITS.into_iter().flat_map(|limit| {
        BACKS.map(|(name, back)| {
            let about = format!("10 × {name}, {}", limit_words(limit));
            let pool = forebay_pool(limit);
            before_rack(server(format!("{}-{name}", limit_name(limit)), about, &pool), back())
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
        server.requires.push(Requirement::Understood(FOREBAY_PHP_TRIAL));
        before_php(server, listens)
    });
    let mut dial_in = server(
        "dial-in-thin".into(),
        "10 × thin that connect to it".into(),
        FOREBAY_DIAL_IN,
    );
    dial_in.requires.push(Requirement::Understood(FOREBAY_DIAL_IN));
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
        "[pool.app]\nservers = [\n{}\n]\nmax_connections = {limit}\n\n[site.all]\nhosts = [\"*\"]\npool = \"app\"\n\
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

/// Servers come by themselves.
const FOREBAY_DIAL_IN: &str = "[pool.app]
join_tokens = [\"compare\"]

[site.all]
hosts = [\"*\"]
pool = \"app\"
pass = true";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config(name: &str) -> String {
        let server = servers().into_iter().find(|s| s.name == name).unwrap();
        server.files.iter().map(|f| f.text.as_str()).collect()
    }

    #[test]
    fn limits_are_in_the_configuration_of_those_that_have_them() {
        assert!(config("haproxy-10-puma").contains("server back10 127.0.0.1:{back_10} maxconn 10"));
        assert!(!config("haproxy-none-thin").contains(" maxconn 1"));
        assert!(config("forebay-1-thin").contains("max_connections = 1\n"));
        assert!(config("forebay-none-thin").contains("max_connections = \"unlimited\""));
    }

    #[test]
    fn each_front_knows_every_process_of_what_is_behind_it() {
        for server in servers() {
            let text: String = server.files.iter().map(|f| f.text.as_str()).collect();
            let Some(back) = server.beside.first() else {
                continue;
            };
            if back.listens == Listens::Port && server.beside.len() == 1 {
                for n in 1..=back.count {
                    let place = format!("{{{}_{n}}}", back.name);
                    assert!(text.contains(&place), "{}: {place}", server.name);
                }
            }
        }
    }
}

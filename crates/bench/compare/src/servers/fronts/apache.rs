//! Apache's httpd before an application: HTTP, FastCGI, and Passenger, which runs it itself.

use super::{BACKS, FASTCGI, RACK, before_php, before_rack, front, members};
use crate::servers::{Listens, Requirement, Server};

pub(super) fn servers() -> Vec<Server> {
    let server = |name: &str, about: &str, part: &str| {
        // A request that waits for the application occupies a thread; with fewer than the most clients that come,
        // Apache closes connections that wait for their next request, and some of these were just sent one.
        let config = include_str!("../../templates/apache.conf")
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

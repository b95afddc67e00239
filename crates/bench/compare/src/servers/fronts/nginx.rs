//! nginx before an application: connections are kept to what speaks HTTP, and FastCGI.

use super::{BACKS, FASTCGI, before_php, before_rack, front, members};
use crate::servers::{Listens, Server};

pub(super) fn servers() -> Vec<Server> {
    let server = |name: &str, about: &str, upstream: &str, location: &str| {
        let config = include_str!("../../templates/front-nginx.conf")
            .replace("{upstream}", upstream)
            .replace("{location}", location);
        front(
            format!("nginx-{name}"),
            format!("nginx, {about}"),
            "nginx",
            "nginx-light",
        )
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

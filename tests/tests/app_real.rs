//! Real application servers as processes of Forebay: puma, thin, gunicorn, php-cgi.

use std::path::Path;

use forebay_tests::Forebay;
use forebay_tests::app::{self, lives, until};

const RACKUP: &str = "run lambda { |env| [200, { 'content-type' => 'text/plain' }, \
     [\"rack #{Process.pid} #{env['PATH_INFO']}\"]] }\n";

const WSGI: &str = "import os\ndef application(environ, start):\n    \
     start('200 OK', [('Content-Type', 'text/plain')])\n    \
     return [f\"wsgi {os.getpid()} {environ['PATH_INFO']}\".encode()]\n";

/// Starts `command` in a directory with `file`, and gets `/path` and an end from it.
#[track_caller]
fn serves(name: &str, (file, text): (&str, &str), lines: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), text).unwrap();
    let lines = format!(
        "directory = {:?}\nstop_timeout = \"5s\"\n{lines}",
        directory.path()
    );
    let mut forebay = Forebay::start_text(&app::config(&lines));
    for _ in 0..5 {
        let answer = forebay.get("/path");
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert!(
            answer.text().starts_with(expected),
            "{name}: {}",
            answer.text()
        );
        assert!(
            answer.text().ends_with("/path"),
            "{name}: {}",
            answer.text()
        );
    }
    let all = app::descendants(forebay.pid());
    forebay.stop();
    until("nothing of it lives", || !all.iter().any(|&pid| lives(pid)));
}

#[test]
fn puma_serves() {
    let lines = "command = \"puma --quiet --threads 1:4 --bind unix://{socket} config.ru\"\n\
         instances = 2\nmax_connections = 4\n";
    serves("puma", ("config.ru", RACKUP), lines, "rack ");
}

#[test]
fn puma_with_workers_of_its_own_serves() {
    let lines = "command = \"puma --workers 2 --bind tcp://127.0.0.1:{port} config.ru\"\n";
    serves("puma", ("config.ru", RACKUP), lines, "rack ");
}

#[test]
fn thin_serves() {
    let lines = "command = \"thin --socket {socket} --rackup config.ru start\"\nready = \"/\"\n";
    serves("thin", ("config.ru", RACKUP), lines, "rack ");
}

#[test]
fn gunicorn_serves_with_workers_of_its_own() {
    let lines = "command = \"gunicorn --workers 2 --bind unix:{socket} shop:application\"\nready = \"/up\"\n";
    serves("gunicorn", ("shop.py", WSGI), lines, "wsgi ");
}

#[test]
fn uwsgi_serves_by_its_own_protocol_and_by_scgi() {
    for (protocol, option) in [("uwsgi", "--socket"), ("scgi", "--scgi-socket")] {
        let lines = format!(
            "command = \"uwsgi --plugin python3 --need-app --die-on-term {option} {{socket}} --wsgi-file shop.py\"\n\
             protocol = {protocol:?}\n"
        );
        serves(protocol, ("shop.py", WSGI), &lines, "wsgi ");
    }
}

/// FastCGI in its oldest form: the socket is the program's standard input.
#[test]
fn php_cgi_finds_its_socket_as_its_standard_input() {
    php("command = \"php-cgi\"\nenvironment = { PHP_FCGI_CHILDREN = \"2\" }\n");
}

#[test]
fn php_cgi_listens_where_it_is_told() {
    php("command = \"php-cgi -b {socket}\"\n");
}

fn php(lines: &str) {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        "index.php",
        "<?php echo 'php ', $_SERVER['REQUEST_METHOD'];",
    );
    let text = app::config(&format!(
        "protocol = \"fastcgi\"\nstop_timeout = \"5s\"\n{lines}"
    )) + &format!("cgi_root = {:?}\n", root.path());
    let mut forebay = Forebay::start_text(&text);
    let answer = forebay.get("/index.php");
    assert_eq!((answer.status, answer.text().as_str()), (200, "php GET"));
    let all = app::descendants(forebay.pid());
    forebay.stop();
    until("nothing of it lives", || !all.iter().any(|&pid| lives(pid)));
}

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).unwrap();
}

//! The application that fronts stand before: one page, by ten processes that
//! do one request at a time, as Rack behind thin or puma, and as PHP behind FastCGI.

use super::Program;
use super::beside::{Companion, Listens};
use crate::command;

/// How many processes the application has.
pub(super) const PROCESSES: usize = 10;
/// Where the page is; fronts that hand on whatever is asked need the name, for FastCGI it is a file's.
pub(crate) const PAGE: &str = "/page.php";
/// Its length, whoever makes it.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The page for Rack, below a server's folder.
pub(super) const RACK: (&str, &str) = (
    "app/config.ru",
    include_str!("../../apps/frontend/config.ru"),
);
/// The page for PHP.
pub(super) const PHP: (&str, &str) = ("app/page.php", include_str!("../../apps/frontend/page.php"));

/// Ten processes of thin, an evented server.
pub(super) fn thin() -> Companion {
    Companion::new("back", "thin", "thin")
        .times(PROCESSES)
        .arguments(
            "start --address 127.0.0.1 --port {own} --rackup {dir}/app/config.ru --environment production --quiet",
        )
        .version("--version")
}

/// Ten processes of puma with one thread each.
pub(super) fn puma() -> Companion {
    Companion::new("back", "puma", "puma")
        .times(PROCESSES)
        .arguments("--bind tcp://127.0.0.1:{own} --threads 1:1 --environment production --quiet {dir}/app/config.ru")
        .version("--version")
}

/// PHP's FastCGI process manager.
pub(super) fn php(listens: Listens) -> Companion {
    let program = Program::Packaged {
        program: php_fpm(),
        package: "php-fpm",
    };
    Companion::of("php", program)
        .listens(listens)
        .arguments("--nodaemonize --fpm-config {dir}/php-fpm.conf")
        .version("-v")
}

/// Its configuration.
pub(super) fn php_config(listens: Listens, processes: usize, settings: &str) -> String {
    let template = include_str!("../templates/php-fpm.conf");
    let listen = match listens {
        Listens::Port => "127.0.0.1:{php_1}",
        Listens::Socket | Listens::Nowhere => "{php_1}",
    };
    template
        .replace("{php_1}", listen)
        .replace("{processes}", &processes.to_string())
        .replace("{settings}", settings)
}

/// Debian names the program for its version.
fn php_fpm() -> &'static str {
    const NAMES: [&str; 5] = [
        "php-fpm8.2",
        "php-fpm8.4",
        "php-fpm8.3",
        "php-fpm8.5",
        "php-fpm",
    ];
    let installed = NAMES.into_iter().find(|name| command::find(name).is_some());
    installed.unwrap_or(NAMES[0])
}

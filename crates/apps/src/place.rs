//! Where an application process listens, and how it is told: names in braces in its command and
//! its environment. Pure.

use std::path::{Path, PathBuf};

use forebay_config::settings::{App, Protocol, ServerAddress};

/// Where one process listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A Unix socket, which it makes itself.
    Socket(PathBuf),
    /// A port of 127.0.0.1.
    Port(u16),
    /// A Unix socket that it finds as its standard input, listening already: what FastCGI
    /// (section 2.2 of its specification) and SCGI programs expect of those who start them.
    Stdin(PathBuf),
}

/// Which kind of place an application's settings ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `{socket}` occurs.
    Socket,
    /// `{port}` occurs, or nothing does: HTTP servers look at the variable `PORT`.
    Port,
    /// Nothing occurs, and the protocol is not HTTP.
    Stdin,
}

impl Kind {
    /// What `app` asks for.
    pub(crate) fn of(app: &App) -> Self {
        let texts = || app.command.iter().chain(app.environment.values());
        let has = |name: &str| texts().any(|text| text.contains(name));
        match app.protocol {
            _ if has("{socket}") => Self::Socket,
            _ if has("{port}") => Self::Port,
            Protocol::Http => Self::Port,
            Protocol::FastCgi | Protocol::Scgi | Protocol::Uwsgi => Self::Stdin,
        }
    }
}

impl Place {
    /// As a server of a pool.
    pub(crate) fn address(&self) -> ServerAddress {
        match self {
            Self::Socket(path) | Self::Stdin(path) => ServerAddress::Unix(path.clone()),
            Self::Port(port) => ServerAddress::Tcp {
                host: "127.0.0.1".into(),
                port: *port,
            },
        }
    }

    /// The path of the socket.
    pub(crate) fn socket(&self) -> Option<&Path> {
        match self {
            Self::Socket(path) | Self::Stdin(path) => Some(path),
            Self::Port(_) => None,
        }
    }

    /// The program and its arguments.
    pub(crate) fn command(&self, app: &App, instance: u32) -> Vec<String> {
        let filled = app.command.iter().map(|text| self.fill(text, instance));
        filled.collect()
    }

    /// The variables: `SOCKET` or `PORT`, and `INSTANCE`; then what the settings say.
    pub(crate) fn environment(&self, app: &App, instance: u32) -> Vec<(String, String)> {
        let own = match self {
            Self::Socket(path) | Self::Stdin(path) => ("SOCKET", path.display().to_string()),
            Self::Port(port) => ("PORT", port.to_string()),
        };
        let mut variables = vec![
            (own.0.to_owned(), own.1),
            ("INSTANCE".to_owned(), instance.to_string()),
        ];
        let settings = app.environment.iter();
        variables.extend(settings.map(|(name, text)| (name.clone(), self.fill(text, instance))));
        variables
    }

    fn fill(&self, text: &str, instance: u32) -> String {
        let text = text.replace("{instance}", &instance.to_string());
        match self {
            Self::Socket(path) | Self::Stdin(path) => {
                text.replace("{socket}", &path.display().to_string())
            }
            Self::Port(port) => text.replace("{port}", &port.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(command: &[&str], protocol: Protocol) -> App {
        App {
            command: command.iter().map(|word| (*word).into()).collect(),
            protocol,
            ..App::default()
        }
    }

    #[test]
    fn the_names_that_occur_decide() {
        let http = Protocol::Http;
        assert_eq!(
            Kind::of(&app(&["puma", "-b", "unix://{socket}"], http)),
            Kind::Socket
        );
        assert_eq!(Kind::of(&app(&["thin", "-p", "{port}"], http)), Kind::Port);
        assert_eq!(Kind::of(&app(&["node", "server.js"], http)), Kind::Port);
        assert_eq!(Kind::of(&app(&["php-cgi"], Protocol::FastCgi)), Kind::Stdin);
        assert_eq!(
            Kind::of(&app(
                &["php-cgi", "-b", "127.0.0.1:{port}"],
                Protocol::FastCgi
            )),
            Kind::Port
        );
        let mut by_variable = app(&["server"], http);
        by_variable
            .environment
            .insert("BIND".into(), "unix:{socket}".into());
        assert_eq!(Kind::of(&by_variable), Kind::Socket);
    }

    #[test]
    fn names_are_replaced_in_command_and_environment() {
        let mut app = app(
            &["puma", "-b", "unix://{socket}", "-t{instance}"],
            Protocol::Http,
        );
        app.environment
            .insert("TAG".into(), "shop-{instance}".into());
        let place = Place::Socket("/run/s".into());
        assert_eq!(
            place.command(&app, 3),
            ["puma", "-b", "unix:///run/s", "-t3"]
        );
        let variables = place.environment(&app, 3);
        let has = |name: &str, value: &str| variables.contains(&(name.into(), value.into()));
        assert!(has("SOCKET", "/run/s") && has("INSTANCE", "3") && has("TAG", "shop-3"));
    }

    #[test]
    fn a_port_is_told_by_its_usual_variable_which_settings_may_override() {
        let mut app = app(&["node", "server.js"], Protocol::Http);
        app.environment.insert("PORT".into(), "tcp:{port}".into());
        let variables = Place::Port(4711).environment(&app, 1);
        let last = variables.iter().rev().find(|(name, _)| name == "PORT");
        assert_eq!(last.map(|(_, value)| value.as_str()), Some("tcp:4711"));
        assert_eq!(variables.first(), Some(&("PORT".into(), "4711".into())));
    }
}

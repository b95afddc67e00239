//! Which store a command talks to, from its options and the configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_config::settings::{ListenAddress, Session};
use forebay_session_client::{Address, Login, Target, Tls};

use super::args::StoreArgs;
use crate::configuration;
use crate::exit::Failure;

/// What a file says of a store.
#[derive(Debug, Default, PartialEq)]
struct Section {
    address: Option<Address>,
    user: Option<String>,
    token: Option<String>,
    has_tls: bool,
}

/// The store that the options name.
///
/// # Errors
/// When the file cannot be read, or it does not say which store is meant.
pub(super) fn of(args: &StoreArgs) -> Result<Target, Failure> {
    let section = match &args.config {
        None => Section::default(),
        Some(path) => in_file(path, args.store.as_deref())?,
    };
    let address = args.address.clone().or(section.address).unwrap_or_default();
    let token = args.token.clone().or(section.token);
    // An address that is given is not that of the file.
    let has_tls = args.tls || (section.has_tls && args.address.is_none());
    let tls = has_tls.then(|| tls(&address, args)).transpose()?;
    let user = args.user.clone().or(section.user);
    Ok(Target {
        login: token.map(|token| Login {
            user: user.unwrap_or_else(|| "forebay".into()),
            token,
        }),
        tls,
        patience: args.timeout,
        ..Target::new(address)
    })
}

fn tls(address: &Address, args: &StoreArgs) -> Result<Tls, Failure> {
    let pem = args.trust.read()?;
    Tls::new(address, pem.trust(), pem.identity()).map_err(Failure::Message)
}

/// What a file says of the store.
fn in_file(path: &Path, store: Option<&str>) -> Result<Section, Failure> {
    let settings = configuration::read_aloud(path)?.settings;
    let section = section(&settings.sessions, store);
    section.map_err(|words| Failure::message(format_args!("{}: {words}", path.display())))
}

fn section(stores: &BTreeMap<String, Session>, store: Option<&str>) -> Result<Section, String> {
    let names = || stores.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut all = stores.values();
    let section = match (store, all.next(), all.next()) {
        (_, None, _) => {
            return Err("there is no [session.NAME] in it; name the store with --address".into());
        }
        (Some(name), ..) => stores
            .get(name)
            .ok_or_else(|| format!("there is no [session.{name}] in it, only {}", names()))?,
        (None, Some(only), None) => only,
        (None, ..) => {
            return Err(format!(
                "it has several stores; name one with --store: {}",
                names()
            ));
        }
    };
    let first = section.addresses.first();
    let is_tcp = matches!(first, Some(ListenAddress::Tcp(_)));
    let address = first.map(ToString::to_string);
    Ok(Section {
        address: address.map(|address| address.parse()).transpose()?,
        user: section.user.clone(),
        token: section.token.clone(),
        has_tls: section.tls.is_some() && is_tcp,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str, store: Option<&str>) -> Result<Section, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("forebay.toml");
        std::fs::write(&path, text).unwrap();
        let settings = forebay_config::load(&path).unwrap().settings;
        section(&settings.sessions, store)
    }

    #[test]
    fn the_file_says_where_its_store_is_and_what_it_asks_for() {
        let one = "[session.web]\naddress = \"0.0.0.0:11311\"\ntoken = \"0123456789abcdef\"\n\
                   user = \"shop\"\ncertificate = \"/c\"\nkey = \"/k\"";
        let section = read(one, None).unwrap();
        assert_eq!(section.address.unwrap().to_string(), "127.0.0.1:11311");
        assert_eq!(section.token.unwrap(), "0123456789abcdef");
        assert_eq!(
            (section.user.as_deref(), section.has_tls),
            (Some("shop"), true)
        );
        let two = "[session.a]\naddress = [\"unix:/run/a\", \"0.0.0.0:5\"]\n\
                   certificate = \"/c\"\nkey = \"/k\"\n\
                   [session.b]\naddress = \"127.0.0.1:6\"";
        let section = read(two, Some("a")).unwrap();
        assert_eq!(section.address.unwrap().to_string(), "unix:/run/a");
        assert!(!section.has_tls);
    }

    #[test]
    fn a_file_that_does_not_say_which_store_names_them() {
        let two = "[session.a]\naddress = \"127.0.0.1:5\"\n[session.b]\naddress = \"127.0.0.1:6\"";
        let none = "[[listen]]\naddress = \"127.0.0.1:0\"\n[pool.a]\nservers = [\"127.0.0.1:1\"]";
        for (text, store, part) in [
            (two, None, "--store: a, b"),
            (two, Some("c"), "only a, b"),
            (none, None, "--address"),
        ] {
            let error = read(text, store).err().unwrap();
            assert!(error.contains(part), "{error}");
        }
    }
}

//! `forebay session import`: an export, PHP's files, a memcached or a Tokyo Tyrant, into a running
//! store.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_session_client::{
    Address, Error, Naming, Pattern, Php, Reader, Restored, SavePath, Stores, Target, Tyrant,
    each_item,
};

use super::args::{Handler, ImportArgs};
use super::items::seconds;
use super::{items, shown, tell, tell_unread};
use crate::commands::show;
use crate::exit::{Failure, Outcome};
use crate::out;

/// For a request that has a session of PHP's open to let it go.
const BUSY: Duration = Duration::from_secs(2);

/// What came out of a source, beside what became of it in the store.
#[derive(Default)]
struct Came {
    expired: u64,
    gone: u64,
    failed: u64,
    /// The export was not whole.
    damage: Option<Error>,
}

pub(super) fn import(target: &Target, args: &ImportArgs) -> Outcome {
    let mut told = 0;
    let mut refused = |key: &[u8], words: &str| {
        tell(
            &mut told,
            &format!("`{}` was not taken: {words}", shown(key)),
        );
    };
    let mut source = Source::open(target, args)?;
    let mut stores = Stores::connect(target, args.keep, &mut refused)?;
    let came = source.pour(&mut stores);
    // What was put in before an error stays there, and is told.
    let (restored, came) = match came {
        Ok(came) => (stores.finish()?, came),
        Err(error) => {
            let so_far = stores.restored();
            out::error_line(&format!("{}, then:", summary(&so_far, &Came::default())));
            return Err(error.into());
        }
    };
    out::line(&summary(&restored, &came));
    if let Some(error) = came.damage {
        return Err(error.into());
    }
    match restored.refused + came.failed {
        0 => Ok(()),
        left => Err(Failure::Message(format!("{} left out", items(left)))),
    }
}

/// Where items come from.
enum Source {
    Export(PathBuf, Box<dyn Read>, Pattern, bool),
    Php(Php),
    Memcached(Target, Pattern),
    Tyrant(Tyrant, Pattern, Option<u32>),
}

impl Source {
    fn open(target: &Target, args: &ImportArgs) -> Result<Self, Failure> {
        let pattern = args.pattern.as_deref().unwrap_or_default();
        let pattern = Pattern::new(pattern.as_bytes());
        let other = |address: &Address| Target {
            patience: target.patience,
            ..Target::new(address.clone())
        };
        if let Some(address) = &args.memcached {
            if *address == target.address {
                return Err(Failure::Usage(format!(
                    "forebay: {address} is the store itself"
                )));
            }
            return Ok(Self::Memcached(other(address), pattern));
        }
        if let Some(address) = &args.tyrant {
            let tyrant = Tyrant::connect(&other(address))?;
            return Ok(Self::Tyrant(tyrant, pattern, args.ttl.map(seconds)));
        }
        if let Some(path) = &args.php {
            return Ok(Self::Php(php(path, args)));
        }
        let path = args.file.as_deref().unwrap_or(Path::new("-"));
        let from: Box<dyn Read> = match path == Path::new("-") {
            true => Box::new(io::stdin().lock()),
            false => Box::new(opened(path, args.rescue)?),
        };
        Ok(Self::Export(path.to_owned(), from, pattern, args.rescue))
    }

    /// Puts everything into the store.
    fn pour(&mut self, stores: &mut Stores<'_>) -> Result<Came, Error> {
        match self {
            Self::Export(path, from, pattern, rescue) => {
                pour_export(path, from, pattern, *rescue, stores)
            }
            Self::Php(php) => pour_php(php, stores),
            Self::Memcached(from, pattern) => {
                let mut told = 0;
                let mut unread = |key: &[u8], words: &str| tell_unread(&mut told, key, words);
                let mut put = |key: &[u8], item: forebay_session::Item<'_>| stores.put(key, item);
                let passed = each_item(from, pattern, &mut put, &mut unread)?;
                super::warn_of_list(passed.may_miss);
                Ok(Came {
                    gone: passed.gone,
                    failed: passed.unreadable + passed.failed,
                    ..Came::default()
                })
            }
            Self::Tyrant(tyrant, pattern, ttl_s) => {
                let mut put = |key: &[u8], item: forebay_session::Item<'_>| stores.put(key, item);
                let taken = tyrant.each_item(pattern, *ttl_s, &mut put)?;
                Ok(Came {
                    gone: taken.gone,
                    ..Came::default()
                })
            }
        }
    }
}

fn php(path: &SavePath, args: &ImportArgs) -> Php {
    let mut naming = match args.handler {
        Handler::Memcached => Naming::memcached(),
        Handler::Memcache => Naming::memcache(),
    };
    if let Some(prefix) = &args.prefix {
        naming.prefix = prefix.as_bytes().to_vec();
    }
    Php {
        path: path.clone(),
        lifetime_s: seconds(args.lifetime),
        naming,
        patience: BUSY,
    }
}

/// Opens an export, read through once unless damage is to be lived with.
fn opened(path: &Path, rescue: bool) -> Result<File, Error> {
    let failed = |error| Error::File {
        path: path.to_owned(),
        error,
    };
    let mut file = File::open(path).map_err(failed)?;
    if !rescue && file.metadata().map_err(failed)?.is_file() {
        let damaged = |damage| Error::Damaged {
            path: path.to_owned(),
            damage,
        };
        let mut reader =
            Reader::new(BufReader::with_capacity(256 << 10, &file)).map_err(damaged)?;
        while reader.next_item().map_err(damaged)?.is_some() {}
        file.rewind().map_err(failed)?;
    }
    Ok(file)
}

fn pour_export(
    path: &Path,
    from: &mut Box<dyn Read>,
    pattern: &Pattern,
    rescue: bool,
    stores: &mut Stores<'_>,
) -> Result<Came, Error> {
    let damaged = |damage| Error::Damaged {
        path: path.to_owned(),
        damage,
    };
    let mut came = Came::default();
    let mut reader = Reader::new(BufReader::with_capacity(256 << 10, from)).map_err(damaged)?;
    loop {
        match reader.next_item() {
            Ok(Some((key, item))) if pattern.matches(key) => stores.put(key, item)?,
            Ok(Some(_)) => {}
            Ok(None) => return Ok(came),
            Err(damage) if rescue || path == Path::new("-") => {
                came.damage = Some(damaged(damage));
                return Ok(came);
            }
            Err(damage) => return Err(damaged(damage)),
        }
    }
}

fn pour_php(php: &Php, stores: &mut Stores<'_>) -> Result<Came, Error> {
    let mut told = 0;
    let walked = php.each_session(
        &mut |key, item| stores.put(key, item),
        &mut |path, words| tell(&mut told, &format!("{}: {words}", path.display())),
    )?;
    Ok(Came {
        expired: walked.expired,
        gone: walked.gone,
        failed: walked.failed,
        damage: None,
    })
}

fn summary(restored: &Restored, came: &Came) -> String {
    let mut text = format!(
        "{} imported, {}",
        items(restored.stored),
        show::size(restored.bytes as f64)
    );
    for (number, what) in [
        (restored.kept, "kept as they were"),
        (restored.expired + came.expired, "had expired"),
        (came.gone, "ended meanwhile"),
        (restored.refused + came.failed, "left out"),
    ] {
        if number > 0 {
            text.push_str(&format!("; {} {what}", show::count(number)));
        }
    }
    text
}

//! Files: requests that a file answers, before anybody else is asked.
//!
//! ```text
//!  in memory, looked at lately ─▶ Hit
//!  else look: a small file ─▶ the same as before? fresh again : read, into memory ─▶ Hit
//!             a large one, or nothing is kept here ─▶ sent from the file
//!             a directory ─▶ redirection, index, list
//!             none ─▶ PHP or the pool, as if there were no files; else 404
//! ```
//!
//! A hit costs what any hit costs. Looking at a file is done by the worker itself: what the system
//! has in memory of its directories answers in a microsecond, and what is asked for is there.
//! Reading waits for nothing; what would wait is read by another thread.
//!
//! Rules are matched against the same decoded path that a file is looked for by
//! (`forebay_rules::path`), so that no other way to write it gets a file past a rule.

mod directory;
mod handed;
mod memory;
mod place;
mod send;

use std::sync::Arc;

use forebay_cache::object::Url;
use forebay_cache::purge::Verdict;
use forebay_cache::terms::Serving;
use forebay_cache::{Found as Cached, Object, key};
use forebay_files::{Answer, Doubtful, Relative};
use forebay_http::uri;

pub(crate) use handed::remove_orders;
pub(crate) use place::{Absent, FilePlace};

use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};

const NO_FILE: Refused = Refused::new(404, "no such file");

impl<'a, C: Client> Exchange<'a, C> {
    /// The first step where files are served.
    #[inline]
    pub(crate) fn find_file(&mut self, place: &FilePlace) -> Step {
        self.write_file_key();
        let cache = self.worker.cache();
        let key = cache.key(&self.request.key);
        if place.falls_through {
            let now_ms = self.now_ms();
            let known = &mut self.request.script;
            if self
                .worker
                .absent
                .find(place.number ^ key.hash, now_ms, known)
            {
                return self.without_file();
            }
        }
        if self.is_not_for_files() && place.is_for_the_pool() {
            return self.without_file();
        }
        if self.policy.pass || self.is_not_for_files() {
            return Step::File(None);
        }
        match cache.find(&key, &self.request.head.fields, self.policy) {
            Cached::Object(object) if place.is_of(&object) => {
                let serving = object.terms.serving(self.now_ms(), &self.directives);
                if serving == Serving::Fresh && cache.verdict(&object) == Verdict::Current {
                    Step::Hit(object, Serving::Fresh)
                } else {
                    Step::File(Some(object))
                }
            }
            _ => Step::File(None),
        }
    }

    /// Looks for the file and answers with it. `known` is what is in memory of it.
    pub(crate) async fn file(&mut self, known: Option<Arc<Object>>) -> Result<Step, Failure> {
        let Some(place) = &self.location.files else {
            return Ok(self.without_file());
        };
        let asked = match Relative::of_request(self.request.path(), place.settings.hidden) {
            Ok(asked) => asked,
            Err(Doubtful::Ambiguous | Doubtful::Hidden) => return self.no_file(place, known),
            Err(Doubtful::Malformed) if place.falls_through => return self.no_file(place, known),
            Err(Doubtful::Malformed) => {
                return Err(Refused::new(400, "the path is malformed").into());
            }
        };
        let directory = match place.directory(self.now_ms()) {
            Ok(directory) => directory,
            Err(error) => return self.root_failed(place, error, known),
        };
        match place.find(&directory, &asked, &self.request.host) {
            Answer::File(found) if place.is_script(&found) => {
                self.request.script = found.path.encoded();
                self.no_file(place, known)
            }
            answer if self.is_not_for_files() => self.other_method(place, answer),
            Answer::File(found) => self.found(place, &directory, found, known).await,
            Answer::AddSlash => self.add_slash(&asked).await,
            Answer::Listing(listed, path) => self.list(place, &directory, (&listed, &path)).await,
            Answer::Directory if !place.falls_through => {
                Err(Refused::new(403, "the directory has no index and is not listed").into())
            }
            Answer::Status(status) => Err(Refused::new(status, "no file was found").into()),
            Answer::Nothing | Answer::Directory => self.no_file(place, known),
            Answer::Forbidden => {
                self.forget_file(known.as_ref());
                Err(Refused::new(403, "the file may not be read").into())
            }
            Answer::Failed(error) => {
                tracing::warn!("{}: {error}", place.root.path().display());
                Err(Refused::new(500, "the file cannot be opened; see the error log").into())
            }
        }
    }

    /// What follows when there is no file: PHP or the pool by the usual way, else 404.
    fn no_file(&mut self, place: &FilePlace, known: Option<Arc<Object>>) -> Result<Step, Failure> {
        self.forget_file(known.as_ref());
        if !place.falls_through {
            return Err(NO_FILE.into());
        }
        let hash = self.key().hash;
        let until_ms = self.now_ms().saturating_add(place.check_ms);
        let absent = &self.worker.absent;
        absent.note(place.number ^ hash, until_ms, &self.request.script);
        Ok(self.without_file())
    }

    /// A method that files do not answer: it is for the pool, if there is one.
    fn other_method(&mut self, place: &FilePlace, answer: Answer) -> Result<Step, Failure> {
        match answer {
            Answer::Nothing if !place.falls_through => Err(NO_FILE.into()),
            _ if place.falls_through => Ok(self.without_file()),
            _ => Err(Refused::new(405, "files are only read").into()),
        }
    }

    fn root_failed(
        &mut self,
        place: &FilePlace,
        error: forebay_files::Unopened,
        known: Option<Arc<Object>>,
    ) -> Result<Step, Failure> {
        place.complain(&error, self.now_ms());
        self.no_file(place, known)
    }

    fn forget_file(&self, known: Option<&Arc<Object>>) {
        if let Some(known) = known {
            self.worker.cache().remove(known);
        }
    }

    /// The key of a file: that of its URL without a query, which changes nothing of a file.
    fn write_file_key(&mut self) {
        let site = self.location.site_of(&self.snapshot.settings);
        let site = site.map_or("", |site| &site.name);
        let mut text = std::mem::take(&mut self.request.key);
        text.clear();
        let request = &self.request;
        let (path, _) = uri::split_path(&request.target);
        let fields = &request.head.fields;
        let place = request.place(site, &self.location.answerer);
        key::write(self.policy, &place, path, fields, &mut text);
        self.request.key = text;
    }

    fn file_url(&self) -> Url {
        Url::new(&self.request.authority, self.request.path())
    }
}

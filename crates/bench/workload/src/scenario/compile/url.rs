//! From a step's URL to where its request goes: as much of it as can be known
//! beforehand is.

use super::super::coding::Coding;
use super::super::model::Step;
use super::super::plan::{Destination, is_absolute, resolve};
use super::super::template::Template;
use super::Builder;
use crate::Target;

impl Builder<'_> {
    pub(super) fn destination(&mut self, step: &Step, url: &str) -> Destination {
        let query = self.pairs("query", &step.query, Coding::Component);
        let mut written = self.within("url", |this| this.template(url, Coding::Url));
        written.drop_fragment();
        let base = self.base.clone();
        let made = self.within("url", |this| match written.fixed() {
            Some(text) => {
                let target = this.found(resolve(base.as_ref(), text, ""))?;
                let path = Template::of(&target.path);
                Some((target, path))
            }
            None => {
                let (target, path) = this.known_place(&written, base.as_ref())?;
                Some((target, path.map_text(|text| Coding::Url.encoded(text))))
            }
        });
        let Some((mut target, mut path)) = made else {
            let url = self.within("url", |this| this.template(url, Coding::Plain));
            return Destination::Anywhere { url, query, base };
        };
        if query.fixed() != Some("") {
            path.push_text(if path.has_query() { "&" } else { "?" });
            path.append(query);
        }
        let place = self.place(&target);
        match path.fixed() {
            Some(text) => {
                target.path = text.to_owned();
                Destination::Fixed { place, target }
            }
            None => Destination::Path {
                place,
                target,
                path,
            },
        }
    }

    fn found(&mut self, target: Result<Target, String>) -> Option<Target> {
        target
            .map_err(|why| self.problem(why, "`/path` or `http://host/path`"))
            .ok()
    }

    /// The place and the path of a URL with variables, if these are all in its path.
    fn known_place(&mut self, url: &Template, base: Option<&Target>) -> Option<(Target, Template)> {
        let start = url.beginning();
        let mut path = url.clone();
        if is_absolute(start) {
            let (scheme, rest) = start.split_once(':')?;
            let end = match scheme {
                "unix" => rest.find(":/")? + 1,
                _ => 2 + rest.get(2..)?.find(['/', '?'])?,
            };
            let end = scheme.len() + 1 + end;
            let place = start[..end].trim_end_matches(':');
            let target = self.found(Target::parse(place).map_err(|error| error.0))?;
            path.drop_beginning(end);
            if path.beginning().starts_with('?') {
                path = prefixed("/", path);
            }
            return Some((target, path));
        }
        let base = match base {
            Some(base) => base.clone(),
            None if start.is_empty() => return None,
            None => {
                return self
                    .found(resolve(None, start, ""))
                    .map(|target| (target, path));
            }
        };
        let own_path = base.path.split('?').next().unwrap_or("/");
        match start.as_bytes() {
            [b'/', b'/', ..] | [b'.', ..] | [] => None,
            [b'/', ..] => Some((base, path)),
            [b'?', ..] => Some((base.clone(), prefixed(own_path, path))),
            _ if start.contains(':') => None,
            _ => {
                let folder = &own_path[..=own_path.rfind('/').unwrap_or(0)];
                Some((base.clone(), prefixed(folder, path)))
            }
        }
    }

    fn place(&mut self, target: &Target) -> usize {
        if let Some(known) = self
            .out
            .places
            .iter()
            .position(|known| known.same_place(target))
        {
            return known;
        }
        let mut place = target.clone();
        place.path = "/".into();
        self.out.places.push(place);
        self.out.places.len() - 1
    }
}

fn prefixed(prefix: &str, template: Template) -> Template {
    let mut all = Template::of(prefix);
    all.append(template);
    all
}

/// A URL as written, without scheme and host.
pub(super) fn without_place(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://").filter(|_| is_absolute(url)) else {
        return url;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

//! A generated site: so many objects, asked for by Zipf's law, with sizes by a
//! distribution. Nothing is stored but the rules.

use std::fmt::Write as _;

use crate::{Request, Sizes, Target, Zipf};

/// The rules of a generated site. Object 0 is the most popular; an object's size has nothing to
/// do with its popularity.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    popularity: Zipf,
    objects: u32,
    sizes: Sizes,
    seed: u64,
    template: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Index,
    Size,
}

impl Catalogue {
    /// What `forebay`'s demonstration origin serves.
    pub const PATH: &str = "/bytes/{size}/{index}";

    /// A site of `objects` objects. In the template of their paths `{index}` and `{size}` (in
    /// bytes) are replaced; `{index}` has to be there.
    ///
    /// # Errors
    /// When the numbers or the template make no site, in words for the user.
    pub fn new(
        objects: u32,
        exponent: f64,
        sizes: Sizes,
        template: &str,
        seed: u64,
    ) -> Result<Self, String> {
        Ok(Self {
            popularity: Zipf::new(objects, exponent)?,
            objects,
            sizes,
            seed,
            template: pieces(template)?,
        })
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects as usize
    }

    /// Never: a site has at least one object.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// How often each is asked for.
    pub fn popularity(&self) -> Zipf {
        self.popularity
    }

    /// Size of an object in bytes.
    pub fn size(&self, index: usize) -> u64 {
        self.sizes.of(self.seed, index as u64)
    }

    /// Sizes of all objects together: what a cache would need to hold them. Takes some
    /// nanoseconds for each.
    pub fn total_bytes(&self) -> u64 {
        (0..self.len()).fold(0, |sum, index| self.size(index).saturating_add(sum))
    }

    /// Appends the path of an object.
    pub fn write_path(&self, index: usize, out: &mut String) {
        for piece in &self.template {
            // Writing to a text cannot fail.
            let _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Index => write!(out, "{index}"),
                Piece::Size => write!(out, "{}", self.size(index)),
            };
        }
    }

    /// The request for an object on a server.
    pub fn request(&self, index: usize, server: &Target) -> Request {
        let mut path = String::new();
        self.write_path(index, &mut path);
        Request::get(server.with_path(&path))
    }
}

fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let wrong = |why: &str| Err(format!("the path `{template}` {why}"));
    if !template.starts_with('/') {
        return wrong("does not begin with `/`");
    }
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open..].find('}') else {
            return wrong("has a `{` without a `}`");
        };
        pieces.push(Piece::Text(rest[..open].into()));
        pieces.push(match &rest[open + 1..open + length] {
            "index" => Piece::Index,
            "size" => Piece::Size,
            name => {
                return wrong(&format!(
                    "has `{{{name}}}`; there are {{index}} and {{size}}"
                ));
            }
        });
        rest = &rest[open + length + 1..];
    }
    pieces.push(Piece::Text(rest.into()));
    if !pieces.contains(&Piece::Index) {
        return wrong("lacks `{index}`: all objects would be one");
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn catalogue(template: &str) -> Result<Catalogue, String> {
        Catalogue::new(100, 0.9, "10B:1,20B:1".parse().unwrap(), template, 3)
    }

    #[test]
    fn paths_have_index_and_size() {
        let catalogue = catalogue(Catalogue::PATH).unwrap();
        let server = Target::parse("http://localhost:81/ignored?x").unwrap();
        for index in [0, 7, 99] {
            let request = catalogue.request(index, &server);
            let expected = format!("/bytes/{}/{index}", catalogue.size(index));
            assert_eq!(request.target.path, expected);
            assert_eq!(request.target.authority, "localhost:81");
        }
        let sum: u64 = (0..100).map(|index| catalogue.size(index)).sum();
        assert_eq!(catalogue.total_bytes(), sum);
        assert!((1_000..2_000).contains(&sum), "{sum}");
    }

    #[test]
    fn a_template_that_makes_no_paths_is_refused() {
        for (template, part) in [
            ("x/{index}", "begin with `/`"),
            ("/x", "lacks `{index}`"),
            ("/{index", "without a `}`"),
            ("/{index}/{name}", "`{name}`"),
        ] {
            let error = catalogue(template).unwrap_err();
            assert!(error.contains(part), "{template}: {error}");
        }
        assert!(Catalogue::new(0, 1.0, Sizes::Constant(1), Catalogue::PATH, 0).is_err());
    }
}

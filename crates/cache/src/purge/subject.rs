//! What is judged: an object as purges see it.

use forebay_http::fields::Fields as Lines;

use crate::object::Object;

/// An object that may have been purged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The host it was asked of, in lower case, with a port that is not the scheme's own.
    pub host: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// The status of the response.
    pub status: u16,
    /// The response's field lines.
    pub fields: &'a dyn Fields,
    /// The hash of its key.
    pub key: u64,
    /// Its tags and groups ([`super::Purges::tag`]).
    pub tags: &'a [u64],
    /// The moment when it was asked of the origin.
    pub asked: u64,
    /// The moment up to which it was found not to be hit.
    pub checked: u64,
}

/// The field lines of a response.
pub trait Fields {
    /// Whether `test` holds for the value of any line of the field `name`, whose case is not
    /// looked at.
    fn any(&self, name: &str, test: &mut dyn FnMut(&[u8]) -> bool) -> bool;
}

impl Fields for Lines {
    fn any(&self, name: &str, test: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.named(name.as_bytes()).any(test)
    }
}

impl Fields for Object {
    fn any(&self, name: &str, test: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.fields()
            .any(|(_, own, value)| own.eq_ignore_ascii_case(name.as_bytes()) && test(value))
    }
}

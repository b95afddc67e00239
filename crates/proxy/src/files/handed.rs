//! A file that an application hands over instead of a body (`X-Sendfile`, `X-Accel-Redirect`): it
//! is sent from where it lies, with the application's own head.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use std::os::unix::ffi::OsStrExt;

use forebay_cache::Object;
use forebay_cache::object::{Content, Draft};
use forebay_cache::terms::Terms;
use forebay_config::settings::Symlinks;
use forebay_files::{Found, Relative, Root, describe, open_again};
use forebay_http::ResponseHead;
use forebay_http::fields::{FieldId, Fields, set};

use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, OriginFailure};

/// What the application said of its own body, which is not the one that is sent.
const OF_THE_OTHER_BODY: u64 = set(&[
    FieldId::ContentLength,
    FieldId::ContentEncoding,
    FieldId::ContentMd5,
    FieldId::ContentRange,
    FieldId::TransferEncoding,
    FieldId::Trailer,
    FieldId::AcceptRanges,
]);

impl<C: Client> Exchange<'_, C> {
    /// Answers with the file at `path`, an absolute path that must lie below one of `roots`; what
    /// `head` does not say of it is added. Conditions and ranges hold as for any file.
    ///
    /// # Errors
    /// 502 when there is no such file, or it lies elsewhere: that is the application's fault.
    pub(crate) async fn hand_over(
        &mut self,
        mut head: ResponseHead,
        roots: &[PathBuf],
        path: &Path,
    ) -> Result<Step, Failure> {
        const NO_SUCH: OriginFailure =
            OriginFailure::Invalid("the application hands over a file that is not there");
        let Some(found) = roots.iter().find_map(|root| below(root, path)) else {
            tracing::warn!("{}: no file below `send_files`", path.display());
            return Err(NO_SUCH.into());
        };
        let fields = &mut head.fields;
        remove_orders(fields);
        fields.retain(|field| field.id.bit() & OF_THE_OTHER_BODY == 0);
        fields.push(FieldId::AcceptRanges, b"bytes");
        if !fields.has(FieldId::ETag) {
            let tag = describe::entity_tag(&found.stamp, None);
            fields.push(FieldId::ETag, tag.as_bytes());
        }
        if !fields.has(FieldId::LastModified) {
            let mut modified = Vec::new();
            forebay_http::date::write(found.stamp.modified(), &mut modified);
            fields.push(FieldId::LastModified, &modified);
        }
        let now_ms = self.now_ms();
        let size = found.stamp.size;
        let draft = Draft {
            response: &head,
            terms: Terms {
                response_ms: now_ms,
                initial_age_ms: 0,
                lifetime_ms: 0,
                grace_ms: 0,
                error_ms: 0,
                keep_ms: 0,
                last_modified: head
                    .fields
                    .get(FieldId::LastModified)
                    .and_then(forebay_http::date::parse),
                date: now_ms / 1000,
                always_validate: true,
                never_stale: true,
            },
            selector: None,
            url: self.file_url(),
            tags: Box::default(),
            asked: 0,
            withheld: &[],
            stamp: None,
            content: Content::File(Arc::new(std::fs::File::from(found.file)), size),
        };
        let object = Object::apart(draft, self.worker.cache().budget());
        self.deliver(&object).await
    }
}

/// Takes out what is said to us alone: clients need not know where files lie.
pub(crate) fn remove_orders(fields: &mut Fields) {
    let orders = [&b"x-sendfile"[..], b"x-accel-redirect"];
    let is_order = |name: &[u8]| orders.iter().any(|own| name.eq_ignore_ascii_case(own));
    fields.retain(|field| !is_order(field.name));
}

/// The file at `path`, if it is one below `root`.
fn below(root: &Path, path: &Path) -> Option<Found> {
    let rest = path.strip_prefix(root).ok()?;
    let rest = Relative::of_decoded(rest.as_os_str().as_bytes(), true).ok()?;
    let root = Root::new(root, Symlinks::Inside);
    let directory = root.directory(0, 0).ok()?;
    open_again(&root, &directory, &rest)
}

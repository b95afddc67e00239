//! `X-Sendfile` and `X-Accel-Redirect`: the application has decided who may have a file, and leaves
//! the sending to us.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_cgi::script::decode;
use forebay_http::{ResponseHead, uri};

use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::Failure;
use crate::fetch::Fetched;
use crate::files::remove_orders;
use crate::miss::Purpose;

impl<C: Client> Exchange<'_, C> {
    /// The file that a response names, where such are obeyed (`send_files`).
    #[inline]
    pub(crate) fn handed_file(&self, head: &mut ResponseHead) -> Option<PathBuf> {
        let roots = &self.location.service.cgi.send_files;
        if roots.is_empty() {
            return None;
        }
        if head.status < 200 || matches!(head.status, 204 | 205 | 304) {
            // Where there is no body, there is no file in place of it.
            remove_orders(&mut head.fields);
            return None;
        }
        named_file(head, roots)
    }

    /// Answers with a file in place of the body that came.
    pub(crate) async fn send_instead(
        &mut self,
        mut fetched: Fetched,
        purpose: &mut Purpose,
        path: PathBuf,
    ) -> Result<Step, Failure> {
        let now_ms = self.now_ms();
        if let Some(lead) = purpose.lead.take() {
            // Who may have the file is asked for each request.
            let shun = self.snapshot.settings.cache.hit_for_miss;
            lead.not_shared(now_ms, shun.as_millis() as u64);
        }
        let head = std::mem::take(&mut fetched.origin.head);
        fetched.origin.release(self.snapshot, now_ms);
        let roots = &self.location.service.cgi.send_files;
        self.hand_over(head, roots, &path).await
    }
}

/// The path in the file system that a head names. That of `X-Accel-Redirect` is one of the site:
/// what is not below a root by itself is looked for in the first.
fn named_file(head: &ResponseHead, roots: &[PathBuf]) -> Option<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    if let Some(file) = head.fields.named(b"X-Sendfile").next() {
        return Some(path(file));
    }
    let target = head.fields.named(b"X-Accel-Redirect").next()?;
    let mut decoded = Vec::new();
    decode(uri::split_path(target).0, &mut decoded)?;
    let whole = path(&decoded);
    if roots.iter().any(|root| whole.starts_with(root)) {
        return Some(whole);
    }
    let below = whole.strip_prefix("/").unwrap_or(&whole);
    roots.first().map(|root| root.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_path_or_by_uri() {
        let roots = [PathBuf::from("/srv/files"), PathBuf::from("/srv/more")];
        let named = |name: &str, value: &str| {
            let mut head = ResponseHead::default();
            head.fields.push_named(name.as_bytes(), value.as_bytes());
            named_file(&head, &roots)
        };
        let is = |path: &str| Some(PathBuf::from(path));
        assert_eq!(named("x-sendfile", "/etc/passwd"), is("/etc/passwd"));
        assert_eq!(named("X-Accel-Redirect", "/a%20b?c"), is("/srv/files/a b"));
        assert_eq!(named("X-Accel-Redirect", "/srv/more/x"), is("/srv/more/x"));
        assert_eq!(named("X-Accel-Redirect", "/a%00"), None);
        assert_eq!(named("Location", "/a"), None);
    }
}

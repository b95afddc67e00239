//! A file on its way to a client, from where it lies.
//!
//! The system copies it from its own memory to the socket (`sendfile`). What is not in memory yet
//! would make the whole worker wait for the disk: so it is looked, window by window, whether it is
//! there, and if not another thread reads it first.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use forebay_cache::Object;
use forebay_cache::object::{Content, Draft};
use forebay_http::Method;
use forebay_http::ResponseHead;
use forebay_http::fields::FieldId;
use forebay_http::negotiate::{CodingWeights, coding_weights};
use forebay_stats::Counter;
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags};

use crate::client::{Client, Framing};
use crate::coding::{self, Encoder, Worth, recode};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::fetch::{end, flush, in_time, send};

/// What is looked for in memory, and brought there, at once.
const WINDOW_BYTES: u64 = 512 << 10;

/// The first bytes are read and leave together with the head, in one piece.
const FIRST_BYTES: u64 = 16 << 10;

/// What is read at once to be coded.
const PIECE_BYTES: u64 = 32 << 10;

impl<C: Client> Exchange<'_, C> {
    /// Answers with a whole file, coded if that is wanted.
    pub(crate) async fn deliver_file(
        &mut self,
        object: &Arc<Object>,
        (file, length): (&Arc<File>, u64),
        is_head: bool,
    ) -> Result<(), Failure> {
        if let Some((encoder, head)) = self.file_encoder(object, length) {
            let content = object.content.clone();
            let coded = self.apart(object, &head, content);
            self.begin_file(&coded, Framing::Stream, is_head);
            if is_head {
                return flush(self.client, self.snapshot).await;
            }
            return self.send_coded(file, length, encoder).await;
        }
        self.begin_file(object, Framing::Length(length), is_head);
        if is_head {
            return flush(self.client, self.snapshot).await;
        }
        self.send_file(file, 0..length).await
    }

    fn begin_file(&mut self, object: &Object, framing: Framing, is_head: bool) {
        self.outcome.status = object.status();
        self.client.head().extend_from_slice(object.head());
        self.write_fields(object);
        self.client.end_head(framing, !is_head);
        self.note_first_byte();
    }

    /// Sends these bytes of a file. One that has become shorter breaks the connection off.
    pub(crate) async fn send_file(
        &mut self,
        file: &Arc<File>,
        range: Range<u64>,
    ) -> Result<(), Failure> {
        let mut at = range.start;
        let first = FIRST_BYTES.min(range.end - at);
        let bytes = self.read_file(file, at, first).await?;
        send(self.client, self.snapshot, &[&bytes]).await?;
        at += bytes.len() as u64;
        self.outcome.body_bytes += bytes.len() as u64;
        while at < range.end {
            let window = at..range.end.min(at + WINDOW_BYTES);
            self.bring(file, &window).await;
            while at < window.end {
                let sent = self.send_some(file, at, window.end - at).await?;
                at += sent;
                self.outcome.body_bytes += sent;
            }
        }
        Ok(())
    }

    /// Sends as much as the socket takes.
    async fn send_some(&mut self, file: &File, at: u64, bytes: u64) -> Result<u64, Failure> {
        let (file, mut sent) = (file.as_fd(), 0);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        in_time(self.client, self.snapshot, |client, cx| {
            client
                .poll_send_file(cx, file, at, bytes)
                .map_ok(|moved| sent = moved as u64)
        })
        .await?;
        if sent == 0 {
            // It ends before the length that was announced: the client must see that.
            return Err(self.cut_short());
        }
        Ok(sent)
    }

    fn cut_short(&mut self) -> Failure {
        self.outcome.detail = "the file became shorter while it was sent";
        self.client.break_off();
        Failure::ClientGone
    }

    /// `bytes` bytes of a file, not fewer.
    async fn read_file(
        &mut self,
        file: &Arc<File>,
        at: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, Failure> {
        let read = match read(file, at, bytes, ReadWriteFlags::NOWAIT) {
            Err(_) => {
                let file = Arc::clone(file);
                let reading = move || read(&file, at, bytes, ReadWriteFlags::empty());
                tokio::task::spawn_blocking(reading).await
            }
            read => Ok(read),
        };
        match read {
            Ok(Ok(read)) if read.len() as u64 == bytes => Ok(read),
            _ => Err(self.cut_short()),
        }
    }

    /// Sees to it that a window of a file is in the system's memory, without waiting for it here.
    async fn bring(&self, file: &Arc<File>, window: &Range<u64>) {
        let last = window.end - 1;
        let is_there = |at| read(file, at, 1, ReadWriteFlags::NOWAIT) != Err(Errno::AGAIN);
        if is_there(window.start) && is_there(last) {
            return;
        }
        let (file, window) = (Arc::clone(file), window.clone());
        let bringing = move || {
            // What follows is on its way while this is sent.
            let ahead = std::num::NonZeroU64::new(2 * WINDOW_BYTES);
            let _ = fadvise(&file, window.start, ahead, Advice::WillNeed);
            // An error shows when it is sent.
            drop(read(
                &file,
                window.start,
                window.end - window.start,
                ReadWriteFlags::empty(),
            ));
        };
        let _ = tokio::task::spawn_blocking(bringing).await;
    }

    /// An encoder for a file that is too large to be kept coded, and the head that goes with it.
    fn file_encoder(&self, object: &Object, length: u64) -> Option<(Encoder, ResponseHead)> {
        let rules = self.location.codings.as_deref()?;
        let mut head = object.parsed_head();
        let worth = self.worth(&head, length);
        if worth == Worth::No || self.request.head.fields.has(FieldId::Range) {
            return None;
        }
        let coding = coding::wanted(&self.coding_weights(), rules.made.iter().copied())?;
        let encoder = self.worker.encoders.begin(coding)?;
        recode(&mut head.fields, coding, worth);
        self.worker.stats.increment(Counter::Compressed);
        Some((encoder, head))
    }

    async fn send_coded(
        &mut self,
        file: &Arc<File>,
        length: u64,
        mut encoder: Encoder,
    ) -> Result<(), Failure> {
        let mut at = 0;
        while at < length {
            let bytes = self
                .read_file(file, at, PIECE_BYTES.min(length - at))
                .await?;
            at += bytes.len() as u64;
            if encoder.write(&bytes).is_err() {
                return Err(self.cut_short());
            }
            self.send_body(&encoder.take()).await?;
            tokio::task::yield_now().await;
        }
        let Ok(last) = encoder.finish() else {
            return Err(self.cut_short());
        };
        self.send_body(&last).await?;
        end(self.client, self.snapshot, None).await
    }

    async fn send_body(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.outcome.body_bytes += bytes.len() as u64;
        send(self.client, self.snapshot, &[bytes]).await
    }

    /// What the client's `Accept-Encoding` says.
    pub(super) fn coding_weights(&self) -> CodingWeights {
        coding_weights(self.request.head.fields.all(FieldId::AcceptEncoding))
    }

    /// Whether a response with this head is coded here.
    pub(super) fn worth(&self, head: &ResponseHead, length: u64) -> Worth {
        let Some(rules) = self.location.codings.as_deref() else {
            return Worth::No;
        };
        let fields = head.fields.iter().map(|field| (field.id, field.value));
        rules.worth(head.status, Some(length), fields)
    }

    /// `object` with another head, for this answer.
    fn apart(&self, object: &Object, head: &ResponseHead, content: Content) -> Arc<Object> {
        let draft = Draft {
            response: head,
            terms: object.terms,
            selector: None,
            url: object.url().clone(),
            tags: Box::default(),
            asked: 0,
            withheld: &[],
            stamp: object.stamp().copied(),
            content,
        };
        Object::apart(draft, self.worker.cache().budget())
    }

    /// Whether files alone answer here, and not this method.
    pub(super) fn is_not_for_files(&self) -> bool {
        !matches!(self.request.head.method, Method::Get | Method::Head)
    }
}

/// Up to `bytes` bytes from `at` on; with `NOWAIT` what is in the system's memory, or an error.
fn read(file: &File, at: u64, bytes: u64, flags: ReadWriteFlags) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| Errno::NOMEM)?];
    let mut filled = 0;
    while filled < buffer.len() {
        let mut slices = [std::io::IoSliceMut::new(&mut buffer[filled..])];
        match rustix::io::preadv2(file, &mut slices, at + filled as u64, flags) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

//! A content coding, applied piece by piece.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use flate2::Compression;
use flate2::write::GzEncoder;
use forebay_config::settings::Coding;

/// Encoders of one worker at once; each takes up to two megabytes outside of the cache's budget.
const MOST_ENCODERS: usize = 64;

/// Where a little more time does not make much less of it: about 60 MB of text a second for each.
const GZIP_LEVEL: u32 = 6;
const BROTLI_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 5;

/// The binary logarithm of Brotli's window: 256 KB, more than pages have.
const BROTLI_WINDOW: u32 = 18;
const BROTLI_BUFFER_BYTES: usize = 4096;

/// How many encoders a worker has under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoders(Rc<Cell<usize>>);

/// An encoder, counted while it lives.
pub(crate) struct Encoder {
    kind: Kind,
    _counted: Counted,
}

enum Kind {
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(Box<GzEncoder<Vec<u8>>>),
}

struct Counted(Encoders);

impl Drop for Counted {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.set(count.get() - 1);
    }
}

impl Encoders {
    /// A new encoder, unless too many are under way.
    pub(crate) fn begin(&self, coding: Coding) -> Option<Encoder> {
        if self.0.get() >= MOST_ENCODERS {
            return None;
        }
        let kind = match coding {
            Coding::Brotli => Kind::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER_BYTES,
                BROTLI_LEVEL,
                BROTLI_WINDOW,
            ))),
            Coding::Zstd => {
                Kind::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL).ok()?)
            }
            Coding::Gzip => Kind::Gzip(Box::new(GzEncoder::new(
                Vec::new(),
                Compression::new(GZIP_LEVEL),
            ))),
        };
        self.0.set(self.0.get() + 1);
        Some(Encoder {
            kind,
            _counted: Counted(self.clone()),
        })
    }
}

impl Encoder {
    /// Takes more of the plain body.
    ///
    /// # Errors
    /// The coding's library failed.
    pub(crate) fn write(&mut self, plain: &[u8]) -> io::Result<()> {
        match &mut self.kind {
            Kind::Brotli(encoder) => encoder.write_all(plain),
            Kind::Zstd(encoder) => encoder.write_all(plain),
            Kind::Gzip(encoder) => encoder.write_all(plain),
        }
    }

    /// Brings out everything that was taken, so that a client can decode it.
    ///
    /// # Errors
    /// The coding's library failed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Brotli(encoder) => encoder.flush(),
            Kind::Zstd(encoder) => encoder.flush(),
            Kind::Gzip(encoder) => encoder.flush(),
        }
    }

    /// What has come out since the last time.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let out = match &mut self.kind {
            Kind::Brotli(encoder) => encoder.get_mut(),
            Kind::Zstd(encoder) => encoder.get_mut(),
            Kind::Gzip(encoder) => encoder.get_mut(),
        };
        std::mem::take(out)
    }

    /// Ends the coding; returns the last of it.
    ///
    /// # Errors
    /// The coding's library failed.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        match self.kind {
            Kind::Brotli(encoder) => Ok(encoder.into_inner()),
            Kind::Zstd(encoder) => encoder.finish(),
            Kind::Gzip(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn plain(coding: Coding, coded: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let read = match coding {
            Coding::Brotli => brotli::Decompressor::new(coded, 4096).read_to_end(&mut out),
            Coding::Zstd => zstd::stream::read::Decoder::new(coded)
                .and_then(|mut decoder| decoder.read_to_end(&mut out)),
            Coding::Gzip => flate2::read::GzDecoder::new(coded).read_to_end(&mut out),
        };
        assert!(read.is_ok(), "{coding:?}");
        out
    }

    const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

    #[test]
    fn what_is_coded_in_pieces_is_the_same_when_decoded() -> io::Result<()> {
        let text: Vec<u8> = (0..200_000u32)
            .flat_map(|n| (n / 7).to_string().into_bytes())
            .collect();
        for coding in CODINGS {
            let Some(mut encoder) = Encoders::default().begin(coding) else {
                panic!("the first one")
            };
            let mut coded = Vec::new();
            for piece in text.chunks(10_007) {
                encoder.write(piece)?;
                coded.extend(encoder.take());
            }
            coded.extend(encoder.finish()?);
            assert!(coded.len() * 3 < text.len(), "{coding:?}: {}", coded.len());
            assert_eq!(plain(coding, &coded), text);
        }
        Ok(())
    }

    #[test]
    fn what_is_flushed_can_be_read_before_the_end() -> io::Result<()> {
        for coding in CODINGS {
            let Some(mut encoder) = Encoders::default().begin(coding) else {
                panic!("the first one")
            };
            encoder.write(b"a first event")?;
            encoder.flush()?;
            let coded = encoder.take();
            let mut first = vec![0; 13];
            let read = match coding {
                Coding::Brotli => {
                    brotli::Decompressor::new(&coded[..], 4096).read_exact(&mut first)
                }
                Coding::Zstd => {
                    zstd::stream::read::Decoder::new(&coded[..])?.read_exact(&mut first)
                }
                Coding::Gzip => flate2::read::GzDecoder::new(&coded[..]).read_exact(&mut first),
            };
            assert!(read.is_ok(), "{coding:?}");
            assert_eq!(first, b"a first event");
        }
        Ok(())
    }

    #[test]
    fn encoders_are_counted() {
        let encoders = Encoders::default();
        let all: Vec<_> = (0..MOST_ENCODERS)
            .map(|_| encoders.begin(Coding::Gzip))
            .collect();
        assert!(all.iter().all(Option::is_some) && encoders.begin(Coding::Gzip).is_none());
        drop(all);
        assert!(encoders.begin(Coding::Gzip).is_some());
    }
}

//! The application's end of FastCGI, by hand: what a script of an [`crate::Origin`] reads and sends
//! on a raw connection.

use std::collections::BTreeMap;

use crate::connection::Connection;
use crate::wire::Broken;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct FastCgiRequest {
    /// Its parameters.
    pub params: BTreeMap<String, String>,
    /// Its body.
    pub body: Vec<u8>,
    /// Whether the connection is to be left open.
    pub keep: bool,
    /// How many records its body came in.
    pub stdin_records: usize,
}

impl FastCgiRequest {
    /// Reads one whole request.
    ///
    /// # Panics
    /// When what comes is not FastCGI.
    pub fn read(connection: &mut Connection) -> Result<Self, Broken> {
        let (mut request, mut list) = (Self::default(), Vec::new());
        loop {
            let header = connection.read_bytes(8)?;
            assert_eq!((header[0], header[2], header[3]), (1, 0, 1), "{header:?}");
            let bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let content = connection.read_bytes(bytes)?;
            connection.read_bytes(header[6].into())?;
            match (header[1], bytes) {
                (1, 8) => {
                    assert_eq!(content[..2], [0, 1], "the role of a responder");
                    request.keep = content[2] == 1;
                }
                (4, 0) => request.params = pairs(&list),
                (4, _) => list.extend_from_slice(&content),
                (5, 0) => return Ok(request),
                (5, _) => {
                    request.stdin_records += 1;
                    request.body.extend_from_slice(&content);
                }
                other => panic!("an unexpected record {other:?}"),
            }
        }
    }

    /// A parameter; empty when it is absent.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }
}

fn pairs(mut list: &[u8]) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let length = |list: &mut &[u8]| {
        let (bytes, size) = if list[0] < 0x80 {
            (usize::from(list[0]), 1)
        } else {
            let four = [list[0] & 0x7f, list[1], list[2], list[3]];
            (u32::from_be_bytes(four) as usize, 4)
        };
        *list = &list[size..];
        bytes
    };
    while !list.is_empty() {
        let (name, value) = (length(&mut list), length(&mut list));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let before = pairs.insert(text(&list[..name]), text(&list[name..name + value]));
        assert_eq!(before, None, "{} came twice", text(&list[..name]));
        list = &list[name + value..];
    }
    pairs
}

/// A record of this type (6: STDOUT, 7: STDERR), with padding as applications write it.
pub fn record(kind: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let padding = content.len().wrapping_neg() % 8;
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut record = vec![1, kind, 0, 1, high, low, padding as u8, 0];
    record.extend_from_slice(content);
    record.resize(record.len() + padding, 0);
    record
}

/// Part of a response.
pub fn stdout(content: impl AsRef<[u8]>) -> Vec<u8> {
    record(6, content)
}

/// The end of a response; 2 says that the application is overloaded.
pub fn end(protocol_status: u8) -> Vec<u8> {
    record(3, [0, 0, 0, 0, protocol_status, 0, 0, 0])
}

/// A whole response.
pub fn answer(content: impl AsRef<[u8]>) -> Vec<u8> {
    [stdout(content), stdout(""), end(0)].concat()
}

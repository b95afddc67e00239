//! Heads of messages, read as strictly as RFC 9112 lets a recipient be: what
//! the program sends to either side must need no leniency.

/// The start line and the fields of a message.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// Without its CRLF.
    pub start: String,
    /// In the order of the wire.
    pub fields: Fields,
}

/// Field lines in order; bytes beyond ASCII are kept as Latin-1 characters.
#[derive(Clone, Debug, Default)]
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// The first value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Every value of `name`.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    /// Every value of `name`, joined by `, `.
    pub fn joined(&self, name: &str) -> String {
        self.all(name).collect::<Vec<_>>().join(", ")
    }

    /// Whether the list field `name` has the member `token`.
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.joined(name)
            .split(',')
            .any(|member| member.trim().eq_ignore_ascii_case(token))
    }
}

/// Whether `byte` may stand in a token (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Reads a head from its lines, the empty one left out.
pub fn parse(lines: &[Vec<u8>]) -> Result<Head, String> {
    let (start, fields) = lines.split_first().ok_or("an empty head")?;
    check_text(start)?;
    Ok(Head {
        start: latin1(start),
        fields: parse_fields(fields)?,
    })
}

/// Reads field lines, also those of a trailer section.
pub fn parse_fields(lines: &[Vec<u8>]) -> Result<Fields, String> {
    lines
        .iter()
        .map(|line| parse_field(line))
        .collect::<Result<_, _>>()
        .map(Fields)
}

fn parse_field(line: &[u8]) -> Result<(String, String), String> {
    check_text(line)?;
    let shown = latin1(line);
    let colon = line
        .iter()
        .position(|b| *b == b':')
        .ok_or(format!("no colon in {shown:?}"))?;
    let name = &line[..colon];
    if name.is_empty() || !name.iter().all(|b| is_token(*b)) {
        return Err(format!("not a field name in {shown:?}"));
    }
    Ok((
        latin1(name),
        latin1(&line[colon + 1..])
            .trim_matches([' ', '\t'])
            .to_owned(),
    ))
}

fn check_text(line: &[u8]) -> Result<(), String> {
    match line
        .iter()
        .find(|b| (**b < b' ' && **b != b'\t') || **b == 0x7f)
    {
        Some(byte) => Err(format!("control byte {byte:#04x} in {:?}", latin1(line))),
        None => Ok(()),
    }
}

/// Bytes as characters, one for one.
pub fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|b| char::from(*b)).collect()
}

/// How a message's body ends (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    Empty,
    /// After this many more bytes.
    Length(u64),
    /// With the last chunk; the number is what is left of the current chunk.
    Chunked(u64),
    /// With the connection.
    Close,
}

/// The framing that the fields state; `None` when they state none.
pub fn stated_framing(fields: &Fields) -> Result<Option<Framing>, String> {
    let coding: Vec<&str> = fields.all("transfer-encoding").collect();
    let length: Vec<&str> = fields.all("content-length").collect();
    match (coding.as_slice(), length.as_slice()) {
        ([], []) => Ok(None),
        ([one], []) if one.eq_ignore_ascii_case("chunked") => Ok(Some(Framing::Chunked(0))),
        ([], [one]) if !one.is_empty() && one.bytes().all(|b| b.is_ascii_digit()) => one
            .parse()
            .map(|n| Some(Framing::Length(n)))
            .map_err(|e| e.to_string()),
        _ => Err(format!(
            "framing by Transfer-Encoding {coding:?} and Content-Length {length:?}"
        )),
    }
}

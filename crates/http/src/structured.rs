//! Structured fields (RFC 9651), as far as caching needs them: dictionaries and
//! lists of bare items. Parsing is strict and allocates nothing; parameters and
//! inner lists are checked and passed over.

/// A bare item (RFC 9651 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    /// At most 15 digits.
    Integer(i64),
    /// The text between the quotes, escapes still in it.
    String(&'a [u8]),
    /// A token.
    Token(&'a [u8]),
    /// `?1` or `?0`, or the value of a member that has none.
    Boolean(bool),
    /// Something else that is well-formed: a decimal, a date, bytes, a display
    /// string or an inner list.
    Other,
}

/// Calls `member` with each key and value of a dictionary, in order, and
/// repeats what it was told when a key comes again: the last is to count.
/// `None` on the first syntax error.
pub(crate) fn dictionary<'a>(
    value: &'a [u8],
    mut member: impl FnMut(&'a [u8], Item<'a>),
) -> Option<()> {
    let mut cursor = Cursor { rest: value };
    cursor.members(|cursor| {
        let key = cursor.key()?;
        let item = if cursor.eat(b'=') {
            cursor.item_or_inner_list()?
        } else {
            Item::Boolean(true)
        };
        cursor.parameters()?;
        member(key, item);
        Some(())
    })
}

/// Calls `member` with each member of a list. `None` on the first syntax error.
pub(crate) fn list<'a>(value: &'a [u8], mut member: impl FnMut(Item<'a>)) -> Option<()> {
    let mut cursor = Cursor { rest: value };
    cursor.members(|cursor| {
        let item = cursor.item_or_inner_list()?;
        cursor.parameters()?;
        member(item);
        Some(())
    })
}

/// The text of [`Item::String`] without its escapes.
pub(crate) fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut bytes = raw.iter();
    let mut text = Vec::with_capacity(raw.len());
    while let Some(&b) = bytes.next() {
        match b {
            b'\\' => text.extend(bytes.next()),
            b => text.push(b),
        }
    }
    text
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Members separated by commas; a comma at the end is an error (RFC 9651
    /// sections 4.2.1 and 4.2.2).
    fn members(&mut self, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip(b" ");
        while !self.rest.is_empty() {
            one(self)?;
            self.skip(b" \t");
            if self.rest.is_empty() {
                break;
            }
            if !self.eat(b',') {
                return None;
            }
            self.skip(b" \t");
            if self.rest.is_empty() {
                return None;
            }
        }
        Some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        if !matches!(self.rest.first(), Some(b'a'..=b'z' | b'*')) {
            return None;
        }
        Some(
            self.take_while(|b| {
                b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.*".contains(&b)
            }),
        )
    }

    fn item_or_inner_list(&mut self) -> Option<Item<'a>> {
        if self.eat(b'(') {
            self.inner_list()
        } else {
            self.bare_item()
        }
    }

    /// The rest of an inner list; they do not nest.
    fn inner_list(&mut self) -> Option<Item<'a>> {
        loop {
            self.skip(b" ");
            if self.eat(b')') {
                return Some(Item::Other);
            }
            self.bare_item()?;
            self.parameters()?;
            if !matches!(self.rest.first(), Some(b' ' | b')')) {
                return None;
            }
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.eat(b';') {
            self.skip(b" ");
            self.key()?;
            if self.eat(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<Item<'a>> {
        match *self.rest.first()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
                Some(Item::Token(self.take_while(|b| {
                    crate::head::is_token(b) || b == b':' || b == b'/'
                })))
            }
            b'?' => self.boolean(),
            b':' => self.bytes(),
            b'@' => self.date(),
            b'%' => self.display_string(),
            _ => None,
        }
    }

    /// An integer, or a decimal of up to 12 and 3 digits.
    fn number(&mut self) -> Option<Item<'a>> {
        let negative = self.eat(b'-');
        let whole = self.take_while(|b| b.is_ascii_digit());
        let most = if self.rest.first() == Some(&b'.') {
            12
        } else {
            15
        };
        if whole.is_empty() || whole.len() > most {
            return None;
        }
        if self.eat(b'.') {
            let fraction = self.take_while(|b| b.is_ascii_digit());
            return (1..=3).contains(&fraction.len()).then_some(Item::Other);
        }
        let n = whole.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'));
        Some(Item::Integer(if negative { -n } else { n }))
    }

    fn string(&mut self) -> Option<Item<'a>> {
        self.eat(b'"');
        let inside = self.rest;
        loop {
            match self.pop()? {
                b'\\' if !matches!(self.pop()?, b'"' | b'\\') => return None,
                b'\\' | b' ' | b'!' | b'#'..=b'~' => {}
                b'"' => return Some(Item::String(&inside[..inside.len() - self.rest.len() - 1])),
                _ => return None,
            }
        }
    }

    fn boolean(&mut self) -> Option<Item<'a>> {
        self.eat(b'?');
        match self.pop()? {
            b'0' => Some(Item::Boolean(false)),
            b'1' => Some(Item::Boolean(true)),
            _ => None,
        }
    }

    /// `:base64:`; the padding is not checked, as RFC 9651 section 4.2.7 allows.
    fn bytes(&mut self) -> Option<Item<'a>> {
        self.eat(b':');
        self.take_while(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        self.eat(b':').then_some(Item::Other)
    }

    fn date(&mut self) -> Option<Item<'a>> {
        self.eat(b'@');
        matches!(self.number()?, Item::Integer(_)).then_some(Item::Other)
    }

    /// `%"…"` with bytes beyond ASCII as `%xx` in lower case.
    fn display_string(&mut self) -> Option<Item<'a>> {
        self.eat(b'%');
        if !self.eat(b'"') {
            return None;
        }
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        loop {
            match self.pop()? {
                b'"' => return Some(Item::Other),
                b'%' if !(hex(self.pop()?) && hex(self.pop()?)) => return None,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.rest.first() == Some(&wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn pop(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn skip(&mut self, any_of: &[u8]) {
        self.take_while(|b| any_of.contains(&b));
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self
            .rest
            .iter()
            .position(|&b| !wanted(b))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<Vec<(&str, Item<'_>)>> {
        let mut found = Vec::new();
        dictionary(value.as_bytes(), |key, item| {
            found.push((std::str::from_utf8(key).unwrap_or_default(), item));
        })?;
        Some(found)
    }

    #[test]
    fn well_formed_dictionaries() {
        let cases: [(&str, &[(&str, Item<'_>)]); 12] = [
            ("", &[]),
            ("  ", &[]),
            ("a", &[("a", Item::Boolean(true))]),
            (
                "a=1, b=-2",
                &[("a", Item::Integer(1)), ("b", Item::Integer(-2))],
            ),
            (
                "a=1\t,\tb",
                &[("a", Item::Integer(1)), ("b", Item::Boolean(true))],
            ),
            ("a=?0;x;y=1;z=\"s\"", &[("a", Item::Boolean(false))]),
            (
                "a=1, a=x",
                &[("a", Item::Integer(1)), ("a", Item::Token(b"x"))],
            ),
            (
                "a=\"x, \\\"y\\\"\"",
                &[("a", Item::String(b"x, \\\"y\\\""))],
            ),
            (
                "a=1.5, b=@1, c=:aGk=:",
                &[("a", Item::Other), ("b", Item::Other), ("c", Item::Other)],
            ),
            ("a=( 1 \"b\";q  c );x", &[("a", Item::Other)]),
            ("a=%\"f%c3%bc\"", &[("a", Item::Other)]),
            ("*a._-*=A/b:c", &[("*a._-*", Item::Token(b"A/b:c"))]),
        ];
        for (value, expected) in cases {
            assert_eq!(read(value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn syntax_errors() {
        for value in [
            ",",
            "a,",
            "a,,b",
            "a b",
            "A=1",
            "a=",
            "a =1",
            "a= 1",
            "=1",
            "a=1.",
            "a=1.2345",
            "a=1234567890123456",
            "a=1234567890123.1",
            "a=-",
            "a=\"",
            "a=\"\\x\"",
            "a=\"\u{e9}\"",
            "a=?2",
            "a=:-:",
            "a=:a",
            "a=(1",
            "a=(1\"b\")",
            "a=((1))",
            "a=@1.5",
            "a=%x",
            "a=%\"%C3\"",
            "a=%\"%c\"",
            "a;",
            "a;B",
            "a;b=",
            "1=2",
            "a\u{0}",
            "a=b\u{7f}",
        ] {
            assert_eq!(read(value), None, "{value}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(b"a\\\"b\\\\c"), b"a\"b\\c");
        assert_eq!(unescape(b""), b"");
    }
}

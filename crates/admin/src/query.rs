//! The query of a request's target, taken apart and decoded.

/// Parameters by name. Those of one name stay in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

/// Why a query was refused.
pub(crate) type Refused = String;

impl Query {
    /// Takes `a=1&b=2` apart. `%XX` and `+` are decoded, as forms write them;
    /// empty parts are skipped.
    ///
    /// # Errors
    /// What is no UTF-8 or has a `%` without two digits, in words.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Refused> {
        text.split(|byte| *byte == b'&')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let end = part.iter().position(|byte| *byte == b'=');
                let (name, value) = part.split_at(end.unwrap_or(part.len()));
                let value = value.strip_prefix(b"=").unwrap_or(value);
                Ok((decode(name)?, decode(value)?))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Refuses parameters that are not in `known`, and those given twice.
    pub(crate) fn check<'a>(
        &self,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), Refused> {
        for (place, (name, _)) in self.0.iter().enumerate() {
            if !known.clone().any(|other| other == name) {
                let known: Vec<&str> = known.collect();
                return Err(if known.is_empty() {
                    format!("there is no parameter `{name}` here")
                } else {
                    format!(
                        "there is no parameter `{name}` here; known are {}",
                        known.join(", ")
                    )
                });
            }
            if self.0[..place].iter().any(|(other, _)| other == name) {
                return Err(format!("the parameter `{name}` is given twice"));
            }
        }
        Ok(())
    }

    /// The value of a parameter; an empty one counts as not given.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, value)| own == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// A number of the parameter, or `default`.
    ///
    /// # Errors
    /// When it is none, or not within the range.
    pub(crate) fn number(
        &self,
        name: &str,
        default: usize,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, Refused> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        text.parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                format!(
                    "`{name}` must be a number from {} to {}",
                    range.start(),
                    range.end()
                )
            })
    }
}

fn decode(text: &[u8]) -> Result<String, Refused> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        out.push(match first {
            b'+' => b' ',
            b'%' => {
                let byte = after.split_at_checked(2).and_then(|(two, after)| {
                    rest = after;
                    Some(digit(two[0])? << 4 | digit(two[1])?)
                });
                byte.ok_or("a `%` in the query is not followed by two hexadecimal digits")?
            }
            other => *other,
        });
    }
    String::from_utf8(out).map_err(|_| "the query is not UTF-8".into())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse(b"url=http%3A%2F%2Fa%2Fb%3Fc&x=1+2&&flag&e=").unwrap();
        assert_eq!(query.get("url"), Some("http://a/b?c"));
        assert_eq!(query.get("x"), Some("1 2"));
        assert_eq!(query.get("flag"), None);
        assert_eq!(query.get("e"), None);
        assert_eq!(Query::parse(b"a=b=c").unwrap().get("a"), Some("b=c"));
    }

    #[test]
    fn what_cannot_be_decoded_is_refused() {
        for text in ["a=%", "a=%1", "a=%zz", "%g0=1", "a=%ff", "a=%+1"] {
            assert!(Query::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_and_repeated_parameters_are_named() {
        let check = |text: &str| {
            Query::parse(text.as_bytes())
                .unwrap()
                .check(["limit", "url"].into_iter())
        };
        assert_eq!(check("limit=1&url=2"), Ok(()));
        assert!(check("limt=1").unwrap_err().contains("limit, url"));
        assert!(check("url=1&url=2").unwrap_err().contains("twice"));
    }

    #[test]
    fn numbers_have_their_range() {
        let number = |text: &str| {
            Query::parse(text.as_bytes())
                .unwrap()
                .number("limit", 20, 1..=100)
        };
        assert_eq!(number(""), Ok(20));
        assert_eq!(number("limit=100"), Ok(100));
        for text in [
            "limit=0",
            "limit=101",
            "limit=x",
            "limit=-1",
            "limit=99999999999999999999",
        ] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}

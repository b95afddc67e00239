//! Request methods and what they promise (RFC 9110 section 9.2).

/// A request method; names are case-sensitive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET
    #[default]
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// CONNECT
    Connect,
    /// TRACE
    Trace,
    /// PATCH
    Patch,
    /// Any other token.
    Other(Box<[u8]>),
}

impl Method {
    /// The method of this token; the caller has checked that it is one.
    pub fn of(token: &[u8]) -> Self {
        match token {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            b"CONNECT" => Self::Connect,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            other => Self::Other(other.into()),
        }
    }

    /// The token as sent.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Get => b"GET",
            Self::Head => b"HEAD",
            Self::Post => b"POST",
            Self::Put => b"PUT",
            Self::Delete => b"DELETE",
            Self::Options => b"OPTIONS",
            Self::Connect => b"CONNECT",
            Self::Trace => b"TRACE",
            Self::Patch => b"PATCH",
            Self::Other(token) => token,
        }
    }

    /// Whether it asks for no change (RFC 9110 section 9.2.1 and the registry); unknown methods are not safe.
    pub fn is_safe(&self) -> bool {
        match self {
            Self::Get | Self::Head | Self::Options | Self::Trace => true,
            Self::Other(token) => {
                matches!(&**token, b"PROPFIND" | b"REPORT" | b"SEARCH" | b"QUERY")
            }
            _ => false,
        }
    }

    /// Whether sending it twice has the effect of sending it once (RFC 9110 section 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.is_safe() || matches!(self, Self::Put | Self::Delete)
    }

    /// Whether it is GET or HEAD, the methods a cache answers.
    pub fn is_get_or_head(&self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

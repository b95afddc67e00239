//! What can go wrong in an exchange: who, what, and which status the client gets.

use forebay_cache::flight::Lead;
use forebay_cgi::fastcgi::RecordError;
use forebay_http::chunked::ChunkError;
use forebay_http::framing::FramingError;
use forebay_http::head::HeadError;
use forebay_upstream::ConnectError;

/// Why an exchange cannot go on as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The client sent what must be refused, or asks for what is not served.
    Client(Refused),
    /// The client went away or stopped reading.
    ClientGone,
    /// The origin failed.
    Origin(OriginFailure),
}

/// A request that is answered with an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) why: &'static str,
}

/// How an origin failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginFailure {
    /// No connection.
    Connect(ConnectError),
    /// It closed the connection before the first byte of its response.
    ClosedEarly,
    /// It broke the connection off within its response.
    Broken,
    /// It is short of something and did not begin to work on the request (FastCGI).
    Overloaded,
    /// It did not answer in time.
    TimedOut,
    /// It answered what must not be forwarded.
    Invalid(&'static str),
    /// Another request for the same object met this failure.
    Shared { status: u16, reason: &'static str },
}

impl Refused {
    pub(crate) const fn new(status: u16, why: &'static str) -> Self {
        Self { status, why }
    }
}

impl OriginFailure {
    /// The status for the client (RFC 9110 section 15.6).
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::TimedOut | Self::Connect(ConnectError::TimedOut) => 504,
            Self::Connect(
                ConnectError::QueueTimedOut | ConnectError::QueueFull | ConnectError::NoServer,
            )
            | Self::Overloaded => 503,
            Self::Shared { status, .. } => status,
            _ => 502,
        }
    }

    /// What happened, for the log and `Cache-Status`.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Connect(error) => error.reason(),
            Self::ClosedEarly => "the origin closed the connection without an answer",
            Self::Broken => "the origin broke off its answer",
            Self::Overloaded => "the application is overloaded",
            Self::TimedOut => "the origin did not answer in time",
            Self::Invalid(what) => what,
            Self::Shared { reason, .. } => reason,
        }
    }
}

impl OriginFailure {
    /// Tells those who wait. A failure that this request alone may have caused is not theirs:
    /// the next of them takes over.
    pub(crate) fn tell(self, lead: Lead) {
        if matches!(self, Self::Connect(_) | Self::TimedOut) {
            lead.failed(self.status(), self.reason());
        }
    }
}

impl From<HeadError> for Refused {
    fn from(error: HeadError) -> Self {
        Self::new(error.status(), error.message())
    }
}

impl From<FramingError> for Refused {
    fn from(error: FramingError) -> Self {
        Self::new(error.status(), error.message())
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Client(refused)
    }
}

impl From<OriginFailure> for Failure {
    fn from(failure: OriginFailure) -> Self {
        Self::Origin(failure)
    }
}

impl From<HeadError> for OriginFailure {
    fn from(error: HeadError) -> Self {
        Self::Invalid(error.message())
    }
}

impl From<FramingError> for OriginFailure {
    fn from(error: FramingError) -> Self {
        Self::Invalid(error.message())
    }
}

impl From<RecordError> for OriginFailure {
    fn from(error: RecordError) -> Self {
        Self::Invalid(error.message())
    }
}

impl From<ChunkError> for OriginFailure {
    fn from(_: ChunkError) -> Self {
        Self::Invalid("malformed chunk")
    }
}

/// The reason phrase of a status of ours (RFC 9110 section 15).
pub(crate) fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        508 => "Loop Detected",
        _ => "",
    }
}

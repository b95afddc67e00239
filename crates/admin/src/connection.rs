//! One connection: reading one request, answering it, closing.

use crate::access::{Denied, Peer, Role};
use crate::answer::Answer;
use crate::api::tail::Follow;
use crate::api::{Asked, Handler, figures, server as api_server};
use crate::body::{self, BodyError};
use crate::dashboard;
use crate::listen::Accepted;
use crate::query::Query;
use crate::request::{self, LIMITS};
use crate::routes::{self, Action, Route};
use crate::server::Server;
use forebay_http::{FieldId, Method, RequestHead, framing, head};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// For a request to arrive (beyond: 408), and again for the answer to be taken.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what a client still sends is read after its answer.
const LINGER: Duration = Duration::from_secs(1);

/// A socket of either kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// What a request comes to once it was read, checked and allowed.
enum Task {
    Ready(Answer),
    Ask(Handler, Asked),
    Reload(Asked),
    Follow(Follow),
}

/// Why a request comes to nothing else.
enum End {
    /// There is nobody left to tell.
    Gone,
    Refused(Answer),
}

impl From<Answer> for End {
    fn from(answer: Answer) -> Self {
        Self::Refused(answer)
    }
}

impl Server {
    /// Serves one connection to its end. Errors of the socket end it silently.
    pub(crate) async fn serve(&self, accepted: Accepted) {
        match accepted {
            Accepted::Tcp(stream, peer) => self.exchange(stream, peer).await,
            Accepted::Unix(stream) => self.exchange(stream, Peer::Socket).await,
        }
    }

    async fn exchange(&self, mut stream: impl Stream, peer: Peer) {
        let mut head = RequestHead::default();
        let waits = self.waiting.begin();
        let received = tokio::select! {
            received = timeout(IO_TIMEOUT, self.receive(&mut stream, &mut head, peer)) => received,
            () = waits.displaced() => return,
        };
        drop(waits);
        let task = match received {
            Ok(Ok(task)) => task,
            Ok(Err(End::Gone)) => return,
            Ok(Err(End::Refused(answer))) => Task::Ready(answer),
            Err(_) => Task::Ready(Answer::refusal(408, "the request did not arrive in time")),
        };
        let answer = match task {
            Task::Ready(answer) => answer,
            Task::Ask(handler, asked) => ask(handler, asked).await,
            Task::Reload(asked) => self.reload(asked).await,
            Task::Follow(follow) => match self.follow(&mut stream, &head, follow).await {
                Ok(()) => return,
                Err(answer) => answer,
            },
        };
        let answer = if head.target.starts_with(b"/api/") {
            answer.into_api()
        } else {
            answer
        };
        let bytes = answer.to_bytes(head.method == Method::Head);
        if let Ok(Ok(())) = timeout(IO_TIMEOUT, stream.write_all(&bytes)).await {
            let _ = timeout(LINGER, linger(&mut stream)).await;
        }
    }

    /// Reads a request and decides what is to be done.
    async fn receive(
        &self,
        stream: &mut impl Stream,
        head: &mut RequestHead,
        peer: Peer,
    ) -> Result<Task, End> {
        let behind = read_head(stream, head).await?;
        request::check(head, &self.doors.now().names)?;
        let (path, query) = split(&head.target);
        if let Some(answer) = embedded(&head.method, path) {
            return Ok(Task::Ready(answer));
        }
        let route = routes::find(&head.method, path)?;
        let is_api = path.starts_with(b"/api/");
        self.allow(head, peer, route.role)?;
        let query = match Query::parse(query) {
            Ok(query) => query,
            // The older paths never looked at it.
            Err(_) if !is_api => Query::default(),
            Err(text) => return Err(Answer::error(400, &text).into()),
        };
        if is_api {
            let known = route.parameters.iter().map(|parameter| parameter.name);
            query
                .check(known)
                .map_err(|text| Answer::error(400, &text))?;
        }
        let body = match route.body {
            Some(_) => read_json(stream, head, behind).await?,
            None => Value::Null,
        };
        let asked = Asked {
            control: Arc::clone(&self.control),
            history: Arc::clone(&self.history),
            query,
            body,
        };
        self.task(route, asked, head, peer)
    }

    fn task(
        &self,
        route: &Route,
        asked: Asked,
        head: &RequestHead,
        peer: Peer,
    ) -> Result<Task, End> {
        Ok(match route.action {
            Action::Ask(handler) => Task::Ask(handler, asked),
            Action::Reload => Task::Reload(asked),
            Action::Follow => {
                let follow = Follow::read(&asked.query);
                Task::Follow(follow.map_err(|text| Answer::error(400, &text))?)
            }
            Action::Page => match dashboard::page("/") {
                // It shows nothing but itself; what it asks for needs a token.
                Some((content_type, page)) => Task::Ready(Answer::embedded(content_type, page)),
                None => {
                    self.allow(head, peer, Some(Role::Read))?;
                    Task::Ask(figures::plain, asked)
                }
            },
        })
    }

    fn allow(&self, head: &RequestHead, peer: Peer, role: Option<Role>) -> Result<(), Answer> {
        let authorization = head.fields.all(FieldId::Authorization);
        let access = self.doors.now();
        match (role, peer, access.tokens.is_empty()) {
            // Beyond this machine there is nothing at all without tokens.
            (None, Peer::Remote, true) => Err(denied(Denied::NoTokens, Role::Read)),
            (None, _, _) => Ok(()),
            (Some(role), _, _) => access
                .check(peer, authorization, role)
                .map_err(|why| denied(why, role)),
        }
    }

    async fn reload(&self, asked: Asked) -> Answer {
        match self.reloading.try_lock() {
            Ok(_alone) => ask(api_server::reload, asked).await,
            Err(_) => api_server::reload_busy(),
        }
    }
}

/// The answer to whoever may not.
pub(crate) fn denied(why: Denied, role: Role) -> Answer {
    match why {
        Denied::Unknown => Answer::refusal(
            401,
            "a token is needed: send `Authorization: Bearer TOKEN` with one of the configuration",
        ),
        Denied::Role => {
            let text = format!("this takes a token with the role `{}`", role.name());
            Answer::refusal(403, &text)
        }
        Denied::NoTokens => Answer::refusal(
            403,
            "other machines are not served: no token is configured in [admin]",
        ),
    }
}

/// A file of the dashboard.
fn embedded(method: &Method, path: &[u8]) -> Option<Answer> {
    let path = str::from_utf8(path).ok()?;
    if !path.starts_with("/dashboard/") || !method.is_get_or_head() {
        return None;
    }
    let (content_type, page) = dashboard::page(path)?;
    Some(Answer::embedded(content_type, page))
}

/// Control may wait for locks, names and files, so it is asked on a thread
/// where it holds nobody else up.
async fn ask(handler: Handler, asked: Asked) -> Answer {
    let answer = tokio::task::spawn_blocking(move || handler(&asked)).await;
    match answer {
        Ok(Ok(answer) | Err(answer)) => answer,
        Err(error) => {
            tracing::error!("the administration request failed: {error}");
            Answer::refusal(500, "the request failed; see the error log")
        }
    }
}

fn split(target: &[u8]) -> (&[u8], &[u8]) {
    let end = target.iter().position(|byte| *byte == b'?');
    let (path, query) = target.split_at(end.unwrap_or(target.len()));
    (path, query.strip_prefix(b"?").unwrap_or(query))
}

/// Reads a request's head; gives what came behind it.
async fn read_head(stream: &mut impl Stream, into: &mut RequestHead) -> Result<Vec<u8>, End> {
    let refuse = |error: head::HeadError| Answer::refusal(error.status(), error.message());
    let mut bytes = Vec::with_capacity(1 << 10);
    loop {
        let seen = bytes.len();
        let room = LIMITS.head_bytes - seen;
        let read = (&mut *stream).take(room as u64).read_buf(&mut bytes).await;
        // When the peer is gone, half a request is answered to nobody.
        if read.unwrap_or(0) == 0 {
            return Err(End::Gone);
        }
        let full = bytes.len() >= LIMITS.head_bytes;
        if full || head::find_end(&bytes, seen) {
            match into.parse(&bytes, &LIMITS) {
                Ok(Some(end)) => return Ok(bytes.split_off(end)),
                Ok(None) if full => return Err(refuse(head::HeadError::HeadTooLarge).into()),
                Ok(None) => {}
                Err(error) => return Err(refuse(error).into()),
            }
        }
    }
}

/// Reads the body of a request that must have one.
async fn read_json(
    stream: &mut impl Stream,
    head: &RequestHead,
    behind: Vec<u8>,
) -> Result<Value, End> {
    if !request::is_json(head) {
        let text = "the body must be JSON: send `Content-Type: application/json`";
        return Err(Answer::error(415, text).into());
    }
    let length = framing::request_body(&head.fields, head.http10)
        .map_err(|error| Answer::refusal(error.status(), error.message()))?;
    if behind.is_empty() && request::expects_continue(head) {
        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
        stream.write_all(go_on).await.map_err(|_| End::Gone)?;
    }
    let body = match body::read(stream, length, behind).await {
        Ok(body) => body,
        Err(BodyError::Socket) => return Err(End::Gone),
        Err(BodyError::Refused(answer)) => return Err(answer.into()),
    };
    serde_json::from_slice(&body)
        .map_err(|error| Answer::error(400, &format!("the body is not JSON: {error}")).into())
}

/// Says that nothing more comes and reads what the client still sends: a
/// socket closed with unread bytes is reset, which can take the answer with it
/// (RFC 9112 section 9.6).
async fn linger(stream: &mut impl Stream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut ignored = [0; 4 << 10];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

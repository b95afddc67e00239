//! One connection of the browser: each request goes on to the server it is
//! meant for, the response comes back, and both are written down.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use forebay_http::framing::{self, BodyLength};
use forebay_http::uri::{self, Target as Form};
use forebay_http::{FieldId, Method, RequestHead, ResponseHead};
use forebay_workload::Target;
use rustls::ClientConfig;

use super::delivery::Delivery;
use super::rewrite::{self, Names};
use super::tape::{Taken, Tape};
use super::tunnel;
use super::upstream::Upstream;
use super::wire::{Stream, Trouble, Wire};

/// Browsers keep connections for minutes.
const IDLE: Duration = Duration::from_secs(600);
/// A larger upload is refused with 413: a scenario would have to carry it.
const LARGEST_BODY: usize = 16 << 20;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An exchange was recorded; so many are now.
    Recorded(usize),
    /// A connection of the browser ended.
    Left,
}

/// What all connections share.
pub(super) struct Shared {
    pub(super) tape: Tape,
    /// The site whose place the recorder takes; without, it is a forward proxy.
    pub(super) target: Option<Target>,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// A request that is understood.
struct Asked {
    head: RequestHead,
    url: Target,
    body: Vec<u8>,
    /// At a reverse proxy, the two names of the site.
    names: Option<Names>,
}

impl Asked {
    /// Method and URL, without the query, for messages.
    fn words(&self) -> String {
        let url = self.url.to_string();
        let place = url.split('?').next().unwrap_or_default();
        format!("{} {place}", self.head.method_text())
    }
}

/// Serves a connection to its end.
pub(super) fn serve(socket: TcpStream, shared: &Shared, say: &dyn Fn(Event)) {
    let is_set = socket.set_read_timeout(Some(IDLE)).is_ok()
        && socket.set_write_timeout(Some(IDLE)).is_ok()
        && socket.set_nodelay(true).is_ok();
    if is_set {
        let mut client = Wire::new(Stream::Plain(socket));
        let mut upstream = Upstream::new(shared.tls.clone());
        loop {
            match one(&mut client, &mut upstream, shared, say) {
                Ok(Next::Request) => {}
                Ok(Next::Close) => break,
                Ok(Next::Tunnel(host, port)) => {
                    shared.tape.tunnel(host.clone());
                    tunnel::run(client, &host, port);
                    break;
                }
                Err(Trouble::Wrong(status, why)) => {
                    let _ = refuse(&mut client, status, why);
                    break;
                }
                Err(Trouble::Io(_)) => break,
            }
        }
    }
    say(Event::Left);
}

/// What a connection does next.
enum Next {
    Request,
    Close,
    Tunnel(String, u16),
}

fn one(
    client: &mut Wire,
    upstream: &mut Upstream,
    shared: &Shared,
    say: &dyn Fn(Event),
) -> Result<Next, Trouble> {
    let Some(head) = client.request()? else {
        return Ok(Next::Close);
    };
    let at = shared.tape.now();
    if head.method == Method::Connect {
        return authority(&head);
    }
    let asked = ask(client, head, shared)?;
    let keeps = framing::keeps_alive(&asked.head.fields, asked.head.http10);
    let sent = outgoing(&asked);
    let (server, response) = match forward(upstream, &asked, &sent) {
        Ok(answered) => answered,
        Err(trouble) => {
            let words = format!("{}: no response: {trouble}", asked.words());
            shared.tape.miss(&asked.url.host, words.clone());
            refuse(client, 502, &words)?;
            return Ok(Next::Close);
        }
    };
    let back = back(upstream, server, client, &asked, response, keeps);
    let (response, content, keeps) = match back {
        Ok(done) => done,
        Err(trouble) => {
            let words = format!("{}: not complete: {trouble}", asked.words());
            shared.tape.miss(&asked.url.host, words);
            return Ok(Next::Close);
        }
    };
    let count = shared.tape.add(Taken {
        at,
        end: shared.tape.now(),
        method: asked.head.method_text(),
        url: asked.url,
        headers: fields(&sent.fields),
        body: asked.body,
        status: response.status,
        response: fields(&response.fields),
        content,
    });
    say(Event::Recorded(count));
    Ok(if keeps { Next::Request } else { Next::Close })
}

trait MethodText {
    fn method_text(&self) -> String;
}

impl MethodText for RequestHead {
    fn method_text(&self) -> String {
        String::from_utf8_lossy(self.method.as_bytes()).into_owned()
    }
}

fn authority(head: &RequestHead) -> Result<Next, Trouble> {
    let wrong = Trouble::Wrong(400, "CONNECT needs a host and a port");
    match uri::parse_host(&head.target) {
        Some(uri::Host {
            name,
            port: Some(port),
        }) => {
            let name = String::from_utf8_lossy(name);
            Ok(Next::Tunnel(
                name.trim_matches(['[', ']']).to_ascii_lowercase(),
                port,
            ))
        }
        _ => Err(wrong),
    }
}

/// Where the request goes, and its body.
fn ask(client: &mut Wire, head: RequestHead, shared: &Shared) -> Result<Asked, Trouble> {
    let form = uri::parse_target(&head.target);
    let host = head.fields.get(FieldId::Host).unwrap_or_default();
    let (mut url, names) = match (&shared.target, form) {
        (Some(target), Some(Form::Origin(path) | Form::Absolute { path, .. })) => {
            let names = Names {
                target: origin(target),
                local: format!("http://{}", String::from_utf8_lossy(host)),
            };
            (
                target.with_path(&String::from_utf8_lossy(path)),
                Some(names),
            )
        }
        (None, Some(Form::Absolute { scheme, .. })) if scheme.eq_ignore_ascii_case(b"http") => {
            let text = String::from_utf8_lossy(&head.target);
            let url = Target::parse(&text).map_err(|_| Trouble::Wrong(400, "malformed URL"))?;
            (url, None)
        }
        (None, Some(Form::Origin(_))) => return Err(Trouble::Wrong(400, HOW)),
        _ => {
            return Err(Trouble::Wrong(
                400,
                "a request target that is not understood",
            ));
        }
    };
    if let Some(names) = &names {
        url.path = names.text_to_target(&url.path);
    }
    if head.fields.has(FieldId::Upgrade) {
        let words =
            format!("{url}: an upgrade (a WebSocket?) was asked for, and cannot be recorded");
        shared.tape.miss(&url.host, words);
    }
    let length = framing::request_body(&head.fields, head.http10)
        .map_err(|error| Trouble::Wrong(error.status(), error.message()))?;
    let mut body = read_body(client, &head, length)?;
    if let Some(names) = names
        .as_ref()
        .filter(|_| std::str::from_utf8(&body).is_ok())
    {
        body = names.to_target(&body);
    }
    Ok(Asked {
        head,
        url,
        body,
        names,
    })
}

const HOW: &str = "this is a proxy that records: set it as the browser's HTTP proxy, or start it with --target URL \
                   to open that site here";

fn origin(target: &Target) -> String {
    format!(
        "{}://{}",
        if target.tls { "https" } else { "http" },
        target.authority
    )
}

fn read_body(
    client: &mut Wire,
    head: &RequestHead,
    length: BodyLength,
) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    if length == BodyLength::None || length == BodyLength::Length(0) {
        return Ok(body);
    }
    if matches!(length, BodyLength::Length(bytes) if bytes > LARGEST_BODY as u64) {
        return Err(TOO_LARGE);
    }
    if head.fields.has(FieldId::Expect) {
        client.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    client.body(length, &mut |part| {
        if body.len() + part.len() > LARGEST_BODY {
            return Err(TOO_LARGE);
        }
        body.extend_from_slice(part);
        Ok(())
    })?;
    Ok(body)
}

const TOO_LARGE: Trouble =
    Trouble::Wrong(413, "a request body of more than 16 MiB is not recorded");

/// The head as the server gets it: for a whole response that is not compressed, since tokens are
/// looked for in it.
fn outgoing(asked: &Asked) -> RequestHead {
    let mut head = asked.head.clone();
    framing::remove_hop_by_hop(&mut head.fields);
    for id in [
        FieldId::Host,
        FieldId::AcceptEncoding,
        FieldId::ContentLength,
        FieldId::Expect,
        FieldId::IfModifiedSince,
        FieldId::IfNoneMatch,
        FieldId::IfRange,
    ] {
        head.fields.remove(id);
    }
    if let Some(names) = &asked.names {
        head.fields = translated(&head.fields, names);
    }
    head.target = asked.url.path.clone().into_bytes();
    head.http10 = false;
    head.fields
        .push(FieldId::Host, asked.url.authority.as_bytes());
    head.fields.push(FieldId::AcceptEncoding, b"identity");
    let takes_body = matches!(head.method.as_bytes(), b"POST" | b"PUT" | b"PATCH");
    if takes_body || !asked.body.is_empty() {
        let length = asked.body.len().to_string();
        head.fields.push(FieldId::ContentLength, length.as_bytes());
    }
    head
}

/// `Referer`, `Origin` and cookies as the target knows them.
fn translated(fields: &forebay_http::Fields, names: &Names) -> forebay_http::Fields {
    let mut out = forebay_http::Fields::new();
    for field in fields.iter() {
        let value = names.to_target(field.value);
        if field.id == FieldId::Cookie {
            out.push(
                field.id,
                rewrite::cookie(&String::from_utf8_lossy(&value)).as_bytes(),
            );
        } else {
            out.push_named(field.name, &value);
        }
    }
    out
}

/// Sends the request and waits for the response's head.
fn forward(
    upstream: &mut Upstream,
    asked: &Asked,
    head: &RequestHead,
) -> Result<(Wire, ResponseHead), Trouble> {
    let mut bytes = Vec::new();
    head.write_to(&mut bytes);
    bytes.extend_from_slice(&asked.body);
    let may_reuse = head.method.is_get_or_head();
    let (mut server, is_reused) = upstream.take(&asked.url, may_reuse)?;
    let answered = server
        .send(&bytes)
        .map_err(Trouble::from)
        .and_then(|()| server.response());
    match answered {
        // The server closed it meanwhile.
        Err(Trouble::Io(_)) if is_reused => {
            let (mut server, _) = upstream.take(&asked.url, false)?;
            server.send(&bytes)?;
            let response = server.response()?;
            Ok((server, response))
        }
        answered => answered.map(|response| (server, response)),
    }
}

/// Passes the response on; returns it as the server sent it, its body, and whether the client's
/// connection can take another request.
fn back(
    upstream: &mut Upstream,
    mut server: Wire,
    client: &mut Wire,
    asked: &Asked,
    response: ResponseHead,
    keeps: bool,
) -> Result<(ResponseHead, Vec<u8>, bool), Trouble> {
    let is_head = asked.head.method == Method::Head;
    let length =
        framing::response_body(&response.fields, response.http10, response.status, is_head)
            .map_err(|error| Trouble::Wrong(502, error.message()))?;
    let reusable = framing::keeps_alive(&response.fields, response.http10);
    let mut delivery = Delivery::new(
        &response,
        length,
        asked.names.as_ref(),
        asked.head.http10,
        keeps,
    );
    server.body(length, &mut |part| delivery.take(client, part))?;
    let (content, keeps) = delivery.end(client)?;
    if reusable && length != BodyLength::UntilClose {
        upstream.keep(&asked.url, server);
    }
    Ok((response, content, keeps))
}

fn fields(fields: &forebay_http::Fields) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    fields
        .iter()
        .map(|field| (text(field.name), text(field.value)))
        .collect()
}

fn refuse(client: &mut Wire, status: u16, why: &str) -> std::io::Result<()> {
    let text = format!("forebay bench record: {why}\n");
    client.send(
        format!(
            "HTTP/1.1 {status} \r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
        .as_bytes(),
    )
}

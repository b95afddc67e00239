//! What is settled of a request before an application is asked: which script runs, and how long
//! the body is. What cannot be asked is refused without a connection.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use forebay_cgi::script::Script;
use forebay_config::settings::{Protocol, Service};
use forebay_http::FieldId;
use forebay_rules::Subject;
use forebay_upstream::Pool;

use super::{is_script_path, scripts};
use crate::client::Client;
use crate::exchange::Exchange;
use crate::failure::{Failure, Refused};
use crate::fetch::flush;
use crate::forward::{BodyFraming, Changes};
use crate::spool::Spool;
use crate::worker::{Request, Worker};

/// All that an application is told beside the request itself.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The script's name, then what the path says behind it.
    decoded: Vec<u8>,
    name_len: usize,
    /// Our own address that the client reached, as text, where it has one.
    pub(crate) local: Option<Rc<str>>,
    /// Who the client is, where trusted proxies speak for it.
    pub(super) client: Option<IpAddr>,
    /// Who was let in by name and password.
    pub(super) user: Option<Box<[u8]>>,
    /// Parameters of the operator's, by name.
    pub(super) own: Vec<(Box<str>, Vec<u8>)>,
}

impl Asked {
    /// The script that runs; one without a name where the application answers for all paths.
    pub(super) fn script(&self) -> Script<'_> {
        let (name, info) = self.decoded.split_at(self.name_len);
        Script { name, info }
    }

    /// Gives its memory back.
    pub(crate) fn end(mut self, worker: &Worker) {
        self.decoded.clear();
        worker.put_scratch(self.decoded);
    }
}

impl<C: Client> Exchange<'_, C> {
    /// Settles what a pool that does not speak HTTP is told.
    ///
    /// # Errors
    /// 404 when the path names no script, 400 when it cannot be decoded.
    pub(crate) fn settle(&mut self, pool: &Pool) -> Result<Asked, Failure> {
        let service = &self.location.service;
        let mut decoded = self.worker.take_scratch();
        let protocol = pool.settings.protocol;
        let name_len = find(self.worker, service, protocol, self.request, &mut decoded)?;
        let client = self.client_behind();
        Ok(Asked {
            decoded,
            name_len,
            local: self.client.local_address(),
            client,
            user: self.user.clone(),
            own: self.own_params(client),
        })
    }

    /// Takes the whole body from the client where that has to be before a server is asked.
    ///
    /// # Errors
    /// What [`Spool::fill`] says.
    pub(crate) async fn keep_body(
        &mut self,
        pool: &Pool,
        changes: &mut Cow<'_, Changes>,
    ) -> Result<Option<Rc<Spool>>, Failure> {
        let Some(framing) = changes.body else {
            return Ok(None);
        };
        let is_application = pool.settings.protocol != Protocol::Http;
        let keeps =
            pool.settings.buffer_requests || (is_application && framing == BodyFraming::Chunked);
        if changes.expect_continue && (keeps || is_application) {
            // No application says that it wants the body: all do.
            changes.to_mut().expect_continue = false;
            if !self.client.is_http10() {
                self.client.stage_interim(b"HTTP/1.1 100 Continue\r\n");
                flush(self.client, self.snapshot).await?;
            }
        }
        if !keeps {
            return Ok(None);
        }
        let patience = self.snapshot.settings.timeouts.request_body;
        let most = self.snapshot.settings.limits.kept_bodies_bytes;
        let body = Box::pin(Spool::fill(self.client, patience, most)).await?;
        changes.to_mut().body = Some(BodyFraming::Length(body.len()));
        Ok(Some(Rc::new(body)))
    }

    /// The client that trusted proxies before us speak for. `None`: the peer itself.
    fn client_behind(&self) -> Option<IpAddr> {
        let fields = &self.request.head.fields;
        if !fields.has(FieldId::XForwardedFor) {
            return None;
        }
        let own = self.peer.address.map(|peer| peer.ip().to_canonical());
        let client = self.peer.client(fields, &self.snapshot.settings.server);
        client.filter(|client| Some(*client) != own)
    }

    fn own_params(&self, client: Option<IpAddr>) -> Vec<(Box<str>, Vec<u8>)> {
        let request = &self.request;
        let text = client.map(|client| client.to_string());
        self.location.cgi_params(&Subject {
            host: &request.authority,
            target: &request.target,
            method: request.head.method.as_bytes(),
            client: text.as_deref().unwrap_or(&self.peer.text),
            secure: request.secure,
            fields: &request.head.fields,
        })
    }
}

/// Writes the decoded path; returns how much of it is the script's name.
fn find(
    worker: &Worker,
    service: &Service,
    protocol: Protocol,
    request: &Request,
    decoded: &mut Vec<u8>,
) -> Result<usize, Refused> {
    const NO_SCRIPT: Refused = Refused::new(404, "there is no such script");
    const MALFORMED: Refused = Refused::new(400, "the path cannot be decoded");
    let path = request.script_path();
    if has_scripts(service, protocol) {
        let names_one = is_script_path(&service.cgi, path);
        let is_directory = path.ends_with(b"/");
        if names_one || is_directory {
            let found = scripts::find(worker, service, path, decoded);
            match found.map(|script| script.name.len()) {
                Some(name_len) => return Ok(name_len),
                None if names_one || service.cgi.php.is_some() => return Err(NO_SCRIPT),
                None => {}
            }
        }
    }
    match Script::none(path, decoded) {
        Some(_) => Ok(0),
        None => Err(MALFORMED),
    }
}

/// Whether the application consists of scripts: `php`, or FastCGI with a directory of them.
fn has_scripts(service: &Service, protocol: Protocol) -> bool {
    let cgi = &service.cgi;
    let has_root = cgi.root.is_some() || (service.files.is_some() && protocol == Protocol::FastCgi);
    !cgi.extension.is_empty() && (cgi.php.is_some() || has_root)
}

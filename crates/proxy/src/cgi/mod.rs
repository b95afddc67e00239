//! Requests to FastCGI, SCGI and uwsgi servers: which script runs, what the application is told,
//! and what it says for the error log.
//!
//! What these protocols are is in `forebay-cgi`; how their responses are read in `origin.rs`.

mod asked;
mod complaints;
mod params;
mod scripts;
mod sendfile;
mod variables;

pub(crate) use asked::Asked;
pub(crate) use complaints::Complaints;
pub(crate) use params::write_request;
pub(crate) use scripts::Scripts;

use forebay_cgi::Form;
use forebay_cgi::script::names_script;
use forebay_config::settings::{Cgi, Protocol, Service};

use crate::worker::{Request, Worker};

/// The form of a pool's protocol; `None` for HTTP.
pub(crate) fn form(protocol: Protocol, keep: bool) -> Option<Form> {
    match protocol {
        Protocol::Http => None,
        Protocol::FastCgi => Some(Form::FastCgi { keep }),
        Protocol::Scgi => Some(Form::Scgi),
        Protocol::Uwsgi => Some(Form::Uwsgi),
    }
}

/// Whether `php` is for a request: it names a script, or a directory whose index is one.
pub(crate) fn is_for_php(worker: &Worker, service: &Service, request: &Request) -> bool {
    let path = request.script_path();
    is_script_path(&service.cgi, path)
        || (path.ends_with(b"/") && scripts::find(worker, service, path, &mut Vec::new()).is_some())
}

/// Whether a path is for an interpreter and for nobody else: what has such a name is run or
/// refused, and its source is never sent.
pub(crate) fn is_script_path(cgi: &Cgi, path: &[u8]) -> bool {
    names_script(path, cgi.extension.as_bytes())
}

//! What an application is told of a request: the variables of RFC 3875 section 4.1 and those that
//! every web server adds.

use std::os::unix::ffi::OsStrExt;

use forebay_cgi::script::Script;
use forebay_cgi::{Form, Params};
use forebay_config::settings::Service;
use forebay_http::uri;

use super::Asked;
use super::scripts::trimmed;
use super::variables::{Variables, write_fields, write_own};
use crate::failure::Refused;
use crate::fetch::Fetch;
use crate::forward::BodyFraming;

/// Appends a request up to the start of its body; without a body it is the whole request. `host` is
/// the one that the application gets.
///
/// # Errors
/// 411 when the length of its body is not known, 431 when the protocol cannot carry it.
pub(crate) fn write_request(
    fetch: &Fetch<'_>,
    host: &[u8],
    asked: &Asked,
    form: Form,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let length = match fetch.changes.body {
        None => None,
        Some(BodyFraming::Length(bytes)) => Some(bytes),
        Some(BodyFraming::Chunked) => {
            return Err(Refused::new(
                411,
                "the length of the request's body is not known",
            ));
        }
    };
    let params = Params::begin(out, form, length);
    let mut variables = Variables::new(params, &asked.own);
    write_script(fetch, &asked.script(), &mut variables);
    write_target(fetch, &mut variables);
    write_own(fetch, host, asked, &mut variables);
    write_fields(fetch, host, &mut variables);
    let finished = variables.finish(length.is_some());
    finished.map_err(|_| Refused::new(431, "the request is too large for the application"))
}

fn write_script(fetch: &Fetch<'_>, script: &Script<'_>, variables: &mut Variables<'_, '_>) {
    let Service { files, cgi, .. } = fetch.service;
    let root = cgi
        .root
        .as_deref()
        .or(files.as_ref().map(|files| &*files.root));
    variables.pair(b"SCRIPT_NAME", script.name);
    variables.pair(b"PATH_INFO", script.info);
    variables.joined(b"DOCUMENT_URI", &[script.name, script.info]);
    let Some(root) = root else { return };
    variables.pair(b"DOCUMENT_ROOT", root.as_os_str().as_bytes());
    if script.name.is_empty() {
        return;
    }
    variables.joined(b"SCRIPT_FILENAME", &[trimmed(root), script.name]);
    let leads_out = script
        .info
        .split(|&byte| byte == b'/')
        .any(|segment| segment == b"..");
    if !script.info.is_empty() && !leads_out {
        variables.joined(b"PATH_TRANSLATED", &[trimmed(root), script.info]);
    }
}

fn write_target(fetch: &Fetch<'_>, variables: &mut Variables<'_, '_>) {
    let request = fetch.request;
    let (_, query) = uri::split_path(&request.target);
    variables.pair(b"REQUEST_METHOD", request.head.method.as_bytes());
    variables.pair(b"REQUEST_URI", &request.target);
    variables.pair(b"QUERY_STRING", query.unwrap_or_default());
}

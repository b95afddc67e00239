//! Stores of sessions: what their settings say together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::server_tls;
use crate::diagnostic::Diagnostic;
use crate::draft::{Draft, SessionDraft, Spanned};
use crate::read::no_socket;
use crate::settings::{Durability, Full, ListenAddress, ServerTls, Session};
use crate::units::show_size;

/// All stores.
pub(super) fn sessions(draft: &Draft, out: &mut Vec<Diagnostic>) -> BTreeMap<String, Session> {
    let mut paths: Vec<(&PathBuf, &str)> = Vec::new();
    for (name, own) in &draft.sessions {
        let Some(path) = &own.path else { continue };
        match paths.iter().find(|(other, _)| *other == &path.value) {
            Some((_, other)) => {
                let message = format!("[session.{other}] is kept in this directory already");
                let expected = "a directory of its own for each store";
                out.push(Diagnostic::error(path.span.clone(), message).expected(expected));
            }
            None => paths.push((&path.value, &name.value)),
        }
    }
    let all = draft.sessions.iter();
    all.map(|(name, own)| (name.value.clone(), session(name, own, out)))
        .collect()
}

fn session(name: &Spanned<String>, own: &SessionDraft, out: &mut Vec<Diagnostic>) -> Session {
    let has_path = own.path.is_some();
    let mut session = Session {
        addresses: own.addresses.iter().map(|one| one.value.clone()).collect(),
        path: own.path.as_ref().map(|path| path.value.clone()),
        durability: own.durability.unwrap_or(match has_path {
            true => Durability::Interval,
            false => Durability::Never,
        }),
        full: own.full.unwrap_or(match has_path {
            true => Full::Spill,
            false => Full::Refuse,
        }),
        user: own.user.as_ref().map(|user| user.value.clone()),
        tls: tls(name, own, out),
        ..own.session.clone()
    };
    let is_unix = |one: &Spanned<_>| matches!(one.value, ListenAddress::Unix(_));
    if session.socket_mode != Session::default().socket_mode && !own.addresses.iter().any(is_unix) {
        out.extend(own.addresses.first().map(no_socket));
    }
    let mut wrong = |message: &str, suggestion: &str| {
        let message = format!("[session.{}]: {message}", name.value);
        out.push(Diagnostic::error(name.span.clone(), message).suggest(suggestion));
    };
    let write_path = "write path = \"/var/lib/forebay/session\"";
    if !has_path && session.durability != Durability::Never {
        wrong("nothing can be on disk without a `path`", write_path);
    }
    if !has_path && session.full == Full::Spill {
        wrong("values cannot be spilled without a `path`", write_path);
    }
    if session.user.is_some() && session.token.is_none() {
        wrong(
            "a `user` needs a `token`",
            "write token = \"…\" with a long random text",
        );
    }
    if session.max_item_bytes > session.memory_bytes / 4 {
        let message = format!(
            "`max_item` ({}) is more than a quarter of `memory` ({})",
            show_size(session.max_item_bytes),
            show_size(session.memory_bytes),
        );
        wrong(&message, "raise memory");
    }
    if session.buffers_bytes == Session::default().buffers_bytes {
        // Nobody has to think of it who raises the other.
        session.buffers_bytes = session.buffers_bytes.max(2 * session.max_item_bytes);
    }
    if session.buffers_bytes / 2 < session.max_item_bytes {
        let message = format!(
            "`buffers` ({}) is less than twice `max_item` ({})",
            show_size(session.buffers_bytes),
            show_size(session.max_item_bytes),
        );
        wrong(&message, "raise buffers");
    }
    session
}

fn tls(name: &Spanned<String>, own: &SessionDraft, out: &mut Vec<Diagnostic>) -> Option<ServerTls> {
    let place = format!("[session.{}]", name.value);
    let is_unix = |one: &Spanned<_>| matches!(one.value, ListenAddress::Unix(_));
    let reached = !own.addresses.is_empty() && own.addresses.iter().all(is_unix);
    server_tls::check(&place, &own.tls, reached, out)
}

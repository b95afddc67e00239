//! The rows of `[session.NAME]`.

use std::path::PathBuf;

use crate::address;
use crate::draft::{SessionDraft, Spanned};
use crate::settings::{Durability, Full};
use crate::words;

use super::disk::absolute;
use super::nested;
use super::server_tls::pem;
use super::setting::Setting;
use super::{DAY, saturate};

const MIB: u64 = 1 << 20;

/// A row of `[session.NAME]` that is one field of `Session`.
macro_rules! session {
    ($kind:ident $name:literal => |$session:ident, $value:ident| $set:expr, $min:expr, $max:expr, $default:literal, $example:literal, $doc:literal) => {
        Setting::$kind($name, |draft: &mut SessionDraft, $value| {
            let $session = &mut draft.session;
            $set;
        })
        .between($min, $max)
        .row("session", $default, $example, $doc)
    };
}

#[rustfmt::skip]
pub(crate) static SESSION: &[Setting<SessionDraft>] = &[
    Setting::shape("address", "an address such as \"127.0.0.1:11211\" or \"unix:/run/session.sock\", or a list of them", |draft: &mut SessionDraft, row, given, out| {
        for text in nested::text_or_list((row, given), out) {
            match address::listen(&text.value) {
                Ok(value) => draft.addresses.push(Spanned { value, span: text.span }),
                Err(refused) => nested::refuse(row, given, refused, out),
            }
        }
    })
    .row("session", "none: it must be given", "\"127.0.0.1:11211\"",
        "Where clients connect. memcached's text, meta and binary protocols and Tokyo Tyrant's binary protocol and HTTP are told apart by their first bytes."),
    Setting::text("socket_mode", super::SOCKET_MODE, |draft: &mut SessionDraft, text| {
        draft.session.socket_mode = words::socket_mode(&text.value)?;
        Ok(())
    })
    .row("session", "\"0660\"", "\"0666\"",
        "The permissions of the files of Unix sockets, in octal digits: who may write to one may connect. With the default those are the server's user and who is in its group."),
    Setting::text("path", "the absolute path of a directory", |draft: &mut SessionDraft, text| {
        draft.path = Some(Spanned { value: PathBuf::from(absolute(&text.value)?), span: text.span });
        Ok(())
    })
    .row("session", "none: in memory only", "\"/var/lib/forebay/session\"",
        "The directory that sessions are kept in over a restart. It is made if it is not there, and belongs to one store."),
    session!(size "memory" => |session, bytes| session.memory_bytes = bytes, MIB, 1 << 50,
        "\"256MiB\"", "\"1GiB\"", "What sessions in memory may take, everything counted. It is never exceeded."),
    Setting::choice("durability", &["always", "interval", "never"], |draft: &mut SessionDraft, word| {
        draft.durability = Some(match word {
            "always" => Durability::Always,
            "interval" => Durability::Interval,
            _ => Durability::Never,
        });
    })
    .row("session", "\"interval\" with a `path`, else \"never\"", "\"always\"",
        "When a write is on disk: before it is answered (those that wait share one wait for the disk), within a second, or when the operating system likes. Whatever it says, nothing is lost when the program ends in order, and with \"never\" at most the last second when it is killed."),
    Setting::choice("full", &["evict", "spill", "refuse"], |draft: &mut SessionDraft, word| {
        draft.full = Some(match word {
            "evict" => Full::Evict,
            "spill" => Full::Spill,
            _ => Full::Refuse,
        });
    })
    .row("session", "\"spill\" with a `path`, else \"refuse\"", "\"evict\"",
        "What a write does when `memory` is spent: sessions that were not read for long go, as in memcached; or their values leave memory and are read from `path` when they are asked for; or the write is refused, and nothing goes before its time. With \"spill\", each session still takes about 100 bytes of memory."),
    session!(size_or_unlimited "quota" => |session, bytes| session.quota_bytes = bytes, MIB, 1 << 50,
        "\"unlimited\"", "\"10GiB\"", "What keys and values may take, in memory and on disk. Beyond, new values are refused; it is looked at four times a second."),
    session!(size "max_item" => |session, bytes| session.max_item_bytes = bytes, 1 << 10, 1 << 29,
        "\"1MiB\"", "\"8MiB\"", "The longest value. At most a quarter of `memory`."),
    session!(size "buffers" => |session, bytes| session.buffers_bytes = bytes, 1 << 20, 1 << 40,
        "\"256MiB\", or twice `max_item` if that is more", "\"1GiB\"", "What half-sent commands and unread answers may take, of all connections together and beside `memory`; less than 16 KiB of a connection is not counted. Beyond, the connection that needs more is closed. At least twice `max_item`."),
    session!(count "max_connections" => |session, n| session.max_connections = saturate(n), 1, 10_000_000,
        "65536", "10000", "Connections at once. Beyond, a client is told `ERROR Too many open connections`."),
    session!(time_or_off "idle_timeout" => |session, time| session.idle_timeout = time, 1_000, 365 * DAY,
        "\"off\"", "\"1h\"", "A connection that has sent no command for so long is closed."),
    session!(time "stalled_timeout" => |session, time| session.stalled_timeout = time, 1_000, DAY,
        "\"1m\"", "\"10s\"", "A client that takes so long over half a command, or over reading an answer, is disconnected."),
    Setting::text("token", super::disk::TOKEN, |draft: &mut SessionDraft, text| {
        draft.session.token = Some(words::token(&text.value)?);
        Ok(())
    })
    .row("session", "none: whoever can connect", "\"a-long-random-text\"",
        "What clients must show: as memcached's `-Y` has it in the text protocol, by SASL PLAIN in the binary one, as `Authorization` over HTTP. Tokyo Tyrant's binary protocol has no way to show it, and is refused."),
    Setting::text("user", "a name", |draft: &mut SessionDraft, text| {
        draft.user = Some(Spanned { value: words::plain_name(&text.value)?, span: text.span });
        Ok(())
    })
    .row("session", "any", "\"shop\"", "The user's name that goes with `token`."),
    pem!(SessionDraft, "session", certificate, "none: no TLS", "\"/etc/forebay/session.pem\"", "The certificate, followed by those that signed it; connections over TCP are then encrypted. A Unix socket never speaks TLS."),
    pem!(SessionDraft, "session", key, "none", "\"/etc/forebay/session.key\"", "The certificate's key."),
    pem!(SessionDraft, "session", client_ca, "none: clients need no certificate", "\"/etc/forebay/clients.pem\"", "Authorities of which each client over TCP must have a certificate."),
];

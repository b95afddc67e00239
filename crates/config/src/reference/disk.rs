//! The rows of `[cache.disk]` and `[purge]`.

use crate::address::{self, Refused};
use crate::draft::{DiskDraft, Spanned};
use crate::settings::Purge;
use crate::words;

use super::setting::Setting;
use super::value::{each, each_bare};
use super::{DAY, saturate};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// What a directory is, in words.
const DIRECTORY: &str = "the absolute path of a directory, such as \"/var/cache/forebay\"";

pub(crate) static DISK: &[Setting<DiskDraft>] = &[
    Setting::text("path", DIRECTORY, |disk: &mut DiskDraft, text| {
        disk.path = Some(Spanned {
            value: absolute(&text.value)?,
            span: text.span,
        });
        Ok(())
    })
    .row(
        "cache.disk",
        "none: it must be given",
        "\"/var/cache/forebay\"",
        "The directory that objects are kept in. It is made if it is not there, and belongs to one server.",
    ),
    Setting::list("more_paths", DIRECTORY, |disk: &mut DiskDraft, list, wrong| {
        disk.more_paths = each(list, absolute, wrong);
    })
    .row(
        "cache.disk",
        "[]",
        "[\"/disk2/forebay\", \"/disk3/forebay\"]",
        "Further directories, best one for each disk. Objects are spread over them; when a disk fails, its objects are gone and the others go on.",
    ),
    Setting::size("size", |disk: &mut DiskDraft, bytes| disk.disk.size_bytes = bytes)
        .between(64 * MIB, 1 << 50)
        .row(
            "cache.disk",
            "none: it must be given",
            "\"20GiB\"",
            "What each directory may take, everything counted. It is never exceeded.",
        ),
    Setting::size_or_share("max_object", |disk: &mut DiskDraft, share| {
        disk.max_object = Some(share);
    })
    .between(1, u64::MAX)
    .row(
        "cache.disk",
        "12.5 % of `size`, at most 1GiB",
        "\"4GiB\"",
        "Objects larger than this are streamed, not stored: a size, or a percentage of `size`; at most a quarter of it.",
    ),
    Setting::size("large", |disk: &mut DiskDraft, bytes| disk.disk.large_bytes = bytes)
        .between(64 * KIB, 1 << 40)
        .row(
            "cache.disk",
            "\"1MiB\"",
            "\"256KiB\"",
            "Objects larger than this go straight to disk while they are fetched, and are read from there in pieces; smaller ones move between memory and disk.",
        ),
    Setting::time_or_off("save_on_stop", |disk: &mut DiskDraft, time| {
        disk.disk.save_on_stop = time;
    })
    .between(1, DAY)
    .row(
        "cache.disk",
        "\"20s\"",
        "\"off\"",
        "How long a stop may take to write to disk what is only in memory, the hottest first, so that the next start is warm.",
    ),
    Setting::count("readers", |disk: &mut DiskDraft, n| disk.disk.readers = saturate(n))
        .between(1, 256)
        .row(
            "cache.disk",
            "4",
            "16",
            "Threads for reads that have to wait for a disk. What the system has in memory is read at once, without them.",
        ),
    Setting::size("write_queue", |disk: &mut DiskDraft, bytes| {
        disk.disk.write_queue_bytes = bytes;
    })
    .between(MIB, 1 << 40)
    .row(
        "cache.disk",
        "\"64MiB\"",
        "\"256MiB\"",
        "Bytes that wait to be written; beyond: they are not kept, and counted. They count as memory beside `cache.memory`.",
    ),
];

pub(crate) static PURGE: &[Setting<Purge>] = &[
    Setting::list(
        "allow",
        "networks or addresses such as \"10.0.0.0/8\"",
        |purge: &mut Purge, list, wrong| purge.allow = each_bare(list, address::network, wrong),
    )
    .row(
        "purge",
        "[]",
        "[\"127.0.0.1\", \"10.0.0.0/8\"]",
        "Clients that may purge with the methods `PURGE` and `BAN`. All others get 403.",
    ),
    Setting::list("tokens", TOKEN, |purge: &mut Purge, list, wrong| {
        purge.tokens = each_bare(list, words::token, wrong)
    })
    .row(
        "purge",
        "[]",
        "[\"a-long-random-text\"]",
        "Whoever sends one of these as `Authorization: Bearer …` may purge as well.",
    ),
];

/// What a token is, in words.
pub(crate) const TOKEN: &str = "secret texts of 16 to 256 letters, digits and -._~+/=";

pub(super) fn absolute(text: &str) -> Result<String, Refused> {
    if text.starts_with('/') && !text.contains('\0') {
        Ok(text.to_owned())
    } else {
        Err(Refused::new(format!("`{text}` is not an absolute path")))
    }
}

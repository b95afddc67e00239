//! A HAR file as types: what of it is used. Writers leave out what they do
//! not know, or write `null` or -1 for it.

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) log: Log,
}

#[derive(Deserialize)]
pub(super) struct Log {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) pages: Vec<Page>,
    pub(super) entries: Vec<Raw>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Page {
    #[serde(deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) title: String,
}

#[derive(Deserialize)]
pub(super) struct Raw {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) pageref: Option<String>,
    #[serde(default, rename = "startedDateTime", deserialize_with = "or_default")]
    pub(super) started: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) time: f64,
    pub(super) request: RawRequest,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) response: RawResponse,
    /// Chromium: `memory`, `disk`, …
    #[serde(default, rename = "_fromCache", deserialize_with = "or_default")]
    pub(super) from_cache: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RawRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) headers: Vec<Pair>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) cookies: Vec<Pair>,
    #[serde(default, rename = "postData", deserialize_with = "or_default")]
    pub(super) body: Option<PostData>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Pair {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) value: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct PostData {
    #[serde(rename = "mimeType", deserialize_with = "or_default")]
    pub(super) mime: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) text: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) params: Vec<Pair>,
    /// Not in the specification, written by several tools.
    #[serde(deserialize_with = "or_default")]
    pub(super) encoding: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct RawResponse {
    #[serde(deserialize_with = "or_default")]
    pub(super) status: f64,
    #[serde(deserialize_with = "or_default")]
    pub(super) content: Content,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Content {
    #[serde(rename = "mimeType", deserialize_with = "or_default")]
    pub(super) mime: String,
}

/// `null` is as good as absent.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

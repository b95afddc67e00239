//! What a request carries: parameters in the query, a form, a raw body, files.

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::headers;
use super::sampler::Argument;
use super::template;
use super::tree::Element;
use crate::scenario::Step;

/// Between the parts of a multipart body.
const BOUNDARY: &str = "forebay-a7c1f29e5b3d4860";

/// A parameter as a scenario writes it.
struct Pair {
    name: String,
    value: String,
    encode: bool,
    equals: bool,
}

/// Puts parameters, body and files into a step.
pub(super) fn fill(
    context: &mut Context,
    sampler: &Element<'_>,
    arguments: &[Argument],
    method: &str,
    step: &mut Step,
    fields: &mut Vec<(String, String)>,
) {
    let files = files(context, sampler);
    let in_query = !matches!(method, "POST" | "PUT" | "PATCH");
    let unnamed =
        !arguments.is_empty() && arguments.iter().all(|argument| argument.name.is_empty());
    if sampler.flag("HTTPSampler.postBodyRaw") || (unnamed && !in_query) {
        let raw: String = arguments
            .iter()
            .map(|argument| argument.value.as_str())
            .collect();
        let body = context.text(&raw);
        step.body = (!body.is_empty()).then_some(body);
        if !files.is_empty() {
            context.note(Fate::LeftOut, "its files, for it has a body of its own");
        }
        return;
    }
    let pairs: Vec<Pair> = arguments
        .iter()
        .map(|argument| Pair {
            name: context.text(&argument.name),
            value: context.text(&argument.value),
            encode: argument.encode,
            equals: argument.equals,
        })
        .collect();
    match files.as_slice() {
        [only] if pairs.is_empty() && only.parameter.is_empty() => {
            step.body_file = Some(only.path.clone());
            if !only.mime.is_empty()
                && fields
                    .iter()
                    .all(|(name, _)| !name.eq_ignore_ascii_case("Content-Type"))
            {
                headers::set(fields, "Content-Type".into(), only.mime.clone());
            }
            return;
        }
        [] => {}
        _ => context.note(
            Fate::LeftOut,
            "the files it uploads; its other parameters are sent",
        ),
    }
    if pairs.is_empty() {
        return;
    }
    if in_query {
        query(context, &pairs, step);
    } else if sampler.flag("HTTPSampler.DO_MULTIPART_POST") {
        multipart(&pairs, step, fields);
    } else {
        form(context, pairs, step, fields);
    }
}

struct File {
    path: String,
    parameter: String,
    mime: String,
}

fn files(context: &mut Context, sampler: &Element<'_>) -> Vec<File> {
    let Some(list) = sampler.properties.inner("HTTPsampler.Files") else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for member in list.members("HTTPFileArgs.files") {
        let path = context.settled(member.text("File.path").trim());
        if !path.is_empty() {
            out.push(File {
                path,
                parameter: member.text("File.paramname").trim().into(),
                mime: member.text("File.mimetype").trim().into(),
            });
        }
    }
    out
}

/// Parameters go into the URL in their order, encoded here. Only values that are not known
/// before they are sent go into `query`, which encodes them then.
fn query(context: &mut Context, pairs: &[Pair], step: &mut Step) {
    let mut text = String::new();
    for pair in pairs {
        let late = pair.encode && !template::is_safe_in_url(&pair.value);
        if late && !step.query.contains_key(&pair.name) && template::plain(&pair.name).is_some() {
            step.query.insert(pair.name.clone(), pair.value.clone());
            continue;
        }
        if late {
            context.note(
                Fate::Changed,
                format!(
                    "the value of `{}` is not percent-encoded",
                    shortened(&pair.name, 60)
                ),
            );
        }
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&written(pair));
    }
    if let Some(url) = &mut step.url
        && !text.is_empty()
    {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&text);
    }
}

/// `name=value`, encoded where that was asked for.
fn written(pair: &Pair) -> String {
    let part = |text: &str| {
        if pair.encode {
            template::encode(text)
        } else {
            text.replace(' ', "%20")
        }
    };
    if pair.value.is_empty() && !pair.equals {
        part(&pair.name)
    } else {
        format!("{}={}", part(&pair.name), part(&pair.value))
    }
}

fn form(
    context: &mut Context,
    pairs: Vec<Pair>,
    step: &mut Step,
    fields: &mut Vec<(String, String)>,
) {
    let mut names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
    names.sort_unstable();
    let distinct = names.windows(2).all(|two| two[0] != two[1]);
    let other_type = fields.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("Content-Type")
            && !value
                .to_ascii_lowercase()
                .starts_with("application/x-www-form-urlencoded")
    });
    if distinct && !other_type {
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("Content-Type"));
        for pair in pairs {
            // What is encoded already is decoded, for the form encodes it.
            let (name, value) = if pair.encode {
                (pair.name, pair.value)
            } else {
                (template::decode(&pair.name), template::decode(&pair.value))
            };
            step.form.insert(name, value);
        }
        return;
    }
    if pairs
        .iter()
        .any(|pair| pair.encode && !template::is_safe_in_url(&pair.value))
    {
        context.note(
            Fate::Changed,
            "it is sent as a body as it stands; variables in it are not percent-encoded",
        );
    }
    let body: Vec<String> = pairs.iter().map(written).collect();
    step.body = Some(body.join("&"));
    if !other_type {
        headers::set(
            fields,
            "Content-Type".into(),
            "application/x-www-form-urlencoded".into(),
        );
    }
}

/// RFC 7578.
fn multipart(pairs: &[Pair], step: &mut Step, fields: &mut Vec<(String, String)>) {
    use std::fmt::Write as _;
    let mut body = String::new();
    for pair in pairs {
        let name = pair.name.replace('"', "%22").replace(['\r', '\n'], " ");
        let _ = write!(
            body,
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n",
            pair.value
        );
    }
    let _ = write!(body, "--{BOUNDARY}--\r\n");
    step.body = Some(body);
    headers::set(
        fields,
        "Content-Type".into(),
        format!("multipart/form-data; boundary={BOUNDARY}"),
    );
}

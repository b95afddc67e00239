//! The OpenAPI 3.1 description, made from the table of routes.

use crate::routes::{Content, Parameter, ROUTES, Route, Verb};
use crate::schema;
use serde_json::{Map, Value, json};

/// The document, as `GET /api/v1/openapi.json` gives it.
pub(crate) fn document(version: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.name()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Forebay",
            "summary": "The administration of a caching reverse proxy",
            "version": version,
            "license": { "name": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{}, { "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schema::all(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the configuration. Not needed on a Unix socket, nor on a loopback address while no token is configured.",
                },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "x-role": route.role.map_or("none", |role| role.name()),
        "responses": responses(route),
    });
    if route.role.is_none() {
        operation["security"] = json!([{}]);
    }
    if !route.parameters.is_empty() {
        let parameters: Vec<Value> = route.parameters.iter().map(parameter).collect();
        operation["parameters"] = parameters.into();
    }
    if let Some(schema) = route.body {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(schema) } },
        });
    }
    operation
}

/// `get_objects_hottest`
fn operation_id(route: &Route) -> String {
    let path = route.path.trim_start_matches("/api/v1").trim_matches('/');
    let words: String = path
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let prefix = if route.path.starts_with("/api/") || route.verb == Verb::Get && words.is_empty() {
        ""
    } else {
        "page_"
    };
    format!(
        "{}_{prefix}{}",
        route.verb.name(),
        if words.is_empty() {
            "dashboard"
        } else {
            &words
        }
    )
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.doc,
        "schema": { "type": if parameter.is_number { "integer" } else { "string" } },
    })
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    for status in route.statuses {
        let is_good = *status < 300;
        let response = if is_good {
            json!({ "description": "Done.", "content": content(&route.answer) })
        } else {
            error(meaning(*status))
        };
        responses.insert(status.to_string(), response);
    }
    let mut general = vec![400, 403, 421];
    general.extend(route.role.map(|_| 401));
    for status in general {
        responses.insert(status.to_string(), error(meaning(status)));
    }
    Value::Object(responses)
}

fn content(content: &Content) -> Value {
    match content {
        Content::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
        Content::Lines(schema) => {
            json!({ "application/x-ndjson": { "schema": reference(schema) } })
        }
        Content::Text(media_type) => {
            let mut content = Map::new();
            content.insert(
                (*media_type).into(),
                json!({ "schema": { "type": "string" } }),
            );
            Value::Object(content)
        }
    }
}

fn error(meaning: &str) -> Value {
    json!({
        "description": meaning,
        "content": { "application/json": { "schema": reference("Error") } },
    })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request is malformed, or has a parameter that is not known.",
        401 => "A token is needed, and this is none.",
        403 => "The token's role is not enough, or the request comes from another web page.",
        404 => "It is not there.",
        409 => "It is under way, or there, already.",
        413 => "The body is larger than 1 MiB.",
        415 => "The body must be JSON and say so in `Content-Type`.",
        421 => "`Host` is neither an IP address nor a name of this server.",
        422 => "What was asked makes no sense; nothing was done.",
        500 => "The server failed; nothing was done.",
        503 => "Not in this server, or not now.",
        _ => "",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every `$ref` below a value.
    fn references(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                if key == "$ref" {
                    into.insert(value.as_str().unwrap().to_owned());
                }
                references(value, into);
            }),
            Value::Array(elements) => elements.iter().for_each(|value| references(value, into)),
            _ => {}
        }
    }

    #[test]
    fn it_lists_the_routes_and_nothing_else() {
        let document = document("1.2.3");
        let mut listed = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                listed.insert((path.clone(), method.clone()));
                assert!(operation["responses"].as_object().unwrap().len() > 1);
            }
        }
        let routes: BTreeSet<(String, String)> = ROUTES
            .iter()
            .map(|route| (route.path.to_owned(), route.verb.name().to_owned()))
            .collect();
        assert_eq!(listed, routes);
    }

    #[test]
    fn every_schema_that_is_named_is_there_and_every_one_there_is_named() {
        let document = document("1.2.3");
        let mut named = BTreeSet::new();
        references(&document, &mut named);
        let there: BTreeSet<String> = document["components"]["schemas"]
            .as_object()
            .unwrap()
            .keys()
            .map(|name| format!("#/components/schemas/{name}"))
            .collect();
        assert_eq!(named, there);
    }

    #[test]
    fn each_operation_has_a_name_of_its_own() {
        let names: BTreeSet<String> = ROUTES.iter().map(operation_id).collect();
        assert_eq!(names.len(), ROUTES.len(), "{names:?}");
    }

    #[test]
    fn every_status_has_its_meaning() {
        for status in ROUTES.iter().flat_map(|route| route.statuses) {
            assert!(*status < 300 || !meaning(*status).is_empty(), "{status}");
        }
    }
}

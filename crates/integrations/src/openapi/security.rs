//! The authentication schemes of a document.

use super::document::Document;
use crate::{auth::Scheme, names::function_name};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns every scheme of a document, by name. Account fields are named after the scheme's kind,
/// and prefixed with its name if there are several of that kind.
pub(super) fn schemes(document: &Document<'_>) -> BTreeMap<String, Scheme> {
    let declared = document.root()["components"]["securitySchemes"].as_object();
    let declared: Vec<(&String, &Value)> = declared
        .into_iter()
        .flatten()
        .filter_map(|(name, scheme)| Some((name, document.resolved(scheme)?)))
        .collect();
    let kinds: Vec<&str> = declared.iter().map(|(_, scheme)| kind(scheme)).collect();
    let read = |((name, scheme), own): ((&String, &Value), &&str)| {
        let is_only_one = kinds.iter().filter(|kind| *kind == own).count() == 1;
        let field = |word: &str| {
            if is_only_one { word.to_owned() } else { format!("{}_{word}", function_name(name)) }
        };
        ((*name).clone(), convert_scheme(scheme, &field))
    };
    declared.iter().copied().zip(&kinds).map(read).collect()
}

/// Returns the alternative sets of schemes of an operation, or else those of the document.
pub(super) fn required_schemes(document: &Document<'_>, operation: &Value) -> Vec<Vec<String>> {
    let sets = operation.get("security").or_else(|| document.root().get("security"));
    let sets = sets.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    sets.map(|set| set.keys().cloned().collect()).collect()
}

fn kind(scheme: &Value) -> &'static str {
    match scheme["type"].as_str().unwrap_or_default() {
        "apiKey" => "key",
        "http" => match scheme["scheme"].as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
            "basic" => "basic",
            "bearer" => "token",
            _ => "",
        },
        "oauth2" if !scheme["flows"]["clientCredentials"].is_null() => "client",
        "oauth2" | "openIdConnect" => "token",
        _ => "",
    }
}

fn convert_scheme(scheme: &Value, field: &dyn Fn(&str) -> String) -> Scheme {
    let bearer = |field: String| Scheme::KeyInHeader {
        field,
        header: "Authorization".to_owned(),
        before: "Bearer ".to_owned(),
    };
    let text = |name: &str| scheme[name].as_str().unwrap_or_default().to_owned();
    match scheme["type"].as_str().unwrap_or_default() {
        "apiKey" => match text("in").as_str() {
            "header" => {
                Scheme::KeyInHeader { field: field("api_key"), header: text("name"), before: String::new() }
            }
            "query" => Scheme::KeyInQuery { field: field("api_key"), parameter: text("name") },
            "cookie" => Scheme::KeyInCookie { field: field("api_key"), cookie: text("name") },
            place => Scheme::Unsupported(format!("a key in {place}")),
        },
        "http" => match text("scheme").to_ascii_lowercase().as_str() {
            "bearer" => bearer(field("token")),
            "basic" => Scheme::Basic { username: field("username"), password: field("password") },
            other => Scheme::Unsupported(other.to_owned()),
        },
        "oauth2" => {
            let flow = &scheme["flows"]["clientCredentials"];
            match flow["tokenUrl"].as_str() {
                Some(url) => Scheme::ClientCredentials {
                    id: field("client_id"),
                    secret: field("client_secret"),
                    token_url: url.to_owned(),
                    scopes: flow["scopes"]
                        .as_object()
                        .into_iter()
                        .flat_map(|scopes| scopes.keys().cloned())
                        .collect::<Vec<_>>()
                        .join(" "),
                },
                // The user obtains a token by another flow and enters it.
                None => bearer(field("token")),
            }
        }
        "openIdConnect" => bearer(field("token")),
        other => Scheme::Unsupported(other.to_owned()),
    }
}

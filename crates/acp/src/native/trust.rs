//! `trust/*`: lists the items of a project that need trust, and changes the trust in them.
//!
//! These methods are served only under `_tiller/`, to the program that owns the session. No model,
//! script or server can reach them.

use super::services::{RequestContext, ServiceError, TrustGrant};
use crate::{
    connection::errors,
    native::{fields::Fields, services::NativeServices},
};
use agent_client_protocol::Error;
use serde_json::Value;

/// A request about trust.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TrustRequest {
    List,
    Give(Vec<TrustGrant>),
    /// Revokes the trust in the items with these ids; in all items without ids.
    Take(Option<Vec<String>>),
}

impl TrustRequest {
    /// Decodes a request; `None` if the name is unknown.
    pub(crate) fn decode(name: &str, fields: &Fields) -> Option<Result<Self, Error>> {
        match name {
            "trust/list" => Some(Ok(Self::List)),
            "trust/give" => Some(parse_items(fields).map(Self::Give)),
            "trust/take" => Some(parse_ids(fields).map(Self::Take)),
            _ => None,
        }
    }

    /// Performs the request.
    pub(crate) async fn act(
        self,
        context: &RequestContext,
        services: &dyn NativeServices,
    ) -> Result<Value, ServiceError> {
        match self {
            Self::List => services.list_trust(context).await,
            Self::Give(items) => services.grant_trust(context, items).await,
            Self::Take(ids) => services.revoke_trust(context, ids).await,
        }
    }
}

fn parse_items(fields: &Fields) -> Result<Vec<TrustGrant>, Error> {
    let mut items = Vec::new();
    for item in fields.list("items")? {
        let item = Fields::of(item)?;
        items.push(TrustGrant { id: item.text("id")?, hash: item.text("hash")? });
    }
    match items.is_empty() {
        true => Err(errors::invalid_params("Missing list param: items")),
        false => Ok(items),
    }
}

/// Parses the ids. An empty list is an error; it does not mean all items.
fn parse_ids(fields: &Fields) -> Result<Option<Vec<String>>, Error> {
    match (fields.has("ids"), fields.texts("ids")?) {
        (false, _) => Ok(None),
        (true, ids) if ids.is_empty() => Err(errors::invalid_params("Missing list param: ids")),
        (true, ids) => Ok(Some(ids)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn p13_trust_is_granted_only_with_the_hash_that_was_shown() {
        let decode = |name: &str, params: Value| {
            let decoded = TrustRequest::decode(name, &Fields::of(params).unwrap());
            decoded.unwrap().map_err(|error| error.message)
        };
        let item = TrustGrant { id: "hook:x#y".to_owned(), hash: "h".to_owned() };
        assert_eq!(
            decode("trust/give", json!({ "items": [{ "id": "hook:x#y", "hash": "h" }] })),
            Ok(TrustRequest::Give(vec![item]))
        );
        for (params, says) in [
            (json!({}), "Missing list param: items"),
            (json!({ "items": [] }), "Missing list param: items"),
            (json!({ "items": ["hook:x#y"] }), "Params must be an object"),
            (json!({ "items": [{ "id": "hook:x#y" }] }), "Missing string param: hash"),
        ] {
            assert_eq!(decode("trust/give", params).unwrap_err(), says);
        }
        assert_eq!(decode("trust/take", json!({})), Ok(TrustRequest::Take(None)));
        assert!(decode("trust/take", json!({ "ids": [] })).is_err());
        assert!(TrustRequest::decode("trust/all", &Fields::of(Value::Null).unwrap()).is_none());
    }
}

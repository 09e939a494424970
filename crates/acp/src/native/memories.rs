//! `memories/*`: lists, saves and forgets memories for a program's user.
//!
//! These methods are served only under `_tiller/`, to the program that owns the session: what they
//! save counts as the user's own.

use super::services::{ListMemories, RequestContext, ServiceError};
use crate::{
    connection::errors,
    native::{fields::Fields, services::NativeServices},
};
use agent::{MEMORIES_LISTED, MemoryDraft, MemoryId};
use agent_client_protocol::Error;
use serde_json::Value;
use std::str::FromStr;

/// The greatest number of days until a memory expires.
const DAYS_MAX: u64 = 3_650;

/// A request about memories.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MemoriesRequest {
    List(ListMemories),
    Save(MemoryDraft),
    Forget(MemoryId),
}

impl MemoriesRequest {
    /// Decodes a request; `None` if the name is unknown.
    pub(crate) fn decode(name: &str, fields: &Fields) -> Option<Result<Self, Error>> {
        match name {
            "memories/list" => Some(list(fields).map(Self::List)),
            "memories/save" => Some(draft(fields).map(Self::Save)),
            "memories/forget" => {
                let id =
                    id(fields).and_then(|id| id.ok_or_else(|| errors::invalid_params("Missing param: id")));
                Some(id.map(Self::Forget))
            }
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
            Self::List(query) => services.list_memories(context, query).await,
            Self::Save(draft) => services.save_memory(context, draft).await,
            Self::Forget(id) => services.forget_memory(context, id).await,
        }
    }
}

fn list(fields: &Fields) -> Result<ListMemories, Error> {
    let most = MEMORIES_LISTED as u64;
    let limit = fields.count("limit", 1, most, most)?;
    Ok(ListMemories {
        query: fields.optional("query")?,
        kind: parsed(fields, "type")?,
        class: parsed(fields, "memoryClass")?,
        limit: usize::try_from(limit).unwrap_or(MEMORIES_LISTED),
    })
}

fn draft(fields: &Fields) -> Result<MemoryDraft, Error> {
    let days = match fields.has("expiresDays") {
        true => Some(fields.count("expiresDays", 0, 0, DAYS_MAX)?),
        false => None,
    };
    Ok(MemoryDraft {
        id: id(fields)?,
        kind: parsed(fields, "type")?,
        class: parsed(fields, "memoryClass")?,
        title: fields.optional("title")?,
        content: fields.optional("content")?,
        pinned: fields.optional_flag("pinned")?,
        expires_days: days.map(|days| u32::try_from(days).unwrap_or_default()),
        renews: false,
    })
}

fn id(fields: &Fields) -> Result<Option<MemoryId>, Error> {
    match fields.count("id", 0, 0, i64::MAX as u64)? {
        0 => Ok(None),
        number => Ok(Some(MemoryId(number))),
    }
}

/// Parses an optional word.
fn parsed<T: FromStr<Err = String>>(fields: &Fields, key: &str) -> Result<Option<T>, Error> {
    fields.optional(key)?.map(|word| word.parse().map_err(errors::invalid_params)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::{MemoryClass, MemoryKind};
    use serde_json::json;

    fn decoded(name: &str, params: Value) -> Result<MemoriesRequest, String> {
        let decoded = MemoriesRequest::decode(name, &Fields::of(params).unwrap()).expect("a known name");
        decoded.map_err(|error| error.message)
    }

    #[test]
    fn requests_about_memories_are_decoded() {
        let list = |query: Option<&str>, kind, class, limit| {
            let query = query.map(str::to_owned);
            Ok(MemoriesRequest::List(ListMemories { query, kind, class, limit }))
        };
        assert_eq!(decoded("memories/list", json!({})), list(None, None, None, MEMORIES_LISTED));
        let params = json!({ "query": "tabs", "type": "user", "memoryClass": "working", "limit": 5 });
        let (kind, class) = (Some(MemoryKind::User), Some(MemoryClass::Working));
        assert_eq!(decoded("memories/list", params), list(Some("tabs"), kind, class, 5));
        let params = json!({ "id": 3, "pinned": false, "expiresDays": 0 });
        let draft = MemoryDraft {
            id: Some(MemoryId(3)),
            pinned: Some(false),
            expires_days: Some(0),
            ..MemoryDraft::default()
        };
        assert_eq!(decoded("memories/save", params), Ok(MemoriesRequest::Save(draft)));
        assert_eq!(decoded("memories/forget", json!({ "id": 7 })), Ok(MemoriesRequest::Forget(MemoryId(7))));
        assert!(MemoriesRequest::decode("memories/all", &Fields::of(Value::Null).unwrap()).is_none());
    }

    #[test]
    fn an_invalid_request_about_memories_names_its_parameter() {
        for (name, params, says) in [
            ("memories/list", json!({ "type": "fact" }), "Invalid memory type: 'fact'"),
            ("memories/save", json!({ "memoryClass": "x" }), "Invalid memory class: 'x'"),
            ("memories/save", json!({ "title": 3 }), "Missing string param: title"),
            ("memories/forget", json!({}), "Missing param: id"),
        ] {
            let error = decoded(name, params.clone()).unwrap_err();
            assert!(error.starts_with(says), "{params}: {error}");
        }
        assert!(decoded("memories/forget", json!({ "id": "x" })).is_err());
    }
}

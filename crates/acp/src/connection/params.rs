//! The parameters of requests.

use super::errors;
use agent_client_protocol::Error;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Decodes the parameters of a request.
pub(crate) fn params<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    serde_json::from_value(params)
        .map_err(|error| errors::invalid_params(format!("invalid params of {method}: {error}")))
}

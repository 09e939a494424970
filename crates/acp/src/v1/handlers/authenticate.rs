//! `authenticate`: credentials come from settings and the environment, so there is nothing to ask for.

use crate::v1::{errors, from_acp};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// The one method offered.
pub(crate) const METHOD: &str = "tiller-provider";

/// Succeeds for the method offered, however often it is called.
pub(crate) fn authenticate(params: Value) -> Result<acp::AuthenticateResponse, Error> {
    let request: acp::AuthenticateRequest = from_acp::params("authenticate", params)?;
    if &*request.method_id.0 == METHOD {
        Ok(acp::AuthenticateResponse::new())
    } else {
        Err(errors::invalid_params(format!("unknown methodId {:?}; use {METHOD:?}", &*request.method_id.0)))
    }
}

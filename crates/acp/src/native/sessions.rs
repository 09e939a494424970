//! Finds the session of a native request.

use super::fields::Fields;
use crate::connection::{Connection, Wire, errors};
use agent::{SessionHandle, SessionId};
use agent_client_protocol::Error;

/// Returns the session of a request; it must be open on this connection.
pub(super) fn open_session<W: Wire>(
    fields: &Fields,
    connection: &Connection<W>,
) -> Result<SessionHandle, Error> {
    let id = fields.text("sessionId")?;
    let not_loaded = |_| errors::invalid_params(format!("Session not loaded: {id}"));
    let handle = connection.find(&id).map_err(not_loaded)?;
    match connection.client(&handle) {
        Some(_) => Ok(handle),
        None => Err(errors::invalid_params(format!("Session not loaded: {id}"))),
    }
}

/// Returns the session of a request, open or only stored.
pub(super) async fn stored_session<W: Wire>(
    fields: &Fields,
    connection: &Connection<W>,
) -> Result<SessionId, Error> {
    let id = SessionId(fields.text("sessionId")?);
    connection.runtime.record(&id).await.map_err(|error| errors::store(&error))?;
    Ok(id)
}

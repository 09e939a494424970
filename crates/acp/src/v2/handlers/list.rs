//! `session/list`: lists stored sessions, page by page.

use crate::{connection::rfc3339, v2::Connection};
use agent::SessionRecord;
use agent_client_protocol::Error;
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Returns a page of sessions, most recently used first.
pub(crate) async fn list(connection: &Connection, params: Value) -> Result<acp::ListSessionsResponse, Error> {
    let page = connection.list(params).await?;
    let sessions = page.sessions.into_iter().map(info).collect();
    Ok(acp::ListSessionsResponse::new(sessions)
        .next_cursor(page.next_cursor.map(acp::SessionListCursor::new)))
}

fn info(record: SessionRecord) -> acp::SessionInfo {
    acp::SessionInfo::new(record.id.0, record.cwd.as_std())
        .additional_directories(
            record.additional_directories.iter().map(|folder| folder.as_std().to_owned()).collect::<Vec<_>>(),
        )
        .title(record.title)
        .archived(record.listing.archived)
        .updated_at(rfc3339(record.times.updated_at))
}

//! `session/list`: stored sessions, a page at a time.

use crate::{
    limits::LIST_PAGE,
    v1::{Connection, errors, from_acp, time::rfc3339},
};
use agent::{ListQuery, SessionRecord};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::Value;
use system::AbsPath;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Params {
    cwd: Option<String>,
    cursor: Option<String>,
}

/// Answers with the last used first.
pub(crate) async fn list(connection: &Connection, params: Value) -> Result<acp::ListSessionsResponse, Error> {
    let params: Params = from_acp::params("session/list", params)?;
    // A folder that is gone still has its sessions: only the form is checked.
    let cwd = match params.cwd {
        Some(cwd) => Some(AbsPath::new(&cwd).map_err(|_wrong| {
            errors::invalid_params(format!("cwd must be an absolute path, not {cwd:?}"))
        })?),
        None => None,
    };
    let query = ListQuery { cwd, cursor: params.cursor, limit: LIST_PAGE };
    let page = connection.runtime.list(query).await.map_err(|error| errors::store(&error))?;
    let sessions = page.sessions.into_iter().map(info).collect();
    Ok(acp::ListSessionsResponse::new(sessions).next_cursor(page.next_cursor))
}

fn info(record: SessionRecord) -> acp::SessionInfo {
    acp::SessionInfo::new(record.id.0, record.cwd.as_std())
        .additional_directories(
            record.additional_directories.iter().map(|folder| folder.as_std().to_owned()).collect::<Vec<_>>(),
        )
        .title(record.title)
        .updated_at(rfc3339(record.updated_at))
}

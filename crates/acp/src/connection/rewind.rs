//! `_tiller/sessions/checkpoints` and `_tiller/sessions/rewind`: the turns that changed files, and
//! reverting those changes.

use super::{Connection, Wire, errors, params};
use agent::{RewindError, RewindTarget, SessionId};
use agent_client_protocol::Error;
use serde::Deserialize;
use serde_json::{Value, json};

/// The parameters of both methods.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: String,
    #[serde(default)]
    to: Option<u64>,
    #[serde(default)]
    redo: bool,
}

impl<W: Wire> Connection<W> {
    /// Returns the turns in which tools changed files, in order. Opens no session.
    pub(crate) async fn checkpoints(&self, given: Value) -> Result<Value, Error> {
        let params: Params = params("_tiller/sessions/checkpoints", given)?;
        let id = SessionId(params.session_id);
        let checkpoints = self.runtime.checkpoints(&id).await.map_err(|error| errors::store(&error))?;
        let checkpoints: Vec<_> = checkpoints
            .iter()
            .map(|checkpoint| {
                let files: Vec<_> = checkpoint.files.iter().map(|file| file.as_str()).collect();
                json!({ "turn": checkpoint.turn, "prompt": checkpoint.prompt, "files": files })
            })
            .collect();
        Ok(json!({ "checkpoints": checkpoints }))
    }

    /// Reverts the changes made after a turn, or reverts the last rewind. Acts through the
    /// session's system, so the session must be open.
    pub(crate) async fn rewind(&self, given: Value) -> Result<Value, Error> {
        let params: Params = params("_tiller/sessions/rewind", given)?;
        let target = match (params.to, params.redo) {
            (Some(turn), false) => RewindTarget::Turn(turn),
            (None, true) => RewindTarget::Redo,
            _ => return Err(errors::invalid_params("send either to (a turn's number) or redo: true")),
        };
        let handle = self.find(&params.session_id)?;
        let report = handle.rewind(target).await.map_err(|error| match &error {
            RewindError::Store(error) => errors::store(error),
            RewindError::NoTurn { .. } | RewindError::NothingToRedo => {
                errors::invalid_params(error.to_string())
            }
            RewindError::Busy | RewindError::Cancelled | RewindError::Closed => {
                errors::invalid_request(error.to_string())
            }
        })?;
        let names = |paths: &[system::AbsPath]| -> Vec<String> {
            paths.iter().map(|path| path.as_str().to_owned()).collect()
        };
        let left: Vec<_> = report
            .left
            .iter()
            .map(|(path, reason)| json!({ "path": path.as_str(), "reason": reason }))
            .collect();
        Ok(json!({
            "restored": names(&report.restored),
            "merged": names(&report.merged),
            "left": left,
            "tasks": report.tasks,
        }))
    }
}

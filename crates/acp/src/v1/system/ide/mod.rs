//! `ide_terminal`, `ide_read_file`, `ide_write_file`, `ide_edit`: tools for the editor's machine
//! when the agent runs on a different one.
//!
//! They use the same requests as a session's workspace, but never fall back to the agent's machine.
//! As with the agent's own tools, a file that the model has not seen is not overwritten.

mod edit_file;
mod operation;
mod read_file;
mod terminal;
mod write;
mod write_file;

use super::{AcpSystem, call::CallError};
use crate::ClientTools;
use agent::{AnyCall, AnyTool, Effect, FileTracker, ToolError, ToolSpec};
use edit_file::EditFile;
use operation::IdeOperation;
use read_file::ReadFile;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};
use system::Route;
use terminal::Terminal;
use write_file::WriteFile;

/// Returns the tools of a session. Each is offered only while it is enabled and the client supports
/// it.
pub(crate) fn ide_tools(system: &Arc<AcpSystem>) -> Vec<Arc<dyn AnyTool>> {
    let seen = Arc::new(FileTracker::default());
    let tool = |operation| IdeTool { operation, system: system.clone(), seen: seen.clone() };
    let verbs = [IdeOperation::Terminal, IdeOperation::Read, IdeOperation::Write, IdeOperation::Edit];
    verbs.map(|operation| Arc::new(tool(operation)) as Arc<dyn AnyTool>).to_vec()
}

#[derive(Clone)]
struct IdeTool {
    operation: IdeOperation,
    system: Arc<AcpSystem>,
    /// Which files on the editor's machine the model has seen.
    seen: Arc<FileTracker>,
}

impl IdeTool {
    /// Returns whether the client supports the tool and the settings enable it.
    fn is_available(&self) -> bool {
        let capabilities = self.system.capabilities();
        let can = match self.operation {
            IdeOperation::Terminal => capabilities.runs(),
            IdeOperation::Read => capabilities.reads(),
            IdeOperation::Write => capabilities.writes(),
            IdeOperation::Edit => capabilities.reads() && capabilities.writes(),
        };
        can && capabilities.tools.get() == ClientTools::Ide
    }

    fn check_available(&self) -> Result<(), ToolError> {
        match self.is_available() {
            true => Ok(()),
            false => Err(ToolError::message(self.operation.unavailable())),
        }
    }

    /// Converts an error to a message for the model, and stops using an unsupported capability.
    fn failed(&self, doing: &'static str, about: &str, error: CallError) -> ToolError {
        match error {
            CallError::Unsupported => {
                let withdrawn = &self.system.capabilities().withdrawn;
                match self.operation {
                    IdeOperation::Terminal if self.system.capabilities().runs() => {
                        withdrawn.terminal(self.operation.name())
                    }
                    IdeOperation::Terminal => {}
                    IdeOperation::Read => withdrawn.read(self.operation.name()),
                    // For an edit, this also covers an unsupported read.
                    IdeOperation::Write | IdeOperation::Edit => withdrawn.write(self.operation.name()),
                }
                ToolError::message(self.operation.unavailable())
            }
            error => ToolError::System(self.system.caller.failure(doing, about, error)),
        }
    }

    fn call<T: DeserializeOwned>(&self, arguments: Value) -> Result<T, ToolError> {
        let name = self.operation.name();
        serde_json::from_value(arguments)
            .map_err(|error| ToolError::message(format!("Invalid arguments for '{name}': {error}")))
    }
}

impl AnyTool for IdeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.operation.name().to_owned(),
            description: self.operation.description().to_owned(),
            parameters: self.operation.parameters(),
        }
    }

    // Cheaper than `spec`, which builds the schema: this is called for every tool in every request.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.operation.name())
    }

    fn effect(&self) -> Effect {
        match self.operation {
            IdeOperation::Terminal => Effect::Executes,
            IdeOperation::Read => Effect::Reads,
            IdeOperation::Write | IdeOperation::Edit => Effect::Writes,
        }
    }

    fn executor(&self) -> Option<Route> {
        Some(Route::Client)
    }

    fn is_offered(&self) -> bool {
        self.is_available()
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let tool = self.clone();
        Ok(match self.operation {
            IdeOperation::Terminal => Box::new(Terminal::new(self.call(arguments)?, tool)),
            IdeOperation::Read => Box::new(ReadFile::new(self.call(arguments)?, tool)),
            IdeOperation::Write => Box::new(WriteFile::new(self.call(arguments)?, tool)),
            IdeOperation::Edit => Box::new(EditFile::new(self.call(arguments)?, tool)),
        })
    }
}

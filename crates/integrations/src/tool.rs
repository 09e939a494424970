//! A function of an integration as one of the agent's tools.

use crate::{
    arguments::{RawArguments, merge},
    caller::{Call, Caller},
    gates::Switches,
    integration::{Function, Integration, Operation},
    upload::Files,
};
use agent::{
    Access, AnyCall, AnyTool, Description, Effect, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    ToolSpec,
};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// Returns the user's current settings.
type CurrentSwitches = dyn Fn() -> Arc<Switches> + Send + Sync;

/// A function of an integration, for one account. The permission gate decides whether it may be
/// called; the other checks are made at the time of the call.
#[derive(Clone)]
pub struct IntegrationTool {
    integration: Arc<Integration>,
    function: Arc<Function>,
    account: String,
    caller: Arc<Caller>,
    switches: Arc<CurrentSwitches>,
    spec: Arc<ToolSpec>,
}

impl IntegrationTool {
    /// Creates a tool for a function; `filled` are the parameters that the account supplies.
    pub fn new(
        integration: Arc<Integration>,
        function: Arc<Function>,
        account: &str,
        filled: &[String],
        caller: Arc<Caller>,
        switches: Arc<CurrentSwitches>,
    ) -> Self {
        let spec = Arc::new(function.spec(filled));
        Self { integration, function, account: account.to_owned(), caller, switches, spec }
    }
}

impl AnyTool for IntegrationTool {
    fn spec(&self) -> ToolSpec {
        (*self.spec).clone()
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.spec.name)
    }

    fn effect(&self) -> Effect {
        match self.function.operation {
            Operation::Read => Effect::Reads,
            Operation::Write => Effect::Writes,
        }
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        match arguments {
            Value::Object(arguments) => Ok(Box::new(FunctionCall { tool: self.clone(), arguments })),
            _ => Err(ToolError::message(format!(
                "Invalid arguments for '{}': the arguments must be an object",
                self.spec.name
            ))),
        }
    }
}

struct FunctionCall {
    tool: IntegrationTool,
    arguments: Map<String, Value>,
}

#[async_trait]
impl AnyCall for FunctionCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let IntegrationTool { integration, function, account, .. } = &self.tool;
        let what = if function.title.is_empty() { &function.name } else { &function.title };
        let account_suffix =
            if account == crate::DEFAULT_ACCOUNT { String::new() } else { format!(" ({account})") };
        let kind = match function.operation {
            Operation::Read => ToolKind::Fetch,
            Operation::Write => ToolKind::Other,
        };
        Description {
            title: format!("{}{account_suffix}: {what}", integration.title),
            kind,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        let read_only = self.tool.function.operation == Operation::Read;
        let call = Access::Call { function: self.tool.spec.name.clone(), read_only };
        // Uploaded files are read. Declare the paths after the arguments are converted, as the call
        // does.
        let raw_arguments = RawArguments { json: self.arguments.clone(), ..RawArguments::default() };
        let arguments = merge(&self.tool.function, raw_arguments).unwrap_or_default();
        let files = self.tool.function.files(&arguments, cwd).into_iter().map(Access::Read);
        std::iter::once(call).chain(files).collect()
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let IntegrationTool { integration, function, account, caller, switches, .. } = &self.tool;
        let call = Call {
            integration: integration.clone(),
            function: function.clone(),
            account: account.clone(),
            raw_arguments: RawArguments {
                json: std::mem::take(&mut self.arguments),
                ..RawArguments::default()
            },
            force: false,
            dry_run: false,
            files: Some(Files { system: cx.system.clone(), cwd: cx.cwd.clone() }),
        };
        let switches = switches();
        let outcome = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            outcome = caller.call_permitted(&call, &switches) => outcome,
        };
        let outcome = outcome.map_err(|unmade| ToolError::message(unmade.to_string()))?;
        match outcome.error {
            Some(error) => Err(ToolError::message(error)),
            None => {
                let text = match outcome.data {
                    Value::String(text) => text,
                    data => data.to_string(),
                };
                Ok(ToolOutput::text(agent::tools::within(cx, text).await))
            }
        }
    }
}

//! Calls outside a turn: those of a program that calls directly, and of a script that runs outside
//! any session.
//!
//! The policy decides about them as about a model's calls. There is no user to ask: a call that
//! needs approval is refused unless the caller takes responsibility (`force`). A denial cannot be
//! overridden. Hooks run only around turns, not around these calls.

use crate::{
    Access, AnyCall, AnyTool, AskUser, ContentHash, Effect, NestedCalls, ProjectPrograms, RuntimeOptions,
    SessionId, SessionResources, ToolCallContext, ToolContext, ToolError, ToolOutput,
    gate::hypothesis::{self, Question},
    policy::Decision,
};
use serde_json::Value;
use std::sync::Arc;
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;

/// The number of characters of a name for a directory.
const NAME_CHARS: usize = 16;

/// The context of a call outside a turn.
#[derive(Clone)]
pub struct DirectCaller {
    /// The settings in force, with the modes of the session that the call is made for, if any.
    pub options: RuntimeOptions,
    /// The system that resolves links.
    pub system: Arc<dyn System>,
    /// The working directory of the call.
    pub cwd: AbsPath,
    /// Whether calls that need approval run without it.
    pub force: bool,
}

/// Why a call was not made or failed. The texts address the caller.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The policy denies it, with the reason.
    #[error("{0}")]
    Denied(String),
    /// The call needs approval, with the question.
    #[error("{0} No user can be asked here.")]
    NeedsApproval(String),
    /// The call is invalid or failed.
    #[error(transparent)]
    Failed(#[from] ToolError),
}

impl DirectCaller {
    /// Returns the place in which programs of the project run that a call starts.
    pub fn programs(&self) -> ProjectPrograms {
        let ContentHash(name) = ContentHash::of(self.cwd.as_str().as_bytes());
        let session = SessionId::from(format!("direct-{}", &name[..NAME_CHARS]).as_str());
        super::project_programs(&self.options, &session, &self.cwd, &[])
    }

    /// Decides about a call by the policy. `Ok(true)` means that it passed only because of `force`.
    ///
    /// # Errors
    ///
    /// [`Refusal::Denied`] if the policy denies the call or the tool works in a session only;
    /// [`Refusal::NeedsApproval`] if the user would have to be asked.
    pub async fn check_call(&self, tool: &dyn AnyTool, call: &dyn AnyCall) -> Result<bool, Refusal> {
        let accesses = call.accesses(&self.cwd);
        let remote = |access: &Access| matches!(access, Access::Call { .. } | Access::Fetch(_));
        // A function may be sent files of this machine; the policy decides about them as for a tool
        // that reads them.
        let calls = accesses.iter().any(|access| matches!(access, Access::Call { .. }));
        let fits = |access: &Access| remote(access) || (calls && matches!(access, Access::Read(_)));
        if !accesses.iter().all(fits) {
            let text = format!("Tool '{}' works only in a session.", tool.name());
            return Err(Refusal::Denied(text));
        }
        let name = tool.name();
        self.decided(Question { tool: &name, effect: tool.effect(), accesses }).await
    }

    /// Decides about reading these files for a tool, with links resolved. Result and errors are
    /// those of [`DirectCaller::check_call`].
    pub async fn check_reads(&self, tool: &str, files: Vec<AbsPath>) -> Result<bool, Refusal> {
        if files.is_empty() {
            return Ok(false);
        }
        let accesses = files.into_iter().map(Access::Read).collect();
        self.decided(Question { tool, effect: Effect::Reads, accesses }).await
    }

    async fn decided(&self, question: Question<'_>) -> Result<bool, Refusal> {
        match hypothesis::verdict(&self.options, self.system.as_ref(), &self.cwd, question).await {
            Decision::Allow { .. } => Ok(false),
            Decision::Ask { .. } if self.force => Ok(true),
            Decision::Ask { question, .. } => Err(Refusal::NeedsApproval(question)),
            Decision::Deny { reason, .. } => Err(Refusal::Denied(reason)),
        }
    }

    /// Makes a call if the policy lets it pass. Dropping the future cancels it.
    ///
    /// # Errors
    ///
    /// Those of [`DirectCaller::check_call`], and [`Refusal::Failed`] if the arguments are invalid
    /// or the call fails.
    pub async fn call(&self, tool: &dyn AnyTool, arguments: Value) -> Result<ToolOutput, Refusal> {
        let mut call = tool.parse(arguments)?;
        self.check_call(tool, call.as_ref()).await?;
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        let cx = ToolContext {
            system: self.system.clone(),
            cwd: self.cwd.clone(),
            session: SessionResources::default(),
            user: Arc::new(NoUser),
            call: ToolCallContext::outside(),
            cancel,
            // No model reads the output directly.
            limits: self.options.limits.tools.uncut(),
            nested_calls: NestedCalls::default(),
        };
        call.prepare(&cx).await?;
        Ok(call.run(&cx).await?)
    }
}

/// A user who cannot be asked.
struct NoUser;

impl AskUser for NoUser {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Description, Mode, PermissionMode, ServerRule, ServerRules, ToolKind, ToolSpec};
    use async_trait::async_trait;
    use serde_json::json;
    use std::borrow::Cow;
    use system::FakeSystem;

    /// A function of a server that declares whether it only reads.
    struct Function {
        read_only: bool,
    }

    impl AnyTool for Function {
        fn spec(&self) -> ToolSpec {
            let (name, description) = (self.name().into_owned(), String::new());
            ToolSpec { name, description, parameters: json!({}) }
        }

        fn name(&self) -> Cow<'_, str> {
            Cow::Borrowed("mcp__s__t")
        }

        fn effect(&self) -> Effect {
            if self.read_only { Effect::Reads } else { Effect::Writes }
        }

        fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
            Ok(Box::new(Self { read_only: self.read_only }))
        }
    }

    #[async_trait]
    impl AnyCall for Function {
        fn describe(&self, _cwd: &AbsPath) -> Description {
            Description { title: String::new(), kind: ToolKind::Other, locations: Vec::new() }
        }

        fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
            vec![Access::Call { function: "mcp__s__t".to_owned(), read_only: self.read_only }]
        }

        async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<crate::ToolContent>, ToolError> {
            Ok(Vec::new())
        }

        async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text("called"))
        }
    }

    /// Checks the outcomes of a reading and of a writing call, one letter each.
    async fn check(change: impl FnOnce(&mut DirectCaller), expected: &str) {
        let mut caller = DirectCaller {
            options: RuntimeOptions::default(),
            system: Arc::new(FakeSystem::new()),
            cwd: AbsPath::new("/w").unwrap(),
            force: false,
        };
        change(&mut caller);
        let mut letters = String::new();
        for read_only in [true, false] {
            letters.push(match caller.call(&Function { read_only }, json!({})).await {
                Ok(output) => {
                    assert_eq!(output.result.text, "called");
                    'a'
                }
                Err(Refusal::NeedsApproval(_)) => '?',
                Err(Refusal::Denied(reason)) => {
                    assert!(!reason.is_empty());
                    'd'
                }
                Err(Refusal::Failed(error)) => panic!("{error}"),
            });
        }
        assert_eq!(letters, expected);
    }

    #[tokio::test]
    async fn the_policy_decides_and_nobody_is_asked() {
        let says = |read, write| {
            let rule = ServerRule { read, write };
            ServerRules { default: Answer::Ask, servers: [("s".to_owned(), rule)].into() }
        };
        let (allow, ask, deny) = (Some(Answer::Allow), Some(Answer::Ask), Some(Answer::Deny));
        check(|_| {}, "??").await;
        check(|o| o.force = true, "aa").await;
        check(|o| o.options.start.permission_mode = PermissionMode::Prometheus, "aa").await;
        check(|o| o.options.permissions.rules.servers = says(allow, ask), "a?").await;
        check(|o| o.options.permissions.rules.servers = says(allow, deny), "ad").await;
        check(|o| o.options.permissions.rules.servers = says(None, allow), "?a").await;
        check(|o| o.options.permissions.rules.servers.default = Answer::Allow, "aa").await;
        check(|o| o.options.permissions.denied_tools = vec!["mcp__s__t".to_owned()], "dd").await;
        // Neither `force` nor a permissive mode overrides a denial or the limits of a mode.
        check(
            |o| {
                (o.force, o.options.start.permission_mode) = (true, PermissionMode::Prometheus);
                o.options.permissions.rules.servers = says(allow, deny);
            },
            "ad",
        )
        .await;
        check(|o| (o.force, o.options.start.mode) = (true, Mode::Plan), "ad").await;
    }
}

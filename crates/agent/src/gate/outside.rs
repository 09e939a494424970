//! Calls that no turn makes: those of a program that asks directly, and of a script that runs outside of any session.
//!
//! The policy decides about them as about a model's. Nobody is asked: what would have to be asked about is refused, unless whoever calls takes it
//! upon himself (`force`). A denial stays one. Hooks are around turns and not around these.

use crate::{
    Access, AnyCall, AnyTool, AskUser, Effect, FileTracker, InnerCalls, RuntimeOptions, TaskList, ToolCallId,
    ToolContext, ToolError, ToolOutput,
    gate::hypothesis::{self, Question},
    policy::Decision,
};
use serde_json::Value;
use std::sync::Arc;
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;

/// Where such a call is made, and what holds for it.
#[derive(Clone)]
pub struct Outside {
    /// The settings in force, with the modes of the session that it is made for, if there is one.
    pub options: RuntimeOptions,
    /// The machine whose links are resolved.
    pub system: Arc<dyn System>,
    /// The folder it is made in.
    pub cwd: AbsPath,
    /// Whether what would have to be asked about is done without asking.
    pub force: bool,
}

/// Why a call was not made, or came to nothing. Texts are for whoever made it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The policy denies it; why.
    #[error("{0}")]
    Denied(String),
    /// Somebody would have to be asked; the question.
    #[error("{0} Nobody can be asked here.")]
    NeedsApproval(String),
    /// It is wrong, or failed.
    #[error(transparent)]
    Failed(#[from] ToolError),
}

impl Outside {
    /// What the policy says of a call. `Ok` says whether it passed because of `force` alone.
    pub async fn rule(&self, tool: &dyn AnyTool, call: &dyn AnyCall) -> Result<bool, Refusal> {
        let accesses = call.accesses(&self.cwd);
        let remote = |access: &Access| matches!(access, Access::Call { .. } | Access::Fetch(_));
        // A function may be sent files of this machine: they are decided about as for a tool that
        // reads them.
        let calls = accesses.iter().any(|access| matches!(access, Access::Call { .. }));
        let fits = |access: &Access| remote(access) || (calls && matches!(access, Access::Read(_)));
        if !accesses.iter().all(fits) {
            let text = format!("Tool '{}' works in a session only.", tool.name());
            return Err(Refusal::Denied(text));
        }
        let name = tool.name();
        self.decided(Question { tool: &name, effect: tool.effect(), accesses }).await
    }

    /// What the policy says of reading these files for a tool; links are followed. `Ok` as for
    /// [`Outside::rule`].
    pub async fn rule_of_reads(&self, tool: &str, files: Vec<AbsPath>) -> Result<bool, Refusal> {
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

    /// Makes a call, if the policy lets it pass. Dropping the future takes it back.
    pub async fn call(&self, tool: &dyn AnyTool, arguments: Value) -> Result<ToolOutput, Refusal> {
        let mut call = tool.parse(arguments)?;
        self.rule(tool, call.as_ref()).await?;
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        let cx = ToolContext {
            system: self.system.clone(),
            cwd: self.cwd.clone(),
            files: Arc::new(FileTracker::default()),
            tasks: Arc::new(TaskList::default()),
            shells: Arc::default(),
            outputs: Arc::default(),
            user: Arc::new(Nobody),
            call: ToolCallId(String::new()),
            progress: Arc::new(|_| {}),
            cancel,
            asked: false,
            confined: false,
            // No model reads it as it is.
            limits: self.options.limits.tools.uncut(),
            inner: InnerCalls::default(),
        };
        call.prepare(&cx).await?;
        Ok(call.run(&cx).await?)
    }
}

/// Nobody is there.
struct Nobody;

impl AskUser for Nobody {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Description, Mode, PermissionMode, ServerRule, ServerRules, ToolKind, ToolSpec};
    use async_trait::async_trait;
    use serde_json::json;
    use std::borrow::Cow;
    use system::FakeSystem;

    /// A function of a server that says what it is called.
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

    /// What comes of a call that reads and of one that writes: a letter each.
    async fn check(change: impl FnOnce(&mut Outside), expected: &str) {
        let mut outside = Outside {
            options: RuntimeOptions::default(),
            system: Arc::new(FakeSystem::new()),
            cwd: AbsPath::new("/w").unwrap(),
            force: false,
        };
        change(&mut outside);
        let mut letters = String::new();
        for read_only in [true, false] {
            letters.push(match outside.call(&Function { read_only }, json!({})).await {
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
        check(|o| o.options.permission_mode = PermissionMode::Prometheus, "aa").await;
        check(|o| o.options.rules.servers = says(allow, ask), "a?").await;
        check(|o| o.options.rules.servers = says(allow, deny), "ad").await;
        check(|o| o.options.rules.servers = says(None, allow), "?a").await;
        check(|o| o.options.rules.servers.default = Answer::Allow, "aa").await;
        check(|o| o.options.denied_tools = vec!["mcp__s__t".to_owned()], "dd").await;
        // Neither `force` nor a loose mode lifts a denial, nor what a mode cannot do.
        check(
            |o| {
                (o.force, o.options.permission_mode) = (true, PermissionMode::Prometheus);
                o.options.rules.servers = says(allow, deny);
            },
            "ad",
        )
        .await;
        check(|o| (o.force, o.options.mode) = (true, Mode::Plan), "ad").await;
    }
}

//! Hooks: the user's own commands, run around tool calls, prompts and the end of turns.
//!
//! A hook receives JSON on its standard input and may answer with a JSON object as the last line of
//! its output. It can deny and can add a note for the model; it can never allow anything. A hook
//! that should decide but cannot (it does not start, fails or times out) denies.

use crate::{
    FolderTrust, ProjectPrograms, TrustItem, TrustState,
    limits::{HOOK_NOTE_BYTES, HOOK_OUTPUT_BYTES},
    policy,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use system::{AbsPath, Command, Output, System};
use tokio_util::sync::CancellationToken;

/// The point at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a call that the policy did not deny and before the user is asked about it. May deny.
    BeforeTool,
    /// After a call. A denial turns the result into an error; the call's effects remain.
    AfterTool,
    /// Before a prompt is sent to the model. May deny.
    Prompt,
    /// At the end of a turn. The hook's note is shown to the user.
    Stop,
}

impl HookEvent {
    /// Every event with its name in the settings.
    pub const ALL: [(&'static str, Self); 4] = [
        ("before_tool", Self::BeforeTool),
        ("after_tool", Self::AfterTool),
        ("prompt", Self::Prompt),
        ("stop", Self::Stop),
    ];

    fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, event)| *event == self).map_or("", |(id, _)| id)
    }

    /// Whether a failed or timed-out hook of this event counts as a denial.
    fn decides(self) -> bool {
        matches!(self, Self::BeforeTool | Self::Prompt)
    }
}

/// A hook and its configuration.
#[derive(Clone)]
pub struct Hook {
    /// The hook's name in messages.
    pub name: String,
    /// The event that runs the hook.
    pub event: HookEvent,
    /// The program and its arguments. A program that contains a slash is resolved against the
    /// session's directory.
    pub command: Vec<String>,
    /// Patterns of the tools whose calls run the hook; `*` matches any characters, and the name of
    /// a tool that runs commands means each such tool. Empty means all tools.
    pub tools: Vec<String>,
    /// The timeout of one run.
    pub timeout: Duration,
    /// Whether it runs in the sandbox of the session's commands.
    pub is_confined: bool,
    /// The project that contributed the hook, if any. Such a hook runs only while the project is
    /// trusted with it.
    pub origin: Option<HookOrigin>,
}

/// A project that contributed a hook.
#[derive(Clone)]
pub struct HookOrigin {
    /// Reads whether the hook is trusted.
    pub trust: FolderTrust,
    /// The project's directory.
    pub folder: AbsPath,
    /// The hook as an item of the trust record.
    pub item: TrustItem,
    /// Whether the hook was trusted earlier in this process. If so, a hook that has changed since
    /// then denies, because the user relies on it.
    pub counted_on: Arc<AtomicBool>,
}

/// The hooks of all sessions and the system that runs them: always the local machine, never the
/// editor's terminal.
#[derive(Clone, Default)]
pub struct Hooks {
    hooks: Arc<[Hook]>,
    system: Option<Arc<dyn System>>,
}

/// The combined result of the hooks of one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HookOutcome {
    /// The reason of the denial, if a hook denied.
    pub(crate) denial: Option<String>,
    /// The hooks' notes, each prefixed with the name of its hook.
    pub(crate) notes: Vec<String>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.hooks.iter().map(|hook| &hook.name)).finish()
    }
}

impl Hooks {
    /// Creates hooks that run on `system`.
    pub fn new(hooks: Vec<Hook>, system: Arc<dyn System>) -> Self {
        Self { hooks: hooks.into(), system: Some(system) }
    }

    /// Whether any hook is registered for an event.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Runs the hooks of an event one after the other until one denies.
    ///
    /// `about` returns the fields of the hooks' input beyond the event and the directory.
    pub(crate) async fn run(
        &self,
        event: HookEvent,
        programs: &ProjectPrograms,
        tool: Option<&str>,
        about: impl FnOnce() -> Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let mut said = HookOutcome::default();
        let fits = |hook: &&Hook| {
            let named = |tool: &str| policy::mean(&hook.tools, tool);
            hook.event == event && (hook.tools.is_empty() || tool.is_some_and(named))
        };
        let mut hooks = self.hooks.iter().filter(fits).peekable();
        if hooks.peek().is_none() {
            return said;
        }
        let mut input = json!({ "version": 1, "event": event.id(), "cwd": programs.cwd().as_str() });
        if let (Value::Object(input), Value::Object(about)) = (&mut input, about()) {
            input.extend(about);
        }
        for hook in hooks {
            let usable = match &hook.origin {
                None => Ok(true),
                Some(brought) => brought.usable().await,
            };
            if usable == Ok(false) {
                continue;
            }
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => Err("it was cancelled".to_owned()),
                answer = async {
                    usable?;
                    self.answer(hook, programs, input.to_string()).await
                } => answer,
            };
            let name = &hook.name;
            match answer {
                Ok(answer) => {
                    said.notes.extend(answer.note.map(|note| format!("[hook {name}] {}", cut(&note))));
                    said.denial =
                        answer.denial.map(|reason| format!("The hook '{name}' denied it: {}", cut(&reason)));
                }
                Err(problem) if event.decides() => {
                    said.denial =
                        Some(format!("The hook '{name}' could not decide, so it is denied: {problem}."));
                }
                Err(problem) => said.notes.push(format!("[hook {name}] {problem}")),
            }
            if said.denial.is_some() {
                break;
            }
        }
        said
    }

    async fn answer(&self, hook: &Hook, programs: &ProjectPrograms, input: String) -> Result<Answer, String> {
        let (Some(system), Some((program, args))) = (&self.system, hook.command.split_first()) else {
            return Err("there is nothing to run".to_owned());
        };
        let cwd = programs.cwd();
        let program =
            if program.contains('/') { cwd.join(program).as_str().to_owned() } else { program.clone() };
        let is_confined = hook.is_confined && programs.is_confined_by(system.as_ref()).await;
        let system = match hook.is_confined {
            // A project's hook sees what commands see.
            true if hook.origin.is_some() => programs.on(Arc::clone(system)).await,
            true => {
                // The files of a hook of the user's are visible, wherever they are.
                let named = std::iter::once(&program).chain(args).filter_map(|word| AbsPath::new(word).ok());
                programs.clone().with_readable(named).on(Arc::clone(system)).await
            }
            false if !program.starts_with('/') || system::is_within(&cwd.join(&program), cwd) => {
                return Err("a hook with confined = false needs the absolute path of a program outside of the project".to_owned());
            }
            false => Arc::clone(system),
        };
        let command = Command {
            input: Some(input),
            ..Command::new(program, args.to_vec(), cwd.clone(), HOOK_OUTPUT_BYTES)
        };
        let run = async {
            let mut process = system.spawn(command).await.map_err(|error| error.to_string())?;
            let mut output = String::new();
            while let Some(piece) = process.next_output().await {
                if let Output::Text(text) = piece {
                    output.push_str(&text);
                }
            }
            let status = process.wait().await.map_err(|error| error.to_string())?;
            let answer = Answer::of(&output);
            // A denial counts whatever the exit status.
            match status.success() || answer.denial.is_some() {
                true => Ok(answer),
                false if is_confined => Err(format!(
                    "it failed in the sandbox, which the hook's setting confined = false lifts: {}",
                    cut(output.trim())
                )),
                false => Err(format!("it failed: {}", cut(output.trim()))),
            }
        };
        let seconds = hook.timeout.as_secs_f64();
        // Dropping the process kills it.
        tokio::time::timeout(hook.timeout, run)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {seconds} s")))
    }
}

impl HookOrigin {
    /// Whether the hook is to run.
    ///
    /// A hook that awaits trust, or whose trust the user revoked, is skipped. A hook that was
    /// trusted and can no longer be verified as the same is an error.
    async fn usable(&self) -> Result<bool, String> {
        let state = self.trust.state(&self.folder, &self.item).await;
        match &state {
            TrustState::Trusted => {
                self.counted_on.store(true, Ordering::Relaxed);
                Ok(true)
            }
            TrustState::Untrusted => {
                self.counted_on.store(false, Ordering::Relaxed);
                Ok(false)
            }
            TrustState::Changed | TrustState::Unknown(_) if self.counted_on.load(Ordering::Relaxed) => {
                Err(state.problem().unwrap_or_default())
            }
            TrustState::Changed | TrustState::Unknown(_) => Ok(false),
        }
    }
}

#[derive(Default)]
struct Answer {
    denial: Option<String>,
    note: Option<String>,
}

impl Answer {
    /// Parses the last non-empty line if it is a JSON object; any other output is ignored.
    fn of(output: &str) -> Self {
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let Ok(Value::Object(answer)) = serde_json::from_str(last) else { return Self::default() };
        let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        let denied = answer.get("decision").is_some_and(|decision| decision == "deny");
        Self {
            denial: denied.then(|| text("reason").unwrap_or_else(|| "no reason given".to_owned())),
            note: text("note"),
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..crate::floor_char_boundary(text, HOOK_NOTE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::{FakeSystem, fake::Script};

    async fn run(event: HookEvent, tool: Option<&str>, script: Script) -> HookOutcome {
        let system = FakeSystem::new();
        system.add_dir("/w");
        system.on_command("check", move |_| script.clone());
        let hook = Hook {
            name: "guard".to_owned(),
            event,
            command: vec!["check".to_owned()],
            tools: vec!["file_*".to_owned()],
            timeout: Duration::from_secs(10),
            is_confined: true,
            origin: None,
        };
        let hooks = Hooks::new(vec![hook], Arc::new(system));
        let programs = ProjectPrograms::unconfined(AbsPath::new("/w").unwrap());
        hooks.run(event, &programs, tool, || json!({ "tool": tool }), &CancellationToken::new()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_hook_denies_and_annotates_and_never_allows() {
        use HookEvent::{AfterTool, BeforeTool};
        let before = async |said: &str, code| {
            run(BeforeTool, Some("file_edit"), Script::exits(code).prints(said)).await
        };
        let denied = before("{\"decision\":\"deny\",\"reason\":\"no\"}\n", 0).await;
        assert_eq!(denied.denial.as_deref(), Some("The hook 'guard' denied it: no"));
        let noted = before("talk\n{\"note\":\"mind the tests\",\"decision\":\"allow\"}\n", 0).await;
        assert_eq!(
            noted,
            HookOutcome { denial: None, notes: vec!["[hook guard] mind the tests".to_owned()] }
        );
        assert_eq!(before("just talk", 0).await, HookOutcome::default());
        // A hook that should decide and cannot denies; one that runs too late to decide adds a
        // note.
        assert!(before("{\"note\":\"x\"}", 1).await.denial.unwrap().contains("could not decide"));
        let failed = run(AfterTool, Some("file_edit"), Script::exits(1).prints("bad")).await;
        assert_eq!(
            failed,
            HookOutcome { denial: None, notes: vec!["[hook guard] it failed: bad".to_owned()] }
        );
        let slow = run(BeforeTool, Some("file_edit"), Script::hangs()).await;
        assert!(slow.denial.unwrap().contains("no answer within 10 s"));
        // Calls of other tools do not run the hook.
        assert_eq!(run(BeforeTool, Some("bash"), Script::exits(1)).await, HookOutcome::default());
    }

    /// Trust records of a directory, for tests.
    struct Recorded(std::sync::Mutex<Result<crate::TrustRecord, String>>);

    #[async_trait::async_trait]
    impl crate::TrustRecords for Recorded {
        async fn trusted(&self, _folder: &AbsPath) -> Result<crate::TrustRecord, String> {
            self.0.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn p13_a_hook_of_a_project_runs_while_it_is_trusted_and_denies_when_that_cannot_be_told() {
        let system = Arc::new(FakeSystem::new());
        system.add_file("/w/check", "good");
        system.on_command("/w/check", |_| {
            Script::exits(0).prints("{\"decision\":\"deny\",\"reason\":\"no\"}\n")
        });
        let folder = AbsPath::new("/w").unwrap();
        let item = TrustItem {
            kind: crate::ItemKind::Hook,
            source: ".tiller/config.toml".to_owned(),
            name: "guard".to_owned(),
            parts: Vec::new(),
            words: vec!["./check".to_owned()],
            tree: None,
            shown: Vec::new(),
        };
        let recorded = Arc::new(Recorded(std::sync::Mutex::new(Ok(crate::TrustRecord::default()))));
        let trust = FolderTrust::new(system.clone(), recorded.clone());
        let hash = trust.check(&folder, vec![item.clone()]).await.remove(0).hash.unwrap();
        let trusted = crate::TrustRecord { items: [(item.id(), hash)].into(), whole: None };
        let counted_on = Arc::default();
        let hook = Hook {
            name: "guard".to_owned(),
            event: HookEvent::BeforeTool,
            command: vec!["./check".to_owned()],
            tools: Vec::new(),
            timeout: Duration::from_secs(10),
            is_confined: true,
            origin: Some(HookOrigin { trust, folder: folder.clone(), item, counted_on }),
        };
        let hooks = Hooks::new(vec![hook], system.clone());
        let denial = async || {
            let cancel = CancellationToken::new();
            let programs = ProjectPrograms::unconfined(folder.clone());
            hooks.run(HookEvent::BeforeTool, &programs, Some("bash"), || json!({}), &cancel).await.denial
        };
        assert_eq!(denial().await, None, "it waits");
        system.add_file("/w/check", "evil");
        *recorded.0.lock().unwrap() = Ok(trusted.clone());
        assert_eq!(denial().await, None, "it is not what was trusted, and nobody has counted on it");
        system.add_file("/w/check", "good");
        assert!(denial().await.unwrap().ends_with("denied it: no"), "trust counts at once");
        system.add_file("/w/check", "evil");
        assert!(denial().await.unwrap().contains("it has changed since it was trusted"));
        *recorded.0.lock().unwrap() = Err("the record is damaged".to_owned());
        assert!(denial().await.unwrap().contains("the record is damaged"));
        *recorded.0.lock().unwrap() = Ok(crate::TrustRecord::default());
        assert_eq!(denial().await, None, "its user took the trust back");
        *recorded.0.lock().unwrap() = Ok(trusted);
        assert_eq!(denial().await, None, "and it is still another");
    }
}

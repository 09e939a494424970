//! The changes that commands make of files that git, editors or agents obey. They are made in the
//! files themselves after the command, if a rule allows them or the user agrees.

use super::{Gate, SubmittedCall, running};
use crate::{
    Access, Content, Diff, Effect, Lifetime, PermissionRequest, PermissionRule, Remedy, SessionState,
    StoreError, ToolContent, ToolOutput,
    limits::{OPEN_CHANGE_BYTES, OPEN_CHANGES_SHOWN, OPEN_CHANGES_TOLD, SETTING_CHARS},
    policy::{self, CommandConfinement, Decision, Dialect, Policy, Resolved, Subject},
    tool::titles,
};
use std::collections::BTreeMap;
use system::{AbsPath, ControlChange};
use tokio_util::sync::CancellationToken;

/// A decision about a change.
enum Verdict {
    Allowed,
    Denied(String),
    /// The user decides. The rules would allow it.
    Open(Vec<PermissionRule>),
}

impl Gate {
    /// Decides about the changes that commands have made of files that git, editors or agents obey,
    /// and asks the user about those that no rule decides. Adds the results to the output of the
    /// call.
    pub(crate) async fn settle_changes(
        &self,
        state: &SessionState,
        submitted: &SubmittedCall<'_>,
        output: &mut ToolOutput,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let Some(own) = &self.own_files else { return Ok(()) };
        let changes = self.system.open_changes(&own.copies).await;
        if changes.is_empty() {
            return Ok(());
        }
        let now = self.settings.seen();
        let policy = self.policy(&now, state, CommandConfinement::Off);
        let (mut allowed, mut open) = (Vec::new(), Vec::new());
        let mut refused = BTreeMap::<String, Vec<ControlChange>>::new();
        for change in changes {
            match self.verdict(&policy, &change) {
                Verdict::Allowed => allowed.push(change),
                Verdict::Denied(reason) => refused.entry(reason).or_default().push(change),
                Verdict::Open(rules) => open.push((change, rules)),
            }
        }
        if !open.is_empty() {
            let request = self.change_request(submitted, &open);
            let (wait, gone) = (now.limits.permission_wait, CancellationToken::new());
            let (answer, _) = running::ask(&self.log, &request, wait, cancel, &gone).await?;
            for (change, rules) in open {
                match &answer {
                    Ok(()) => allowed.push(change),
                    Err(reason) => {
                        let reason = running::with_rules(reason.clone(), &rules);
                        refused.entry(reason).or_default().push(change);
                    }
                }
            }
        }
        let mut made = Vec::new();
        for change in allowed {
            match self.system.carry_over(&change).await {
                Ok(()) => made.push(change),
                Err(error) => refused.entry(error.to_string()).or_default().push(change),
            }
        }
        if !made.is_empty() {
            output.add_note(&format!("(changed in the project too: {}.)", listed(&self.named(&made))));
        }
        for (reason, changes) in refused {
            let asides = changes.iter().filter_map(ControlChange::set_aside).map(|path| self.relative(path));
            let asides: Vec<_> = asides.collect();
            let names = listed(&self.named(&changes));
            output.add_note(&match asides.is_empty() {
                true => format!("(kept for commands in the sandbox only: {names}: {reason}.)"),
                false => format!("(not changed: {names}, now {}: {reason}.)", listed(&asides)),
            });
        }
        Ok(())
    }

    /// Decides about a change by the rules: as about `git config` outside of the sandbox, or as
    /// about a file tool.
    fn verdict(&self, policy: &Policy<'_>, change: &ControlChange) -> Verdict {
        let lines = change.settings.iter().map(|(name, value)| line(name, value.as_deref()));
        let mut accesses: Vec<_> = lines.map(|line| self.execution(line)).collect();
        let (tool, effect) = match accesses.is_empty() {
            true => ("file_write", Effect::Writes),
            false => ("bash", Effect::Executes),
        };
        if accesses.is_empty() {
            let canonical = Some(change.path.clone());
            accesses.push(Resolved::new(Access::Write(change.path.clone()), canonical, Dialect::Unknown));
        }
        let (mut rules, mut is_open) = (Vec::new(), false);
        for access in &accesses {
            let accesses = std::slice::from_ref(access);
            let subject = Subject { tool, effect, accesses, roots: self.roots.all() };
            match policy::decide(policy, &subject) {
                Decision::Deny { reason, .. } => return Verdict::Denied(reason),
                Decision::Allow { rule: policy::ALLOW_RULE } => {}
                // A mode that allows commands says nothing about what the user starts later.
                Decision::Allow { .. } | Decision::Ask { .. } => {
                    rules.extend(policy::remedy(policy, &subject).rules);
                    is_open = true;
                }
            }
        }
        if is_open { Verdict::Open(rules) } else { Verdict::Allowed }
    }

    fn execution(&self, command: String) -> Resolved {
        let access = Access::Execute {
            command,
            cwd: self.roots.spelled()[0].clone(),
            unconfined: false,
            reason: None,
            lifetime: Lifetime::Session,
        };
        Resolved::new(access, None, Dialect::Bash)
    }

    /// Returns the question about changes.
    fn change_request(
        &self,
        submitted: &SubmittedCall<'_>,
        open: &[(ControlChange, Vec<PermissionRule>)],
    ) -> PermissionRequest {
        let changes: Vec<_> = open.iter().map(|(change, _)| change.clone()).collect();
        let names = self.named(&changes);
        let shown = listed(&names);
        let accesses = submitted.call.accesses(&self.roots.spelled()[0]);
        let command = titles::only_command(accesses.iter()).unwrap_or_default();
        let what = format!("change {shown}? Git, editors and agents obey it without asking.");
        let mut content: Vec<_> = changes.iter().take(OPEN_CHANGES_SHOWN).map(difference).collect();
        if let Some(more) = changes.len().checked_sub(OPEN_CHANGES_SHOWN).filter(|more| *more > 0) {
            content.push(ToolContent::Content(Content::text(format!("{more} more files are not shown."))));
        }
        PermissionRequest {
            content,
            raw_input: serde_json::json!({ "command": command, "changes": names }),
            remedy: Remedy {
                // Rules for a part of it would not do.
                rules: match open.iter().all(|(_, rules)| !rules.is_empty()) {
                    true => open.iter().flat_map(|(_, rules)| rules.clone()).collect(),
                    false => Vec::new(),
                },
                ..Remedy::default()
            },
            ..running::question(
                submitted.id.clone(),
                submitted.tool,
                &format!("`{}`", crate::one_line(command)),
                command,
                format!("Change {shown}"),
                &what,
                None,
            )
        }
    }

    /// Returns the changes in words, on one line each.
    fn named(&self, changes: &[ControlChange]) -> Vec<String> {
        let name = |change: &ControlChange| -> Vec<String> {
            let setting = |(name, value): &(String, Option<String>)| match value {
                Some(value) if value.chars().count() > SETTING_CHARS => {
                    let start: String = value.chars().take(SETTING_CHARS).collect();
                    format!("git's {name} to {start}… ({} bytes)", value.len())
                }
                Some(value) => format!("git's {name} to {value}"),
                None => format!("git's {name} (removed)"),
            };
            match change.settings.is_empty() {
                false => change.settings.iter().map(setting).collect(),
                true if change.after.is_none() => vec![format!("{} (removed)", self.relative(&change.path))],
                true => vec![self.relative(&change.path)],
            }
        };
        changes.iter().flat_map(name).map(|name| crate::one_line(&name).to_string()).collect()
    }

    /// Returns a path below the session's directory as it is written there.
    fn relative(&self, path: &AbsPath) -> String {
        titles::path_title(path, &self.roots.spelled()[0]).to_owned()
    }
}

/// Returns names in words; further ones than [`OPEN_CHANGES_TOLD`] are counted.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some(_) if names.len() > OPEN_CHANGES_TOLD => {
            let more = names.len() - OPEN_CHANGES_TOLD;
            format!("{} and {more} more", names[..OPEN_CHANGES_TOLD].join(", "))
        }
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// Shows what a change does to its file.
fn difference(change: &ControlChange) -> ToolContent {
    let size = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let text = |bytes: &Option<Vec<u8>>| match bytes {
        Some(bytes) => std::str::from_utf8(bytes).ok().map(|text| Some(text.to_owned())),
        None => Some(None),
    };
    let (old_size, new_size) = (size(&change.before), size(&change.after));
    match (text(&change.before), text(&change.after)) {
        (Some(old_text), Some(new_text)) if old_size.max(new_size) <= OPEN_CHANGE_BYTES => {
            ToolContent::Diff(Diff { path: change.path.clone(), old_text, new_text })
        }
        _ => {
            let path = crate::one_line(change.path.as_str());
            let text = format!("{path}: {new_size} bytes, now {old_size} bytes; too large or no text.");
            ToolContent::Content(Content::text(text))
        }
    }
}

/// Returns the command line that changes a setting.
fn line(name: &str, value: Option<&str>) -> String {
    let name = policy::quoted(name);
    match value {
        Some(value) => format!("git config {name} {}", policy::quoted(value)),
        None => format!("git config --unset {name}"),
    }
}

//! Pushes to the project's remote repositories. The rules for commands decide, by the `git push`
//! that does the same, whatever has started it.

use super::{Judge, Kept, Place, Running, running};
use crate::{
    Access, Destination, Effect, Lifetime, Mode, PermissionOutcome, PermissionRequest, ProjectPrograms, Push,
    RefChange, Remedy, RemoteRepository, RuntimeOptions, SignCommits, Signing, ToolContent,
    limits::{ANCESTRY_WAIT, PUSHED_REFS, PUSHED_REFS_TOLD},
    policy::network::NetworkDecision,
    policy::{self, CommandConfinement, Decision, Dialect, Policy, Resolved, Subject},
};
use std::sync::{Arc, PoisonError};
use system::{AbsPath, Command};
use tokio_util::sync::CancellationToken;

/// The setting for signatures.
const SIGN_COMMITS: &str = "sandbox.sign_commits";

/// The number of characters of an id that are shown.
const SHORT_ID: usize = 7;

/// A change of a reference, and whether it loses no commit of the remote repository.
struct Judged<'a> {
    change: &'a RefChange,
    is_forward: bool,
}

impl Judge {
    /// Decides about a push, and asks the user once it is its turn.
    pub(super) async fn decide_push(&self, push: &Push, gone: &CancellationToken) -> Result<(), String> {
        if push.changes.len() > PUSHED_REFS {
            return Err(format!("it changes more than {PUSHED_REFS} references at once"));
        }
        let mut judged = Vec::with_capacity(push.changes.len());
        for change in &push.changes {
            judged.push(Judged { change, is_forward: self.is_forward(push, change).await });
        }
        let line = line(push, &judged);
        let (decision, remedy) = self.by_rules(&line);
        match decision {
            Decision::Allow { .. } => return Ok(()),
            Decision::Deny { reason, .. } => {
                let what = if judged.iter().all(|judged| judged.is_forward) {
                    "the push"
                } else {
                    "a push that deletes a reference, or replaces commits of the remote repository,"
                };
                return Err(format!("{what} is refused (`{line}`): {reason}"));
            }
            Decision::Ask { .. } if self.is_allowed_as_it_runs() => return Ok(()),
            Decision::Ask { .. } => {}
        }
        let _turn = self.may_ask(gone).await?;
        let rules = remedy.rules.clone();
        let (_, answer, _) =
            self.answer(gone, |running| request(running, push, &judged, &line, remedy)).await?;
        answer.map_err(|why| running::with_rules(why, &rules))
    }

    /// Decides whether a command reaches a repository, and asks the user once it is its turn. With
    /// `as_user` the rules for `git fetch` decide, and the answer is also for the destination.
    pub(super) async fn decide_reach(
        &self,
        remote: &RemoteRepository,
        destination: &Destination,
        as_user: bool,
        gone: &CancellationToken,
    ) -> Result<(), String> {
        let is_open = match self.decide(destination) {
            NetworkDecision::Deny { reason } => return Err(reason),
            NetworkDecision::Allow { .. } => true,
            NetworkDecision::Ask { .. } => false,
        };
        if is_open && !as_user {
            return Ok(());
        }
        let line = format!("git fetch {}", policy::quoted(&remote.name));
        let (decision, remedy) = self.by_rules(&line);
        match decision {
            Decision::Deny { reason, .. } => return Err(format!("`{line}`: {reason}")),
            // The mode says nothing about the destination.
            Decision::Allow { rule } if is_open || rule == policy::ALLOW_RULE => return Ok(()),
            Decision::Allow { .. } | Decision::Ask { .. } => {}
        }
        let _turn = self.may_ask(gone).await?;
        let kept = Kept::Repository(remote.address.clone());
        let is_of_command = |running: &Running| running.repositories.contains(&remote.address);
        if self.lock().running.as_ref().is_some_and(is_of_command) {
            return Ok(());
        }
        if let Some(answer) = self.kept(&kept) {
            return answer;
        }
        let rules = remedy.rules.clone();
        let (call, answer, outcome) =
            self.answer(gone, |running| reach_request(running, remote, remedy)).await?;
        self.keep(kept, outcome);
        let mut now = self.lock();
        let running = now.running.as_mut().filter(|running| running.is_of(&call) && answer.is_ok());
        if let Some(running) = running {
            running.repositories.insert(remote.address.clone());
        }
        drop(now);
        answer.map_err(|why| running::with_rules(why, &rules))
    }

    /// Decides about a signature, and asks the user once it is its turn.
    pub(super) async fn decide_signing(
        &self,
        signing: &Signing,
        gone: &CancellationToken,
    ) -> Result<(), String> {
        match self.settings.seen().sandbox.network.sign_commits {
            SignCommits::Always => return Ok(()),
            SignCommits::Never => return Err(format!("the setting {SIGN_COMMITS} is never")),
            SignCommits::Ask => {}
        }
        let _turn = self.may_ask(gone).await?;
        let kept = Kept::Key(signing.key.clone());
        if let Some(answer) = self.kept(&kept) {
            return answer;
        }
        let (_, answer, outcome) = self.answer(gone, |running| signing_request(running, signing)).await?;
        self.keep(kept, outcome);
        answer.map_err(|why| format!("{why}; the setting {SIGN_COMMITS} decides about signatures"))
    }

    /// Returns the answer for the session, while its permission mode is in force.
    fn kept(&self, kept: &Kept) -> Option<Result<(), String>> {
        let mode = (self.state)().permission_mode;
        let now = self.lock();
        let (_, is_allowed) = now.kept.get(kept).filter(|(known, _)| *known == mode)?;
        Some(if *is_allowed { Ok(()) } else { Err("the user said no".to_owned()) })
    }

    fn keep(&self, kept: Kept, outcome: PermissionOutcome) {
        let is_allowed = match outcome {
            PermissionOutcome::AllowAlways => true,
            PermissionOutcome::RejectAlways => false,
            _ => return,
        };
        let mode = (self.state)().permission_mode;
        self.lock().kept.insert(kept, (mode, is_allowed));
    }

    /// Returns the decision about a command line outside of a sandbox, and what would allow it.
    fn by_rules(&self, line: &str) -> (Decision, Remedy) {
        let now = self.settings.seen();
        let state = (self.state)();
        let policy = Policy {
            mode: state.mode,
            permission_mode: state.permission_mode,
            settings: now.policy(),
            readable: Vec::new(),
            temp: None,
            grants: &self.grants,
            confinement: CommandConfinement::Off,
            apart: false,
        };
        let roots = self.roots();
        let access = Access::Execute {
            command: line.to_owned(),
            cwd: roots.first().cloned().unwrap_or_else(|| self.own_files.temp.clone()),
            unconfined: false,
            reason: None,
            lifetime: Lifetime::Session,
        };
        let accesses = [Resolved::new(access, None, Dialect::Bash)];
        let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &accesses, roots: &roots };
        (policy::decide(&policy, &subject), policy::remedy(&policy, &subject))
    }

    /// Returns whether a rule allows the command that runs by its own line, which pushes.
    fn is_allowed_as_it_runs(&self) -> bool {
        let line = self.lock().running.as_ref().map(|running| running.line.clone());
        line.is_some_and(|line| {
            policy::pushes(&line)
                && matches!(self.by_rules(&line).0, Decision::Allow { rule: policy::ALLOW_RULE })
        })
    }

    /// Returns whether a change loses no commit of the remote repository, as git in the room sees
    /// it. A change of a tag that is there does, as for git.
    async fn is_forward(&self, push: &Push, change: &RefChange) -> bool {
        let (Some(old), Some(new)) = (&change.old, &change.new) else { return change.new.is_some() };
        if change.name.starts_with("refs/tags/") {
            return false;
        }
        for directory in &push.to.directories {
            if self.is_ancestor(directory, old, new).await {
                return true;
            }
        }
        false
    }

    async fn is_ancestor(&self, directory: &AbsPath, old: &str, new: &str) -> bool {
        let now = self.settings.seen();
        let (system, programs) = {
            let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            (Arc::clone(&place.system), self.programs(&now, &place, directory))
        };
        let words = ["--git-dir=.", "-c", "core.commitGraph=false", "merge-base", "--is-ancestor", old, new];
        let args = words.map(str::to_owned).to_vec();
        let mut command = Command::new("git", args, directory.clone(), 0);
        let own = [("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_OPTIONAL_LOCKS", "0")];
        command.env = own.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let check = async {
            let mut process = programs.on(system).await.spawn(command).await.ok()?;
            process.wait().await.ok()
        };
        let ended = tokio::time::timeout(ANCESTRY_WAIT, check).await;
        ended.ok().flatten().is_some_and(|status| status.success())
    }

    /// Returns the place in which git reads the project's history.
    fn programs(&self, now: &RuntimeOptions, place: &Place, directory: &AbsPath) -> ProjectPrograms {
        let sandbox = policy::sandbox(&now.bounds(Mode::Ask, &place.roots, Some(&self.own_files)));
        ProjectPrograms::new(directory.clone(), sandbox)
    }

    fn roots(&self) -> Vec<AbsPath> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).roots.clone()
    }
}

/// Returns the command line that does the same as a push.
fn line(push: &Push, judged: &[Judged<'_>]) -> String {
    let remote = policy::quoted(&push.to.name);
    if judged.is_empty() {
        return format!("git lfs push {remote}");
    }
    let command = |judged: &Judged<'_>| {
        let option = match (judged.is_forward, &judged.change.new) {
            (_, None) => "--delete ",
            (false, _) => "--force ",
            (true, _) => "",
        };
        format!("git push {option}{remote} {}", policy::quoted(short_name(&judged.change.name)))
    };
    judged.iter().map(command).collect::<Vec<_>>().join(" && ")
}

/// Returns a name as people write it.
fn short_name(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name)
}

/// Describes a change in words.
fn described(judged: &Judged<'_>) -> String {
    let RefChange { name, old, new } = judged.change;
    let short = |id: &Option<String>| id.as_deref().map_or("", |id| &id[..SHORT_ID.min(id.len())]).to_owned();
    let (kind, name) = match name.strip_prefix("refs/tags/") {
        Some(tag) => ("tag ", tag),
        None => ("", short_name(name)),
    };
    match (old, new) {
        (_, None) => format!("delete {kind}{name}, which is {}", short(old)),
        (None, Some(_)) => format!("new {kind}{name} at {}", short(new)),
        (Some(_), Some(_)) if judged.is_forward => {
            format!("{kind}{name} from {} to {}", short(old), short(new))
        }
        (Some(_), Some(_)) => format!("replace {kind}{name}, which is {}, by {}", short(old), short(new)),
    }
}

/// Returns the question about a push of the command that runs.
fn request(
    running: &Running,
    push: &Push,
    judged: &[Judged<'_>],
    line: &str,
    remedy: Remedy,
) -> PermissionRequest {
    let place = crate::one_line(&push.to.address).to_string();
    let all: Vec<_> = judged.iter().map(|judged| crate::one_line(&described(judged))).collect();
    let mut changes = all.iter().take(PUSHED_REFS_TOLD).cloned().collect::<Vec<_>>().join("; ");
    if all.is_empty() {
        changes.push_str("files of Git LFS");
    }
    if all.len() > PUSHED_REFS_TOLD {
        changes.push_str(&format!("; and {} more", all.len() - PUSHED_REFS_TOLD));
    }
    PermissionRequest {
        content: vec![ToolContent::Content(crate::Content::text(all.join("\n")))],
        raw_input: serde_json::json!({ "command": running.line, "pushes": line, "repository": push.to.address }),
        remedy,
        ..running.question(format!("Push to {place}"), &format!("push to {place}: {changes}?"), place)
    }
}

/// Returns the question whether the command that runs reaches a repository as the user.
fn reach_request(running: &Running, remote: &RemoteRepository, remedy: Remedy) -> PermissionRequest {
    let place = crate::one_line(&remote.address).to_string();
    let what = format!("reach {place} with your credentials?");
    PermissionRequest {
        raw_input: serde_json::json!({ "command": running.line, "reaches": remote.address }),
        grant_label: format!("reaching {place} in this session"),
        remedy,
        ..running.question(format!("Reach {place} with your credentials"), &what, place)
    }
}

/// Returns the question about a signature for the command that runs.
fn signing_request(running: &Running, signing: &Signing) -> PermissionRequest {
    let (key, subject) = (crate::one_line(&signing.key), crate::one_line(&signing.subject));
    let what = format!("sign the {} “{subject}” with your key {key}?", signing.kind);
    PermissionRequest {
        content: vec![ToolContent::Content(crate::Content::text(signing.object.clone()))],
        raw_input: serde_json::json!({ "command": running.line, "signs": signing.object, "key": signing.key }),
        grant_label: format!("signatures with the key {key} in this session"),
        remedy: Remedy { setting: Some(SIGN_COMMITS), ..Remedy::default() },
        ..running.question(format!("Sign a {} with the key {key}", signing.kind), &what, key.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, old: Option<&str>, new: Option<&str>) -> RefChange {
        RefChange { name: name.to_owned(), old: old.map(str::to_owned), new: new.map(str::to_owned) }
    }

    #[test]
    fn a_push_is_the_line_that_does_the_same() {
        let push = |changes| Push {
            to: RemoteRepository {
                address: "https://h/x".to_owned(),
                name: "origin".to_owned(),
                directories: Vec::new(),
            },
            changes,
        };
        let (one, two) = (Some("11111111"), Some("22222222"));
        for (change, is_forward, expected, text) in [
            (
                change("refs/heads/main", one, two),
                true,
                "git push origin main",
                "main from 1111111 to 2222222",
            ),
            (change("refs/heads/a;b", None, two), true, "git push origin 'a;b'", "new a;b at 2222222"),
            (
                change("refs/heads/main", one, two),
                false,
                "git push --force origin main",
                "replace main, which is 1111111, by 2222222",
            ),
            (
                change("refs/tags/v1", one, None),
                false,
                "git push --delete origin v1",
                "delete tag v1, which is 1111111",
            ),
            (
                change("refs/for/x", None, one),
                true,
                "git push origin refs/for/x",
                "new refs/for/x at 1111111",
            ),
        ] {
            let push = push(vec![change.clone()]);
            let judged = [Judged { change: &push.changes[0], is_forward }];
            assert_eq!(line(&push, &judged), expected);
            assert_eq!(described(&judged[0]), text);
        }
        assert_eq!(line(&push(Vec::new()), &[]), "git lfs push origin");
    }
}

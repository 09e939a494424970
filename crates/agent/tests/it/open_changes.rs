//! Changes that commands leave of files that git, editors or agents obey: which of them ask, and
//! what the answers do.

use crate::stage::{Setting, Stage, stage};
use agent::{PermissionOutcome, PermissionRules, SandboxOptions, ToolContent, fake::Reply};
use serde_json::json;
use system::{AbsPath, fake::Script};

/// Runs a command that changes a setting of git and a file of an editor. Returns the stage and the
/// result of the command.
async fn changed(answers: Vec<Option<PermissionOutcome>>, allow: &str) -> (Stage, String) {
    let allow = allow.split_whitespace().map(|rule| rule.replace('_', " ").parse().unwrap()).collect();
    let rules = PermissionRules { allow, ..PermissionRules::default() };
    let temp = Some(AbsPath::new("/var/tmp/t").unwrap());
    let sandbox = SandboxOptions { temp, ..SandboxOptions::default() };
    let script = vec![Reply::calls(&[("bash", json!({"command": "ls"}))]), Reply::text("done")];
    let stage = stage(Setting { script, answers, rules, sandbox, ..Setting::default() }).await;
    stage.system.on_command("ls", |_| Script::exits(0).prints("listed\n"));
    stage.system.add_file("/w/.git/config", "old");
    stage.system.add_file("/w/.vscode/settings.json", "old");
    stage.system.leave_change("/w/.git/config", &[("core.hookspath", "a b")], "new");
    stage.system.leave_change("/w/.vscode/settings.json", &[], "new");
    stage.prompt("go").await.unwrap();
    let said = format!("{:?}", stage.model.requests().last().unwrap().messages);
    (stage, said)
}

fn now(stage: &Stage) -> [String; 2] {
    ["/w/.git/config", "/w/.vscode/settings.json"].map(|path| stage.system.text_of(path).unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_user_decides_about_all_changes_at_once() {
    let (stage, said) = changed(vec![Some(PermissionOutcome::AllowOnce)], "").await;
    assert_eq!(now(&stage), ["new", "new"]);
    let asked = stage.client.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0].question,
        "Let `ls` change git's core.hookspath to a b and .vscode/settings.json? Git, editors and agents obey it without asking."
    );
    let diffs = asked[0].content.iter().filter(|content| matches!(content, ToolContent::Diff(_)));
    assert_eq!(diffs.count(), 2);
    assert!(
        said.contains("(changed in the project too: git's core.hookspath to a b and .vscode/settings.json.)"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_change_stays_in_the_sandbox() {
    let (stage, said) = changed(vec![Some(PermissionOutcome::RejectOnce)], "").await;
    assert_eq!(now(&stage), ["old", "old"]);
    let note = "(kept for commands in the sandbox only: git's core.hookspath to a b and .vscode/settings.json: the user said no.)";
    assert!(said.contains(note), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_git_config_allows_a_setting() {
    let answers = vec![Some(PermissionOutcome::RejectOnce)];
    let (stage, said) = changed(answers, "bash(git_config_core.hooksPath_*)").await;
    assert_eq!(now(&stage), ["new", "old"]);
    assert_eq!(
        stage.client.requests()[0].question,
        "Let `ls` change .vscode/settings.json? Git, editors and agents obey it without asking."
    );
    assert!(said.contains("(changed in the project too: git's core.hookspath to a b.)"), "{said}");
}

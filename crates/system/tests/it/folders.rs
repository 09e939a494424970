//! Folders that editors and agents obey: commands change copies of them, and what the repository
//! had before is carried over.

use crate::room::{holds, stage};
use crate::sandbox::Stage;
use std::fs;
use system::{AbsPath, Command, System};
use tempfile::TempDir;

/// The user's commands, in the project: three branches with different versions of two folders.
const REPOSITORY: &str = r#"
rm -rf .git && git init -q -b main . && git config user.email a@b && git config user.name A
mkdir -p .vscode .husky/_ && echo one > .vscode/settings.json && echo hook > .husky/_/pre-commit
chmod +x .husky/_/pre-commit && echo mine > .vscode/untracked.json && echo 'untracked.json' > .gitignore
git add .gitignore .vscode/settings.json .husky && git commit -qm one
git checkout -qb other && echo two > .vscode/settings.json && chmod -x .husky/_/pre-commit
git commit -qam two
git checkout -qb without && git rm -rq .vscode/settings.json .husky && git commit -qm three
git checkout -q main && rm -rf .zed
git checkout -qb zed && mkdir .zed && echo zed > .zed/settings.json && git add .zed && git commit -qm four && git checkout -q main
"#;

/// A project with the repository; `None` without git or without rooms on this machine.
async fn project() -> Option<(Stage, TempDir)> {
    let (mut stage, own) = stage();
    let folders = [".vscode", ".husky", ".zed", ".idea"].map(|name| stage.project.join(name));
    stage.sandbox.protected.guarded.extend(folders.clone());
    stage.sandbox.protected.reserved.extend(folders.clone());
    stage.sandbox.protected.copied.extend(folders);
    outside(&stage, REPOSITORY).await.then_some(())?;
    holds(&stage).await.then_some((stage, own))
}

/// Runs a script as the user, and returns whether it succeeded.
async fn outside(stage: &Stage, script: &str) -> bool {
    let mut command = Command::shell(format!("set -e\n{script}"), stage.project.clone(), 1 << 16);
    command.env.push(("HOME".to_owned(), stage.home.to_string()));
    let mut process = stage.local.spawn(command).await.unwrap();
    process.wait().await.unwrap().success()
}

fn read(stage: &Stage, path: &str) -> Option<String> {
    fs::read_to_string(stage.project.join(path).as_std()).ok()
}

#[tokio::test]
async fn checkouts_reach_the_original() {
    let Some((stage, _own)) = project().await else { return };
    let clean = "test -z \"$(git status --porcelain -uno)\"";
    for (branch, settings) in [
        ("other", Some("two\n")),
        ("without", None),
        ("main", Some("one\n")),
        ("without", None),
        ("other", Some("two\n")),
    ] {
        stage.check(&format!("git switch -q {branch} && {clean}"), true).await;
        assert_eq!(read(&stage, ".vscode/settings.json").as_deref(), settings, "{branch}");
        assert!(outside(&stage, clean).await, "{branch}");
        assert!(
            outside(&stage, &format!("test {branch} != main -o -x .husky/_/pre-commit")).await,
            "{branch}"
        );
    }
    stage
        .check("git stash list && git reset -q --hard main && git clean -qfdx -e .env -e .mcp.json -e .zed . && git switch -q main", true)
        .await;
    assert_eq!(read(&stage, ".vscode/untracked.json").unwrap(), "mine\n");
}

#[tokio::test]
async fn a_folder_of_another_branch_appears() {
    let Some((stage, _own)) = project().await else { return };
    let clean = "test -z \"$(git status --porcelain -uno)\"";
    stage.check(&format!("git switch -q zed && {clean}"), true).await;
    assert_eq!(read(&stage, ".zed/settings.json").unwrap(), "zed\n");
    assert!(outside(&stage, clean).await);
    stage.check(&format!("git switch -q main && {clean}"), true).await;
    stage.check("echo evil > .zed/settings.json", true).await;
    assert_eq!(read(&stage, ".zed/settings.json"), None);
    stage
        .check(
            "git rm -q --cached .gitignore; mkdir .idea && echo evil > .idea/x; sleep 0.2; test ! -e .idea",
            true,
        )
        .await;
    let project = stage.project.clone();
    drop(stage.local);
    assert!(!project.join(".zed").as_std().exists(), "an empty place stays for the session only");
}

#[tokio::test]
async fn other_changes_stay_in_the_copy() {
    let Some((stage, _own)) = project().await else { return };
    for line in [
        "echo evil > .vscode/settings.json && grep evil .vscode/settings.json",
        "echo evil > .vscode/tasks.json",
        "echo evil > .husky/_/pre-commit",
        "rm .vscode/untracked.json; chmod -x .husky/_/pre-commit",
        "git commit -qam evil && git branch evil && git update-ref refs/heads/other HEAD",
        "git switch -q evil && git reset -q --hard evil",
        "echo one > .vscode/untracked.json",
        "ln -sf /etc/passwd .vscode/link; mkdir -p .vscode/deep/er && cp .gitignore .vscode/deep/er",
        "rm -rf .vscode/* && ln -s / .vscode/root",
    ] {
        stage.check(line, true).await;
        let now = [".vscode/settings.json", ".vscode/untracked.json", ".husky/_/pre-commit"]
            .map(|path| read(&stage, path));
        assert_eq!(now.map(Option::unwrap), ["one\n", "mine\n", "hook\n"], "{line}");
        assert!(
            outside(&stage, "test ! -e .vscode/tasks.json -a ! -L .vscode/link -a ! -L .vscode/root").await,
            "{line}"
        );
    }
    for line in [
        "mv .vscode other",
        "rmdir .vscode",
        "rm -rf .vscode && test ! -e .vscode",
        "mv .husky/_ . && mv _ .vscode/x && mv .vscode x",
    ] {
        stage.check(line, false).await;
    }
}

#[tokio::test]
async fn a_kept_change_is_reported_once() {
    let Some((stage, _own)) = project().await else { return };
    let (output, _) = stage.run("echo evil > .vscode/settings.json").await.unwrap();
    assert!(
        output.contains(
            ".vscode/settings.json is kept for commands in the sandbox only: editors and agents obey it"
        ),
        "{output}"
    );
    let (output, _) = stage.run("cat .vscode/settings.json").await.unwrap();
    assert_eq!(output, "evil\n");
    // What the user writes is what commands see.
    fs::write(stage.project.join(".vscode/settings.json").as_std(), "user\n").unwrap();
    fs::write(stage.project.join(".vscode/more.json").as_std(), "more\n").unwrap();
    let (output, _) = stage.run("cat .vscode/settings.json .vscode/more.json").await.unwrap();
    assert_eq!(output, "user\nmore\n");
    assert_eq!(read(&stage, ".vscode/settings.json").unwrap(), "user\n");
}

#[tokio::test]
async fn each_session_has_its_own_copy() {
    let Some((mut stage, own)) = project().await else { return };
    stage.check("echo mine > .vscode/settings.json", true).await;
    let first = stage.sandbox.view.clone();
    let top = AbsPath::from_os(own.path()).unwrap();
    stage.sandbox.view.copies = Some(top.join("other/copies"));
    stage.check("grep one .vscode/settings.json && echo other > .vscode/settings.json", true).await;
    stage.sandbox.view = first;
    stage.check("grep mine .vscode/settings.json", true).await;
    assert_eq!(read(&stage, ".vscode/settings.json").unwrap(), "one\n");
}

#[tokio::test]
async fn a_folder_with_more_is_read_only() {
    let Some((stage, _own)) = project().await else { return };
    assert!(outside(&stage, "ln -s /etc .vscode/etc; echo SECRET=1 > .husky/a.env").await);
    stage
        .check("cat .vscode/settings.json && ! echo x > .vscode/settings.json && ! echo x > .husky/y", true)
        .await;
    assert_eq!(read(&stage, ".vscode/settings.json").unwrap(), "one\n");
}

#[tokio::test]
async fn names_that_appear_together_are_renamed() {
    let (mut stage, _own) = stage();
    let names = [".vscode", ".cursor", ".claude", ".codex", ".gemini", ".zed"];
    let paths = names.map(|name| stage.project.join(name));
    stage.sandbox.protected.guarded.extend(paths.clone());
    stage.sandbox.protected.reserved.extend(paths);
    if !holds(&stage).await {
        return;
    }
    for _ in 0..10 {
        stage.check(&format!("mkdir {}; sleep 0.1; rm -r .*.not-trusted*", names.join(" ")), true).await;
        for name in names {
            assert!(!stage.project.join(name).as_std().exists(), "{name}");
        }
    }
}

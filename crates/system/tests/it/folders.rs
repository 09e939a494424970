//! Folders that editors and agents obey: commands change copies of them, and what the repository
//! had before is carried over.

use crate::room::{holds, stage};
use crate::sandbox::Stage;
use std::fs;
use system::{AbsPath, Command, Confined, ControlChange, System, SystemError};
use tempfile::TempDir;

/// The user's commands, in the project: three branches with different versions of two folders.
const REPOSITORY: &str = r#"
rm -rf .git && git init -q -b main . && git config user.email a@b && git config user.name A
mkdir -p .vscode .husky/_ && echo one > .vscode/settings.json && echo hook > .husky/_/pre-commit
chmod +x .husky/_/pre-commit && echo mine > .vscode/untracked.json && echo 'untracked.json' > .gitignore
echo one > .envrc && git add .envrc
git add .gitignore .vscode/settings.json .husky && git commit -qm one
git checkout -qb other && echo two > .vscode/settings.json && chmod -x .husky/_/pre-commit
echo two > .envrc && git commit -qam two
git checkout -qb without && git rm -rq .vscode/settings.json .husky .envrc && git commit -qm three
git checkout -q main && rm -rf .zed
git checkout -qb zed && mkdir .zed && echo zed > .zed/settings.json && git add .zed && git commit -qm four && git checkout -q main
"#;

/// A project with the repository; `None` without git or without rooms on this machine.
pub(crate) async fn project() -> Option<(Stage, TempDir)> {
    let (mut stage, own) = stage();
    let files = [".envrc", ".exrc"].map(|name| stage.project.join(name));
    stage.sandbox.protected.compared.extend(files);
    let folders = [".vscode", ".husky", ".zed", ".idea"].map(|name| stage.project.join(name));
    stage.sandbox.protected.guarded.extend(folders.clone());
    stage.sandbox.protected.reserved.extend(folders.clone());
    stage.sandbox.protected.copied.extend(folders);
    outside(&stage, REPOSITORY).await.then_some(())?;
    holds(&stage).await.then_some((stage, own))
}

/// Runs a script as the user, and returns whether it succeeded.
pub(crate) async fn outside(stage: &Stage, script: &str) -> bool {
    let mut command = Command::shell(format!("set -e\n{script}"), stage.project.clone(), 1 << 16);
    command.env.push(("HOME".to_owned(), stage.home.to_string()));
    let mut process = stage.local.spawn(command).await.unwrap();
    process.wait().await.unwrap().success()
}

pub(crate) fn read(stage: &Stage, path: &str) -> Option<String> {
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
        assert_eq!(read(&stage, ".envrc").as_deref(), settings, "{branch}");
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
async fn a_command_that_changes_nothing_says_nothing() {
    let Some((stage, _own)) = project().await else { return };
    for _ in 0..2 {
        let (output, status) = stage.run("echo hi; git status --porcelain -uno").await.unwrap();
        assert!(status.success() && output == "hi\n", "{output}");
    }
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
    let project = stage.project.clone();
    drop(stage.local);
    assert!(!project.join(".zed").as_std().exists(), "an empty place stays for the session only");
}

#[tokio::test]
async fn a_new_folder_is_there_for_its_command() {
    let Some((stage, _own)) = project().await else { return };
    let line = "mkdir -p .idea/a && echo x > .idea/a/x && echo y > .idea/y && cat .idea/a/x .idea/y && cd .idea/a && \
                for i in $(seq 100); do echo $i > f$i; done && ls | wc -l && rm f* && cd ../.. && git add .idea* && git ls-files .idea*";
    let (output, status) = stage.run(line).await.unwrap();
    assert!(status.success() && output == "x\ny\n101\n.idea/a/x\n.idea/y\n", "{output}");
    let content = || fs::read_dir(stage.project.join(".idea").as_std()).unwrap().count();
    assert_eq!(content(), 0);
    let changes = open(&stage).await;
    let paths: Vec<_> =
        changes.iter().map(|change| change.path.relative_to(&stage.project).unwrap()).collect();
    assert_eq!(paths, [".idea/a/x", ".idea/y"]);
    // Until the user agrees, the session's commands see it.
    stage.check("grep y .idea/y && echo more > .idea/more", true).await;
    assert_eq!((read(&stage, ".idea/y"), open(&stage).await.len()), (None, 1));
    for change in &changes {
        stage.local.carry_over(change).await.unwrap();
    }
    assert_eq!(read(&stage, ".idea/a/x").unwrap(), "x\n");
    assert!(!stage.project.join(".idea.not-trusted").as_std().exists());
    stage.check("grep y .idea/y && echo z > .idea/z", true).await;
    assert_eq!((read(&stage, ".idea/z"), open(&stage).await.len()), (None, 1));
}

#[tokio::test]
async fn what_git_names_is_not_changed() {
    let Some((stage, _own)) = project().await else { return };
    let script = r#"
mkdir .githooks tools && echo true > .githooks/pre-commit && echo true > tools/push && echo > .settings
git config core.hooksPath .githooks && git config include.path ../.settings
ln -s ../../tools/push .git/hooks/pre-push && git add .githooks tools .settings && git commit -qm hooks
git checkout -qb next && echo next > .githooks/pre-commit && echo '# next' > .settings && git commit -qam next
git checkout -q -
"#;
    assert!(outside(&stage, script).await);
    let line = "for f in .githooks/pre-commit .githooks/post-commit tools/push; do echo evil > $f; done; \
                git config -f .settings alias.x '!evil'";
    stage.check(line, true).await;
    let all = || [".githooks/pre-commit", ".settings", "tools/push"].map(|path| read(&stage, path).unwrap());
    assert_eq!(all(), ["true\n", "\n", "true\n"]);
    assert_eq!(read(&stage, ".githooks/post-commit"), None);
    let mut names: Vec<_> = open(&stage).await.into_iter().map(|change| change.path).collect();
    names.sort();
    let expected = [".githooks/post-commit", ".githooks/pre-commit", ".settings", "tools/push"];
    assert_eq!(names, expected.map(|name| stage.project.join(name)));
    let clean = "test -z \"$(git status --porcelain -uno)\"";
    stage.check(&format!("git checkout -q .githooks && git switch -q next && {clean}"), true).await;
    assert_eq!(all(), ["next\n", "# next\n", "true\n"]);
}

#[tokio::test]
async fn a_pull_brings_a_new_folder() {
    let Some((stage, _own)) = project().await else { return };
    let script = "git clone -q . ../other && cd ../other && git config user.email a@b && git config user.name A && mkdir .idea && \
                  echo pulled > .idea/x && git add .idea && git commit -qm pulled && git bundle create ../project/bundle main && rm -rf ../other";
    assert!(outside(&stage, script).await);
    stage.check("git pull -q bundle main && test -z \"$(git status --porcelain -uno)\"", true).await;
    assert_eq!(read(&stage, ".idea/x"), None);
    let changes = open(&stage).await;
    stage.local.carry_over(&changes[0]).await.unwrap();
    assert!(outside(&stage, "test -z \"$(git status --porcelain -uno)\"").await);
}

#[tokio::test]
async fn two_commands_create_a_folder_at_once() {
    let Some((stage, _own)) = project().await else { return };
    let line = |name: &str| {
        format!("for i in $(seq 50); do mkdir -p .idea && echo {name} > .idea/{name} || exit 1; done")
    };
    let (one, two) = (line("one"), line("two"));
    tokio::join!(stage.check(&one, true), stage.check(&two, true));
    let left = stage.project.join(".idea");
    assert!(fs::read_dir(left.as_std()).map_or(0, Iterator::count) == 0, "{left}");
    assert!(!stage.project.join(".idea.not-trusted").as_std().exists());
    stage.check("test \"$(cat .idea/one .idea/two | tr '\\n' ' ')\" = 'one two '", true).await;
    let project = stage.project.clone();
    drop(stage.local);
    assert!(!project.join(".idea").as_std().exists(), "an empty place stays for the session only");
}

#[tokio::test]
async fn a_file_of_the_user_stays_in_a_new_folder() {
    let Some((stage, _own)) = project().await else { return };
    let first = "mkdir .idea; echo a > .idea/a; until test -e stop; do sleep 0.01; done; cat .idea/b";
    let meanwhile = async {
        let is_renamed = "until test -e .idea.not-trusted/a; do sleep 0.01; done; echo mine > .idea/mine";
        assert!(outside(&stage, is_renamed).await);
        stage.check("cat .idea/a && ! test -e .idea/mine && echo b > .idea/b", true).await;
        assert_eq!(read(&stage, ".idea/mine").as_deref(), Some("mine\n"));
        stage.check("cat .idea/a .idea/b && touch stop", true).await;
    };
    tokio::join!(stage.check(first, true), meanwhile);
    assert_eq!(read(&stage, ".idea/mine").as_deref(), Some("mine\n"));
    assert!(!stage.project.join(".idea.not-trusted").as_std().exists());
    stage.check("cat .idea/a .idea/b .idea/mine", true).await;
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

/// Returns the paths of the changes that are not decided about.
async fn open(stage: &Stage) -> Vec<ControlChange> {
    stage.local.open_changes(stage.sandbox.view.copies.as_ref().unwrap()).await
}

#[tokio::test]
async fn a_kept_change_is_reported_once() {
    let Some((stage, _own)) = project().await else { return };
    stage.check("echo evil > .vscode/settings.json", true).await;
    let changes = open(&stage).await;
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].path, stage.project.join(".vscode/settings.json"));
    assert_eq!(changes[0].before.as_deref(), Some("one\n".as_bytes()));
    assert_eq!(changes[0].after.as_deref(), Some("evil\n".as_bytes()));
    let (output, _) = stage.run("cat .vscode/settings.json").await.unwrap();
    assert_eq!((output.as_str(), open(&stage).await), ("evil\n", Vec::new()));
    // What the user writes is what commands see.
    fs::write(stage.project.join(".vscode/settings.json").as_std(), "user\n").unwrap();
    fs::write(stage.project.join(".vscode/more.json").as_std(), "more\n").unwrap();
    let (output, _) = stage.run("cat .vscode/settings.json .vscode/more.json").await.unwrap();
    assert_eq!(output, "user\nmore\n");
    assert_eq!(read(&stage, ".vscode/settings.json").unwrap(), "user\n");
}

#[tokio::test]
async fn what_the_user_agrees_to_is_carried_over() {
    let Some((stage, _own)) = project().await else { return };
    stage
        .check("echo mine > .vscode/settings.json; rm .vscode/untracked.json; echo new > .vscode/new", true)
        .await;
    let changes = open(&stage).await;
    assert_eq!(changes.len(), 3);
    for change in &changes {
        stage.local.carry_over(change).await.unwrap();
    }
    let now = ["settings.json", "untracked.json", "new"].map(|name| read(&stage, &format!(".vscode/{name}")));
    assert_eq!(now, [Some("mine\n".to_owned()), None, Some("new\n".to_owned())]);
    stage.check("grep mine .vscode/settings.json", true).await;
    assert_eq!(open(&stage).await, []);
    stage.check("echo more > .vscode/new", true).await;
    let changes = open(&stage).await;
    fs::write(stage.project.join(".vscode/new").as_std(), "user\n").unwrap();
    assert!(matches!(stage.local.carry_over(&changes[0]).await, Err(SystemError::Changed(_))));
    assert_eq!(read(&stage, ".vscode/new").unwrap(), "user\n");
}

#[tokio::test]
async fn a_changed_file_is_put_back() {
    let Some((stage, _own)) = project().await else { return };
    stage.check("echo evil > .envrc; echo evil > .exrc; grep evil .envrc", true).await;
    assert_eq!((read(&stage, ".envrc").as_deref(), read(&stage, ".exrc")), (Some("one\n"), None));
    assert_eq!(read(&stage, ".envrc.not-trusted").unwrap(), "evil\n");
    let changes = open(&stage).await;
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0].set_aside(), Some(&stage.project.join(".envrc.not-trusted")));
    stage.local.carry_over(&changes[0]).await.unwrap();
    assert_eq!(
        (read(&stage, ".envrc").as_deref(), read(&stage, ".envrc.not-trusted")),
        (Some("evil\n"), None)
    );
    // A file that is put back has the permissions that it had.
    assert!(outside(&stage, "chmod 600 .envrc").await);
    for line in [
        "rm .envrc",
        "ln -sf a.txt .envrc",
        "rm -f .envrc; mkdir .envrc",
        "ln -s a.txt .exrc",
        "mkfifo .exrc",
        "rm .envrc; ln -s $HOME/note .envrc",
        "ln a.txt .exrc",
    ] {
        stage.check(line, true).await;
        assert_eq!(read(&stage, ".envrc").as_deref(), Some("evil\n"), "{line}");
        assert!(stage.project.join(".exrc").as_std().symlink_metadata().is_err(), "{line}");
        assert!(outside(&stage, "test $(stat -c %a .envrc) = 600").await, "{line}");
    }
}

#[tokio::test]
async fn a_command_in_the_background_changes_no_such_file() {
    let Some((stage, _own)) = project().await else { return };
    let system = Confined::new(std::sync::Arc::new(stage.local.clone()), stage.sandbox.clone());
    let line = "echo evil > .envrc; echo evil > .exrc; sleep 0.2; test ! -e .exrc";
    let mut command = Command::shell(line, stage.project.clone(), 1 << 16);
    command.interactive = true;
    let mut process = system.spawn(command).await.unwrap();
    assert!(process.wait().await.unwrap().success());
    assert_eq!((read(&stage, ".envrc").as_deref(), read(&stage, ".exrc")), (Some("one\n"), None));
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
        let files = names.map(|name| format!("{name}/x")).join(" ");
        let line = format!("mkdir {}; touch {files}; sleep 0.1; rm -r .*.not-trusted*", names.join(" "));
        stage.check(&line, true).await;
        for name in names {
            assert!(!stage.project.join(name).as_std().exists(), "{name}");
        }
    }
}

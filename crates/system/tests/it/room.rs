//! The room of a session: the files that exist for its commands, its home directory and its
//! network.

use crate::sandbox::Stage;
use std::fs;
use std::os::unix::fs::symlink;
use system::{AbsPath, Command, HomeEntry, HomeView, Output, SandboxLevel, System};
use tempfile::TempDir;

/// A stage with a home directory, whose own files are below the returned directory.
pub(crate) fn stage() -> (Stage, TempDir) {
    let mut stage = Stage::new();
    let dir = tempfile::Builder::new().prefix("tiller-test-room").tempdir_in("/var/tmp").unwrap();
    let own = AbsPath::from_os(dir.path()).unwrap();
    stage.sandbox.view.readable.clear();
    stage.sandbox.view.temp = Some(own.join("session/tmp"));
    stage.sandbox.view.copies = Some(own.join("session/copies"));
    stage.sandbox.view.home = Some(HomeView {
        at: stage.home.clone(),
        files: own.join("session/home"),
        changes: own.join("caches/project"),
        entries: HomeEntry::usual().collect(),
    });
    for (path, text) in [
        (".cargo/bin/tool", "#!/bin/sh\necho ran\n"),
        (".cargo/credentials.toml", "CANARY"),
        (".npm/cached", "cached"),
        (".config/gh/hosts.yml", "CANARY"),
        (".bash_history", "CANARY"),
        (".npmrc", "registry=https://r/\n//r/:_authToken=CANARY\n"),
        ("stow/gitconfig", "[user]\n\tname = A\n[credential]\n\thelper = CANARY\n"),
        ("notes.txt", "notes"),
    ] {
        let path = stage.home.join(path);
        fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
        fs::write(path.as_std(), text).unwrap();
    }
    symlink("stow/gitconfig", stage.home.join(".gitconfig").as_std()).unwrap();
    (stage, dir)
}

pub(crate) async fn holds(stage: &Stage) -> bool {
    let support = stage.support().await;
    assert!(support.holds() || !support.namespaces, "a room needs namespaces; there are none here");
    support.holds()
}

#[tokio::test]
async fn only_named_files_of_the_home_exist() {
    let (stage, _own) = stage();
    if !holds(&stage).await {
        return;
    }
    let (output, _) =
        stage.run("cd $HOME && find . -type f | sort; grep -r CANARY . ; cat .gitconfig").await.unwrap();
    let expected = "./.cargo/bin/tool\n./.gitconfig\n./.npm/cached\n./.npmrc\n[user]\n\tname = A\n";
    assert_eq!(output, expected);
    stage.check("sh $HOME/.cargo/bin/tool | grep ran && grep -q registry $HOME/.npmrc", true).await;
    stage.check("ls / | grep -E '^(mnt|media|srv|boot|root|work)$'", false).await;
    stage.check("ls -A /run | grep -v -E '^(current-system|systemd|wrappers)$'", false).await;
}

#[tokio::test]
async fn changes_of_the_home_stay_with_the_project() {
    let (stage, _own) = stage();
    if !holds(&stage).await {
        return;
    }
    stage
        .check(
            "cd $HOME && echo new > .npm/new && rm .npm/cached && echo x > .profile && mkdir .config",
            true,
        )
        .await;
    stage.check("cd $HOME && HOME=$HOME git config --global user.email a@b || ! command -v git", true).await;
    stage.check("cd $HOME && test -e .npm/new && test ! -e .npm/cached && grep x .profile", true).await;
    assert!(!stage.home.join(".npm/new").as_std().exists());
    assert!(!stage.home.join(".profile").as_std().exists());
    assert_eq!(fs::read_to_string(stage.home.join(".npm/cached").as_std()).unwrap(), "cached");
    assert!(!fs::read_to_string(stage.home.join(".gitconfig").as_std()).unwrap().contains("a@b"));
    // A tool that replaces the home by a link does not lead the next room elsewhere.
    stage.check("cd $HOME && rm -rf .config && ln -s /etc .config", true).await;
}

#[tokio::test]
async fn commands_of_a_session_share_loopback_and_temp() {
    let (stage, _own) = stage();
    let python = stage.run("python3 --version").await.is_some_and(|(_, status)| status.success());
    if !holds(&stage).await || !python {
        return;
    }
    let serve = "import socket; s = socket.create_server(('127.0.0.1', 18763)); open('/tmp/up', 'w').close(); s.accept()[0].sendall(b'served')";
    let ask = "import socket; print(socket.create_connection(('127.0.0.1', 18763)).recv(9).decode())";
    let serving = format!("python3 -c \"{serve}\"");
    let asking = format!("while [ ! -e /tmp/up ]; do sleep 0.02; done; python3 -c \"{ask}\"");
    let (served, asked) = futures(stage.run(&serving), stage.run(&asking)).await;
    assert!(served.unwrap().1.success());
    assert_eq!(asked.unwrap().0, "served\n");
}

async fn futures<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    tokio::join!(one, two)
}

#[tokio::test]
async fn a_home_as_project_is_read_only() {
    let (mut stage, _own) = stage();
    stage.sandbox.view.roots = vec![stage.home.clone()];
    stage.project = stage.home.clone();
    if !holds(&stage).await {
        return;
    }
    stage.check("grep notes notes.txt", true).await;
    stage.check("echo x > notes.txt", false).await;
    stage.check("grep CANARY .bash_history", false).await;
    assert_eq!(fs::read_to_string(stage.home.join("notes.txt").as_std()).unwrap(), "notes");
}

#[tokio::test]
async fn a_folder_of_a_repository_uses_its_git_directory() {
    let (mut stage, _own) = stage();
    let folder = stage.project.join("packages/foo");
    fs::create_dir_all(folder.as_std()).unwrap();
    fs::create_dir_all(stage.project.join("other").as_std()).unwrap();
    for (path, text) in
        [(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "[core]\n"), ("other/a", "a")]
    {
        fs::write(stage.project.join(path).as_std(), text).unwrap();
    }
    stage.sandbox.view.roots = vec![folder.clone()];
    stage.project = folder;
    if !holds(&stage).await {
        return;
    }
    stage.check("cat ../../other/a && echo x > b && echo x > ../../.git/index", true).await;
    for line in ["echo x > ../../other/a", "mv ../../.git/config x", "echo x > ../../new"] {
        stage.check(line, false).await;
    }
    stage.check("echo '[alias] x = !y' >> ../../.git/config", true).await;
    assert!(!fs::read_to_string(stage.project.join("../../.git/config").as_std()).unwrap().contains("alias"));
}

#[tokio::test]
async fn a_link_in_place_of_a_mount_point_is_moved_aside() {
    let (mut stage, own) = stage();
    let files = AbsPath::from_os(own.path()).unwrap().join("session/home");
    system::create_private_directory(&files).unwrap();
    symlink(stage.project.join(".git").as_std(), files.join("work").as_std()).unwrap();
    let inside = stage.home.join("work/project");
    fs::create_dir_all(inside.as_std()).unwrap();
    stage.sandbox.view.roots.push(inside.clone());
    if !holds(&stage).await {
        return;
    }
    stage.check(&format!("echo x > {inside}/made"), true).await;
    assert!(inside.join("made").as_std().exists());
    assert!(!stage.project.join(".git/project").as_std().exists());
}

#[tokio::test]
async fn a_read_only_room_has_no_writable_place() {
    let (mut stage, _own) = stage();
    stage.sandbox.level = SandboxLevel::ReadOnly;
    for line in ["echo x > $HOME/x", "echo x > /tmp/x", "echo x > new", "echo x > $HOME/.npm/x"] {
        stage.check(line, false).await;
    }
}

/// Runs git outside of the sandbox, and returns what it prints; `None` if it fails.
async fn git(stage: &Stage, line: &str) -> Option<String> {
    let line = format!("GIT_CONFIG_GLOBAL=/dev/null git -c user.name=a -c user.email=a@b {line}");
    let mut process = stage.local.spawn(Command::shell(line, stage.project.clone(), 1 << 16)).await.unwrap();
    let mut said = String::new();
    while let Some(piece) = process.next_output().await {
        if let Output::Text(text) = piece {
            said.push_str(&text);
        }
    }
    process.wait().await.unwrap().success().then_some(said)
}

/// A stage whose project is a repository with a commit; `None` without git.
async fn repository() -> Option<(Stage, TempDir)> {
    let (mut stage, own) = stage();
    fs::remove_dir_all(stage.project.join(".git").as_std()).unwrap();
    git(&stage, "init -q -b main").await?;
    git(&stage, "commit -q --allow-empty -m first").await?;
    stage.sandbox.protected.guarded =
        [".git/hooks", ".git/config"].map(|name| stage.project.join(name)).to_vec();
    Some((stage, own))
}

#[tokio::test]
async fn git_commands_change_the_configuration() {
    let Some((stage, _own)) = repository().await else { return };
    if !holds(&stage).await {
        return;
    }
    for line in [
        "git remote add origin https://h/x.git",
        "git checkout -q -b one && git config branch.one.remote origin && git config branch.one.merge refs/heads/one",
        "git branch -m one two",
        "git checkout -q main && git branch -D two",
        "git remote rename origin up",
        "git -c user.name=a -c user.email=a@b stash list",
        "git config user.email me@h && git worktree prune && git gc -q",
    ] {
        stage.check(line, true).await;
    }
    let config = git(&stage, "config --local --list").await.unwrap();
    assert!(
        config.contains("remote.up.url=https://h/x.git") && config.contains("user.email=me@h"),
        "{config}"
    );
    assert!(
        !config.contains("origin.url") && !config.contains("branch.one") && !config.contains("branch.two"),
        "{config}"
    );
}

#[tokio::test]
async fn a_program_for_git_stays_in_the_room() {
    let Some((stage, _own)) = repository().await else { return };
    if !holds(&stage).await {
        return;
    }
    let original = fs::read_to_string(stage.project.join(".git/config").as_std()).unwrap();
    let (output, status) =
        stage.run("git config core.fsmonitor ./evil && git config core.fsmonitor").await.unwrap();
    assert!(status.success() && output == "./evil\n", "{output}");
    let open = stage.local.open_changes(stage.sandbox.view.copies.as_ref().unwrap()).await;
    assert_eq!(open[0].settings, [("core.fsmonitor".to_owned(), Some("./evil".to_owned()))]);
    stage.check("git config core.fsmonitor | grep evil", true).await;
    for line in [
        "rm .git/config",
        "mv .git/config x",
        "ln -f a.txt .git/config",
        "echo x > t && mv -T t .git/config",
        "cat /proc/self/root$PWD/.git/config | grep -v evil | grep -q evil",
        "echo x > .git/hooks/pre-commit",
        "mv .git .git2",
    ] {
        stage.check(line, false).await;
    }
    stage.check("echo '[alias] x = !evil' >> .git/config", true).await;
    assert_eq!(fs::read_to_string(stage.project.join(".git/config").as_std()).unwrap(), original);
}

#[tokio::test]
async fn a_new_repository_is_disabled_at_once() {
    let Some((stage, _own)) = repository().await else { return };
    if !holds(&stage).await {
        return;
    }
    let line = "git init -q new && git -C new config core.fsmonitor ./evil && until [ -e new/.git/config.not-trusted ]; do sleep 0.05; done";
    let (output, status) = stage.run(line).await.unwrap();
    assert!(status.success() && output.contains("was renamed to"), "{output}");
}

#[tokio::test]
async fn a_guard_is_put_back_when_the_user_runs_git() {
    let Some((stage, _own)) = repository().await else { return };
    if !holds(&stage).await {
        return;
    }
    git(&stage, "--version && mkfifo up go").await.unwrap();
    let (up, go) = (stage.project.join("up"), stage.project.join("go"));
    let line = "echo > up; read -r x < go; until [ -L .git/config ]; do :; done; echo '[alias] x = !evil' >> .git/config; echo x > .git/hooks/x || true";
    let meanwhile = async {
        // The pipes open when the command is there.
        tokio::task::spawn_blocking(move || fs::read(up.as_std())).await.unwrap().unwrap();
        git(&stage, "config user.name outside").await.unwrap();
        tokio::task::spawn_blocking(move || fs::write(go.as_std(), "x\n")).await.unwrap().unwrap();
    };
    let (ran, ()) = futures(stage.run(line), meanwhile).await;
    let (output, _) = ran.unwrap();
    let config = git(&stage, "config --local --list").await.unwrap();
    assert!(config.contains("user.name=outside") && !config.contains("evil"), "{config} {output}");
    stage.check("git config user.name | grep outside", true).await;
}

#[tokio::test]
async fn values_of_secret_files_are_not_printed() {
    let (mut stage, _own) = stage();
    stage.sandbox.secret.hide.clear();
    fs::write(stage.project.join(".env").as_std(), "API_TOKEN=canary-0123\nPORT=3000\n").unwrap();
    if !holds(&stage).await {
        return;
    }
    let (output, _) = stage
        .run("cat .env; . ./.env; echo $PORT; printf %s $API_TOKEN | od -An -tx1 | tr -d ' '")
        .await
        .unwrap();
    assert_eq!(output, "API_TOKEN=[secret]\nPORT=3000\n3000\n[secret]\n");
    stage.check("echo B=2 >> .env && grep B=2 .env", true).await;
    let text = fs::read_to_string(stage.project.join(".env").as_std()).unwrap();
    assert_eq!(text, "API_TOKEN=canary-0123\nPORT=3000\nB=2\n");
}

#[tokio::test]
async fn a_hidden_file_fails_and_loses_nothing() {
    let (stage, _own) = stage();
    if !holds(&stage).await {
        return;
    }
    for line in ["cat .env", "echo B=2 >> .env", "rm .env", "mv a.txt .env"] {
        stage.check(line, false).await;
    }
    assert_eq!(fs::read_to_string(stage.project.join(".env").as_std()).unwrap(), "CANARY=1");
}

#[tokio::test]
async fn processes_that_are_left_are_named() {
    let (stage, _own) = stage();
    if !stage.support().await.processes {
        return;
    }
    let (output, status) = stage.run("sleep 100 > /dev/null 2>&1 & echo started").await.unwrap();
    assert!(status.success() && output.starts_with("started\n"), "{output}");
    assert!(output.contains("1 process still ran and was ended: "), "{output}");
    let (output, _) = stage.run("sleep 0.01 & wait; echo done").await.unwrap();
    assert_eq!(output, "done\n");
}

//! A confined command cannot change what other programs execute, and cannot affect other processes
//! or the files of other users: P3, P4, P8, P9 and P10 in docs/security.md.

use crate::sandbox::Stage;
use std::fs;
use std::os::unix::fs::MetadataExt;
use system::{AbsPath, Command, System};

/// A stage with the sandbox of a session: guards at every depth and private temporary files.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let project = stage.project.clone();
    for (path, text) in [
        (".git/config", "[core]\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/info/attributes", ""),
        (".git/modules/a/b/HEAD", "x"),
        (".git/modules/a/b/config", "[core]\n"),
        (".git/modules/a/b/hooks/keep", ""),
        (".git/worktrees/w/HEAD", "x"),
        (".git/worktrees/w/gitdir", "/w/.git\n"),
        (".git/worktrees/w/commondir", "../..\n"),
        ("sub/.git", "gitdir: ../.git/modules/a/b\n"),
        ("other/.git/HEAD", "x"),
        ("other/.git/config", "[core]\n"),
        (".vscode/tasks.json", "{}"),
        ("packages/one/.npmrc", "x=1\n"),
        ("packages/one/.cargo/config.toml", "[build]\n"),
        ("server/deep/er/than/before/.env", "CANARY=1"),
        ("vendor/.env", "CANARY=2"),
    ] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
        fs::write(path.as_std(), text).unwrap();
    }
    stage.sandbox.protected.guarded =
        [".git/hooks", ".mcp.json", ".vscode"].map(|name| project.join(name)).to_vec();
    stage
}

async fn holds(stage: &Stage) -> bool {
    let support = stage.support().await;
    assert!(support.holds() || !support.namespaces, "the rest needs namespaces; there are none here");
    support.holds()
}

#[tokio::test]
async fn p03_git_control_files_are_neither_written_nor_replaced_nor_renamed() {
    let stage = stage();
    if !holds(&stage).await {
        return;
    }
    for line in [
        "mv .git old",
        "mv .git old; cp -r old .git; echo x > .git/config",
        "mkdir x && mv -T x .git",
        "echo x >> .git/config",
        "echo x > t && mv t .git/config",
        "ln -sf ../a.txt .git/config",
        "echo x > .git/hooks/pre-commit",
        "mv .git/hooks .git/h",
        "echo x >> .git/modules/a/b/config",
        "mv .git/modules .git/m",
        "mv .git/modules/a .git/modules/c",
        "echo x > .git/modules/a/b/hooks/post-checkout",
        "echo x > .git/worktrees/w/commondir",
        "mv .git/worktrees/w .git/worktrees/v",
        "echo 'gitdir: /tmp/evil' > sub/.git",
        "mv sub/.git sub/x",
        "rm sub/.git",
        "echo x >> other/.git/config",
        "mv other/.git other/x",
        "rm .git/modules/a/b/HEAD && echo x > .git/modules/a/b/config",
        "echo x > .git/modules/a/b/config",
        "rm -r .git",
    ] {
        stage.check(line, false).await;
        assert_eq!(
            fs::read_to_string(stage.project.join(".git/config").as_std()).unwrap(),
            "[core]\n",
            "{line}"
        );
    }
    // Normal git operations still work.
    for line in [
        "echo x > .git/index.lock && mv .git/index.lock .git/index",
        "mkdir -p .git/objects/aa && echo x > .git/objects/aa/b",
        "echo x > .git/COMMIT_EDITMSG",
        "mkdir -p .git/info && echo '*.x diff=y' > .git/info/attributes",
        "mkdir -p .git/refs/heads && echo x > .git/refs/heads/main",
        "mkdir made && mv made other2 && rmdir other2",
    ] {
        stage.check(line, true).await;
    }
}

#[tokio::test]
async fn p03_files_that_other_programs_obey_are_guarded() {
    let stage = stage();
    if !holds(&stage).await {
        return;
    }
    for line in ["echo x > .vscode/tasks.json", "echo x > .vscode/settings.json", "mv .vscode v"] {
        stage.check(line, false).await;
    }
    // Files of package managers take effect when the user runs one.
    stage.check("echo x > packages/one/.npmrc", true).await;
}

#[tokio::test]
async fn p04_nothing_outlives_the_command() {
    let stage = stage();
    if !stage.support().await.applies() {
        return;
    }
    let daemon = "(setsid sh -c 'sleep 0.7; echo x > late' >/dev/null 2>&1 &) ; (nohup sh -c 'sleep 0.7; echo x > late' >/dev/null 2>&1 &) ; exit 0";
    stage.check(daemon, true).await;
    let command = Command::shell(daemon, stage.project.clone(), 1 << 16);
    assert!(stage.local.spawn(command).await.unwrap().wait().await.unwrap().success());
    // There is no event to wait for: the daemons would have written by then.
    std::thread::park_timeout(std::time::Duration::from_millis(1500));
    assert!(!stage.project.join("late").as_std().exists(), "a process outlived its command");
}

#[tokio::test]
async fn p08_secret_files_are_found_wherever_they_are() {
    let stage = stage();
    if !holds(&stage).await {
        return;
    }
    for at in 0..6000 {
        fs::write(stage.project.join(format!("file{at}")).as_std(), "").unwrap();
    }
    for line in [
        "cat server/deep/er/than/before/.env vendor/.env",
        "mkdir -p target && mv server target/ && cat target/server/deep/er/than/before/.env",
        "cat target/server/deep/er/than/before/.env",
        "cp -r target/server copy; cat copy/deep/er/than/before/.env",
        "mv vendor v; cat v/.env",
        "ln v/.env link; cat link",
        "mv v/.env plain; cat plain",
        "tar cf - v target | grep -a CANARY",
    ] {
        let (output, _) = stage.run(line).await.unwrap();
        assert!(!output.contains("CANARY"), "{line}: {output}");
    }
}

#[tokio::test]
async fn p08_a_directory_with_files_that_are_secret_by_their_path_cannot_be_moved() {
    let mut stage = stage();
    if !holds(&stage).await {
        return;
    }
    let secret = &mut stage.sandbox.secret;
    for patterns in [&mut secret.patterns, &mut secret.hide] {
        patterns.push("*config/private/*".to_owned());
    }
    fs::create_dir_all(stage.project.join("config/private").as_std()).unwrap();
    fs::write(stage.project.join("config/private/k.txt").as_std(), "CANARY=3").unwrap();
    for line in ["mv config/private p", "mv config c", "mv config/private config/public"] {
        stage.check(line, false).await;
    }
    let (output, _) = stage.run("cat */*/k.txt */k.txt").await.unwrap();
    assert!(!output.contains("CANARY"), "{output}");
}

#[tokio::test]
async fn p09_terminals_shared_memory_and_temporary_files_are_private() {
    let mut stage = stage();
    if !holds(&stage).await {
        return;
    }
    let own = tempfile::Builder::new().prefix("tiller-test-own").tempdir_in("/var/tmp").unwrap();
    let temp = AbsPath::from_os(own.path()).unwrap().join("session");
    stage.sandbox.view.temp = Some(temp.clone());
    let shared = format!("/tmp/tiller-test-{}", std::process::id());
    fs::write(&shared, "before").unwrap();
    let foreign = format!("/dev/shm/tiller-test-{}", std::process::id());
    fs::write(&foreign, "before").unwrap();
    let (output, _) = stage.run("ls /dev/pts /dev/shm; ls /dev").await.unwrap();
    assert!(!output.contains("tiller-test") && !output.contains("tty"), "{output}");
    assert!(output.starts_with("/dev/pts:\nptmx\n"), "{output}");
    stage.check(&format!("echo x > {foreign}; echo y > /dev/shm/y && test -e /dev/shm/y"), true).await;
    stage.check("echo x > /dev/tty", false).await;
    stage.check("python3 -c 'import pty; pty.spawn([\"true\"])' || ! command -v python3", true).await;
    stage.check(&format!("test ! -e {shared} && echo own > {shared} && test $TMPDIR = {temp}"), true).await;
    stage.check(&format!("grep own {shared} && grep own $TMPDIR/tiller-test-*"), true).await;
    assert_eq!(fs::read_to_string(&shared).unwrap(), "before");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "before");
    assert_eq!(fs::metadata(temp.as_std()).unwrap().mode() & 0o777, 0o700);
    fs::remove_file(&shared).unwrap();
    fs::remove_file(&foreign).unwrap();
}

#[tokio::test]
async fn p10_a_command_has_no_capabilities_and_cannot_mount() {
    let stage = stage();
    if !stage.support().await.applies() {
        return;
    }
    let (output, _) = stage.run("grep Cap /proc/self/status | tr -d '\\t'").await.unwrap();
    let sets: Vec<_> = output.lines().map(|line| line.split_once(':').unwrap().1).collect();
    assert_eq!(sets, ["0000000000000000"; 5], "{output}");
    let python = "import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in map(int, sys.argv[1:]):
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        sys.exit(f'{number}: {ctypes.get_errno()}')";
    fs::write(stage.project.join("calls.py").as_std(), python).unwrap();
    // mount, umount2, open_tree, move_mount, fsopen, mount_setattr, open_tree_attr and later calls,
    // x32.
    let numbers = "165 166 428 429 430 442 467 468 469 470 600 1073741989 425 101";
    if cfg!(target_arch = "x86_64") && stage.run("python3 --version").await.unwrap().1.success() {
        stage.check(&format!("python3 calls.py {numbers}"), true).await;
    }
    let vsock = "import socket; socket.socket(40, socket.SOCK_STREAM)";
    stage.check(&format!("python3 -c '{vsock}'"), false).await;
    let datagrams = "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)";
    // In a room it can send to commands only.
    stage.check(&format!("python3 -c '{datagrams}'"), stage.support().await.holds()).await;
}

#[tokio::test]
async fn p10_limits_hold_for_root_too() {
    let mut stage = stage();
    if !stage.support().await.processes {
        return;
    }
    stage.sandbox.limits.processes = 600;
    stage.sandbox.limits.file_bytes = 1 << 20;
    let line = "for i in $(seq 800); do sleep 3 & done 2>/dev/null; jobs | wc -l";
    let (output, _) = stage.run(line).await.unwrap();
    assert!(
        output.contains("annot fork")
            || output.contains("etry")
            || output.trim().parse::<u32>().unwrap_or(0) < 700,
        "{output}"
    );
    stage.check("head -c 2000000 /dev/zero > big", false).await;
}

#[tokio::test]
async fn other_processes_cannot_be_seen() {
    let stage = stage();
    if !stage.support().await.processes {
        return;
    }
    let (output, _) = stage.run("ls -d /proc/[0-9]* | wc -l").await.unwrap();
    assert!(output.trim().parse::<u32>().unwrap() < 8, "{output}");
    // The first process of the namespace is the launcher, and its environment contains no secret.
    let (output, _) = stage.run("tr '\\0' '\\n' < /proc/1/environ").await.unwrap();
    assert!(!output.contains("CANARY_TOKEN"), "{output}");
}

#[tokio::test]
async fn a_signal_ends_a_confined_command_like_any_other() {
    let stage = stage();
    for signal in ["TERM", "KILL", "SEGV"] {
        if let Some((output, status)) = stage.run(&format!("kill -{signal} $$")).await {
            assert_eq!(status.signal.as_deref(), Some(format!("SIG{signal}").as_str()), "{output}");
        }
    }
    if let Some((_, status)) = stage.run("exit 37").await {
        assert_eq!(status.code, Some(37));
    }
}

#[tokio::test]
async fn an_interactive_command_is_confined_and_reads_its_input() {
    let stage = stage();
    if !stage.support().await.applies() {
        return;
    }
    let line = "read -r x; echo \"got $x\"; echo x > $HOME/x; echo done";
    let system = system::Confined::new(std::sync::Arc::new(stage.local.clone()), stage.sandbox.clone());
    let line = line.replace("$HOME", stage.home.as_str());
    let mut command = Command::shell(line, stage.project.clone(), 1 << 20);
    command.interactive = true;
    let mut process = system.spawn(command).await.unwrap();
    process.write_input("word\n").await.unwrap();
    let mut output = String::new();
    while let Some(piece) = process.next_output().await {
        if let system::Output::Text(text) = piece {
            output.push_str(&text);
        }
    }
    assert!(output.starts_with("got word\n") && output.ends_with("done\n"), "{output}");
    assert!(!stage.home.join("x").as_std().exists(), "{output}");
}

#[tokio::test]
async fn of_the_folders_of_all_users_a_command_sees_its_own_only() {
    let mut stage = stage();
    let users = stage.home.join("users");
    for file in ["ada/mine", "bob/CANARY"] {
        let file = users.join(file);
        fs::create_dir_all(file.parent().unwrap().as_std()).unwrap();
        fs::write(file.as_std(), file.as_str()).unwrap();
    }
    stage.sandbox.view.roots = vec![users.join("ada"), stage.project.clone()];
    let line = "cat $HOME/users/ada/mine $HOME/users/bob/CANARY; ls $HOME/users; \
        echo new > $HOME/users/ada/new && cat $HOME/users/ada/new; mkdir $HOME/users/eve";
    let Some((output, _)) = stage.run(line).await else { return };
    assert!(output.contains("users/ada/mine") && output.contains("\nnew"), "{output}");
    assert!(!output.contains("bob/CANARY\n") || output.contains("No such file"), "{output}");
    if holds(&stage).await {
        assert!(!output.lines().any(|line| line == "bob"), "not even its name: {output}");
    }
    assert!(!users.join("eve").as_std().exists(), "{output}");
    assert_eq!(fs::read_to_string(users.join("ada/new").as_std()).unwrap(), "new\n");
    stage.sandbox.level = system::SandboxLevel::ReadOnly;
    let (output, _) = stage.run("cat $HOME/users/ada/mine; echo x > $HOME/users/ada/x").await.unwrap();
    assert!(output.contains("users/ada/mine") && !users.join("ada/x").as_std().exists(), "{output}");
}

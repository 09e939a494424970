//! Runs the contract over the local machine, and tests the features that only a real machine has.

use super::{LocalSystem, files};
use crate::contract::{self, Processes, Subject};
use crate::limits::{EXIT_GRACE, MAX_READ_BYTES, TERM_WAIT};
use crate::{
    AbsPath, Command, Output, Process, ReadOnly, Route, System, SystemError, TextRange, WalkOptions,
};
use rustix::process::{Pid, Signal, test_kill_process};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn directory() -> (TempDir, AbsPath) {
    let directory = tempfile::tempdir().unwrap();
    let root = AbsPath::from_os(&directory.path().canonicalize().unwrap()).unwrap();
    (directory, root)
}

fn subject() -> Subject {
    let (keep, root) = directory();
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    Subject {
        setup: Arc::clone(&system),
        system,
        root,
        writes: true,
        link: Some(Box::new(|path, target| symlink(target, path.as_std()).unwrap())),
        processes: Processes::Real,
        keep: Box::new(keep),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_contract() {
    let ran = contract::check(async || subject()).await;
    assert!(ran.len() > 40, "{ran:?}");
}

#[tokio::test]
async fn read_only_permits_reads_and_refuses_everything_else() {
    let read_only = || {
        let local = subject();
        Subject { system: Arc::new(ReadOnly::new(Arc::clone(&local.system))), writes: false, ..local }
    };
    let ran = contract::check(async || read_only()).await;
    assert!(ran.len() > 30, "{ran:?}");

    let Subject { system, setup, root, keep: _keep, .. } = read_only();
    let file = root.join("file");
    setup.write(&file, b"x").await.unwrap();
    let refused = [
        system.write(&file, b"y").await,
        system.replace_text(&root.join("new/file"), None, "y").await,
        system.create_dir_all(&root.join("new")).await,
        system.remove(&file).await,
        system.rename(&file, &root.join("new")).await,
    ];
    for result in refused {
        assert!(matches!(result, Err(SystemError::ReadOnly { .. })), "{result:?}");
    }
    assert_eq!(setup.read_dir(&root).await.unwrap().len(), 1);
    assert_eq!(system.read(&file).await.unwrap(), b"x");
    assert_eq!(system.routes().write_text, Route::Refused);
    assert_eq!(system.routes().spawn, Route::Local);
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    let pipe = root.join("pipe");
    assert!(shell(&system, &root, "mkfifo pipe").await.wait().await.unwrap().success());
    let socket = root.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(socket.as_std()).unwrap();
    for path in [pipe, socket, AbsPath::new("/dev/zero").unwrap()] {
        let results = [
            system.read(&path).await.map(|_| ()),
            system.read_text(&path, None).await.map(|_| ()),
            system.read_text(&path, Some(TextRange { line: 1, limit: 1 })).await.map(|_| ()),
            system.write(&path, b"x").await,
            system.replace_text(&path, None, "x").await,
        ];
        for result in results {
            assert!(matches!(result, Err(SystemError::NotRegular(_))), "{path}: {result:?}");
        }
    }
}

#[tokio::test]
async fn a_large_file_is_read_in_ranges_only() {
    let (_keep, root) = directory();
    let path = root.join("large");
    let line = format!("{}\n", "x".repeat(1023));
    fs::write(path.as_std(), line.repeat(MAX_READ_BYTES as usize / 1024) + "last").unwrap();
    let system = LocalSystem::new();
    for error in [system.read(&path).await.unwrap_err(), system.read_text(&path, None).await.unwrap_err()] {
        assert!(matches!(error, SystemError::TooLarge { limit: MAX_READ_BYTES, .. }), "{error}");
    }
    let lines = MAX_READ_BYTES as usize / 1024;
    let range = |line, limit| Some(TextRange { line, limit });
    assert_eq!(system.read_text(&path, range(lines, 9)).await.unwrap(), line + "last");
    let error = system.read_text(&path, range(1, usize::MAX)).await.unwrap_err();
    assert!(matches!(error, SystemError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn ranges_keep_line_ends() {
    let (_keep, root) = directory();
    let path = root.join("file");
    fs::write(path.as_std(), "a\r\nb\nc").unwrap();
    let system = LocalSystem::new();
    for (line, limit, expected) in [(1, 1, "a\r\n"), (2, 1, "b\n"), (2, 9, "b\nc")] {
        assert_eq!(system.read_text(&path, Some(TextRange { line, limit })).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_write_keeps_mode_and_hard_links() {
    let (_keep, root) = directory();
    let (path, other) = (root.join("script"), root.join("other"));
    fs::write(path.as_std(), "a long old content").unwrap();
    fs::set_permissions(path.as_std(), fs::Permissions::from_mode(0o750)).unwrap();
    let system = LocalSystem::new();
    let before = fs::metadata(path.as_std()).unwrap();
    system.replace_text(&path, Some("a long old content"), "new").await.unwrap();
    let after = fs::metadata(path.as_std()).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o750);
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "a file with one name is replaced");

    fs::hard_link(path.as_std(), other.as_std()).unwrap();
    system.replace_text(&path, Some("new"), "two").await.unwrap();
    assert_eq!(fs::read_to_string(other.as_std()).unwrap(), "two");
    assert_eq!(fs::metadata(path.as_std()).unwrap().nlink(), 2);
}

#[tokio::test]
async fn a_write_keeps_extended_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let (_keep, root) = directory();
    let path = root.join("file");
    fs::write(path.as_std(), "old").unwrap();
    setxattr(path.as_std(), "user.tag", b"red", XattrFlags::empty()).unwrap();
    LocalSystem::new().replace_text(&path, Some("old"), "new").await.unwrap();
    let mut value = [0; 9];
    let length = getxattr(path.as_std(), "user.tag", &mut value[..]).unwrap();
    assert_eq!((&value[..length], fs::read(path.as_std()).unwrap()), (&b"red"[..], b"new".to_vec()));
}

#[tokio::test]
async fn a_file_becomes_executable_for_its_readers() {
    let (_keep, root) = directory();
    let path = root.join("script");
    fs::write(path.as_std(), "").unwrap();
    fs::set_permissions(path.as_std(), fs::Permissions::from_mode(0o640)).unwrap();
    for (executable, mode) in [(true, 0o750), (true, 0o750), (false, 0o640)] {
        LocalSystem::new().set_executable(&path, executable).await.unwrap();
        assert_eq!(fs::metadata(path.as_std()).unwrap().mode() & 0o777, mode);
    }
}

#[tokio::test]
async fn a_new_file_has_the_mode_that_the_umask_gives() {
    let (_keep, root) = directory();
    fs::write(root.join("by-std").as_std(), "").unwrap();
    LocalSystem::new().replace_text(&root.join("by-us"), None, "").await.unwrap();
    let mode = |name: &str| fs::metadata(root.join(name).as_std()).unwrap().mode();
    assert_eq!(mode("by-us"), mode("by-std"));
}

async fn shell(system: &LocalSystem, root: &AbsPath, line: &str) -> Box<dyn Process> {
    system.spawn(Command::shell(line, root.clone(), 1 << 20)).await.unwrap()
}

async fn drain(process: &mut dyn Process) -> String {
    let mut all = String::new();
    while let Some(output) = process.next_output().await {
        match output {
            Output::Text(text) => all.push_str(&text),
            Output::Gap => panic!("lost output after {all:?}"),
        }
    }
    all
}

#[tokio::test]
async fn a_character_split_between_writes_is_reassembled() {
    let (_keep, root) = directory();
    // The pipe is read between the two writes: the shell waits for `go`, which is written after the
    // first read.
    let line = r"mkfifo go; printf 'a\342\202'; cat go; printf '\254b\377'";
    let system = LocalSystem::new();
    let mut process = shell(&system, &root, line).await;
    assert_eq!(process.next_output().await, Some(Output::Text("a".to_owned())));
    let mut writer = shell(&system, &root, ": > go").await;
    writer.wait().await.unwrap();
    assert_eq!(drain(&mut *process).await, "€b\u{fffd}");
}

#[tokio::test]
async fn a_background_child_does_not_delay_the_end() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    for line in ["sleep 5 & echo done", "setsid sleep 5 & echo done"] {
        let start = Instant::now();
        let mut process = shell(&system, &root, line).await;
        assert_eq!(drain(&mut *process).await, "done\n");
        assert!(process.wait().await.unwrap().success());
        let took = start.elapsed();
        assert!(took >= EXIT_GRACE && took < Duration::from_secs(4), "{line}: {took:?}");
    }
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_after_the_wait() {
    let (_keep, root) = directory();
    let mut process =
        shell(&LocalSystem::new(), &root, "trap '' TERM; echo ready; while :; do sleep 1; done").await;
    assert_eq!(process.next_output().await, Some(Output::Text("ready\n".to_owned())));
    let start = Instant::now();
    process.kill().await;
    assert!(start.elapsed() >= TERM_WAIT);
    assert_eq!(process.wait().await.unwrap().signal.as_deref(), Some("SIGKILL"));
}

#[tokio::test]
async fn arguments_that_are_too_long_fail_the_start() {
    let (_keep, root) = directory();
    let command = Command::shell("x".repeat(4 << 20), root, 100);
    let error = LocalSystem::new().spawn(command).await.err().unwrap();
    assert!(matches!(error, SystemError::Spawn { .. }), "{error}");
}

#[tokio::test]
async fn next_output_and_wait_are_cancel_safe() {
    let (_keep, root) = directory();
    let line = "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done";
    let mut process = shell(&LocalSystem::new(), &root, line).await;
    let mut all = String::new();
    loop {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            _ = process.wait() => break,
        }
        tokio::select! {
            biased;
            output = process.next_output() => match output {
                Some(Output::Text(text)) => all.push_str(&text),
                Some(Output::Gap) => panic!("lost output after {all:?}"),
                None => break,
            },
            () = tokio::task::yield_now() => {}
        }
    }
    all.push_str(&drain(&mut *process).await);
    let expected: String = (0..300).map(|number| format!("{number}\n")).collect();
    assert_eq!(all, expected);
}

/// The watchdog notices the death of this process only by the end of its input, which the test
/// closes.
#[tokio::test]
async fn the_watchdog_kills_the_remaining_groups() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    let mut ended = shell(&system, &root, "true").await;
    ended.wait().await.unwrap();
    drop(ended);
    let mut left = shell(&system, &root, "echo ready; sleep 600").await;
    assert_eq!(left.next_output().await, Some(Output::Text("ready\n".to_owned())));
    let watchdog = Pid::from_raw(i32::try_from(system.watchdog.shell().unwrap()).unwrap()).unwrap();
    assert!(test_kill_process(watchdog).is_ok());
    system.watchdog.close_input();
    assert_eq!(left.wait().await.unwrap().signal.as_deref(), Some("SIGKILL"));
    // A later group starts a new watchdog.
    drop(shell(&system, &root, "true").await);
    assert_ne!(system.watchdog.shell(), Some(watchdog.as_raw_pid().unsigned_abs()));
    rustix::process::kill_process(
        Pid::from_raw(system.watchdog.shell().unwrap() as i32).unwrap(),
        Signal::KILL,
    )
    .unwrap();
}

/// Set in the child process that the test below starts from its own binary.
const HELPER: &str = "TILLER_TEST_HELPER";

/// This test consists of two processes: the first starts the second, which starts a command. Then
/// the second is killed by SIGKILL, and the command must end too. The command holds a named pipe
/// open, so that the reader sees its end.
#[tokio::test]
async fn a_command_ends_when_this_process_is_killed() {
    if let Ok(root) = std::env::var(HELPER) {
        let _process =
            shell(&LocalSystem::new(), &AbsPath::new(root).unwrap(), "exec sleep 600 > held").await;
        println!("started");
        return std::future::pending().await;
    }
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    let mut reader =
        shell(&system, &root, "mkfifo held; echo made; exec < held; echo opened; cat; echo gone").await;
    assert_eq!(reader.next_output().await, Some(Output::Text("made\n".to_owned())));
    let this_test = "local::tests::a_command_ends_when_this_process_is_killed";
    let program = std::env::current_exe().unwrap().into_os_string().into_string().unwrap();
    let args = ["--nocapture", "--exact", this_test].map(str::to_owned).to_vec();
    let helper = Command {
        env: vec![(HELPER.to_owned(), root.to_string())],
        ..Command::new(program, args, root.clone(), 1 << 16)
    };
    let mut helper = system.spawn(helper).await.unwrap();
    let mut output = String::new();
    while !output.contains("started") {
        let Some(Output::Text(text)) = helper.next_output().await else {
            panic!("the helper said {output:?}")
        };
        output.push_str(&text);
    }
    assert_eq!(reader.next_output().await, Some(Output::Text("opened\n".to_owned())));
    drop(helper);
    let rest = tokio::time::timeout(Duration::from_secs(20), drain(&mut *reader)).await;
    assert_eq!(rest.expect("the command still runs"), "gone\n");
}

/// Reads and writes go to the pinned target, even if a link replaces it afterwards.
#[tokio::test]
async fn s09_a_directory_that_becomes_a_link_is_neither_read_nor_written_through() {
    let (_keep, root) = directory();
    let (_outside, outside) = directory();
    fs::create_dir(root.join("dir").as_std()).unwrap();
    fs::write(root.join("dir/file").as_std(), "inside").unwrap();
    fs::write(outside.join("file").as_std(), "outside").unwrap();
    let path = root.join("dir/file");
    let places =
        [path.clone(), root.join("dir/new"), root.join("made/new"), root.join("soft"), root.join("dir")];
    let places = places.map(|path| (path.clone(), path)).to_vec();
    let pinned = LocalSystem::new().pinned(crate::Pins { places, ..crate::Pins::default() }).unwrap();
    assert_eq!(pinned.read_text(&path, None).await.unwrap(), "inside");
    pinned.replace_text(&path, Some("inside"), "changed").await.unwrap();
    assert_eq!(fs::read_to_string(path.as_std()).unwrap(), "changed");

    fs::rename(root.join("dir").as_std(), root.join("old").as_std()).unwrap();
    symlink(outside.as_std(), root.join("dir").as_std()).unwrap();
    symlink(outside.as_std(), root.join("made").as_std()).unwrap();
    symlink(outside.join("file").as_std(), root.join("soft").as_std()).unwrap();
    let results = [
        pinned.read_text(&path, None).await.map(drop),
        pinned.read(&path).await.map(drop),
        pinned.read_text(&path, Some(TextRange { line: 1, limit: 1 })).await.map(drop),
        pinned.read_text(&root.join("soft"), None).await.map(drop),
        pinned.replace_text(&path, Some("changed"), "evil").await,
        pinned.write(&path, b"evil").await,
        pinned.replace_text(&root.join("dir/new"), None, "evil").await,
        pinned.replace_text(&root.join("made/new"), None, "evil").await,
        pinned.replace_text(&root.join("soft"), Some("outside"), "evil").await,
        pinned.remove(&path).await,
        pinned.rename(&path, &root.join("a")).await,
        pinned.create_dir_all(&root.join("dir/new")).await,
    ];
    for (index, result) in results.into_iter().enumerate() {
        assert!(matches!(result, Err(SystemError::Moved(_))), "{index}: {result:?}");
    }
    assert_eq!(fs::read_dir(outside.as_std()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(outside.join("file").as_std()).unwrap(), "outside");
}

/// Reads output until it contains `text`.
async fn until(process: &mut dyn Process, text: &str) -> String {
    let mut output = String::new();
    while !output.contains(text) {
        match process.next_output().await {
            Some(Output::Text(more)) => output.push_str(&more),
            other => panic!("{other:?} after {output:?}"),
        }
    }
    output
}

#[tokio::test]
async fn only_interactive_commands_read_input() {
    let (_keep, root) = directory();
    let line = "echo ready; while read -r x; do echo \"got $x\"; done; echo over >&2";
    let mut command = Command::shell(line, root, 1 << 20);
    let mut closed = LocalSystem::new().spawn(command.clone()).await.unwrap();
    assert_eq!(until(closed.as_mut(), "over").await, "ready\nover\n");
    assert!(matches!(closed.write_input("x\n").await, Err(SystemError::NoInput)));
    command.interactive = true;
    let mut process = LocalSystem::new().spawn(command).await.unwrap();
    until(process.as_mut(), "ready").await;
    for word in ["one", "two"] {
        process.write_input(&format!("{word}\n")).await.unwrap();
        assert_eq!(until(process.as_mut(), word).await, format!("got {word}\n"));
    }
    process.kill().await;
    assert!(!process.wait().await.unwrap().success());
}

#[tokio::test]
async fn own_files_are_accessible_to_their_user_only() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    let file = root.join("outputs/of/a/file.txt");
    system.write_own(&file, b"whole").await.unwrap();
    assert_eq!(system.read(&file).await.unwrap(), b"whole");
    let mode = |path: &AbsPath| fs::metadata(path.as_std()).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&file.parent().unwrap())), (0o600, 0o700));
    // A directory that other users can write to is refused.
    let open = root.join("open");
    fs::create_dir(open.as_std()).unwrap();
    fs::set_permissions(open.as_std(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(system.write_own(&open.join("file"), b"x").await.is_err());
    assert!(!open.join("file").as_std().exists());
}

#[tokio::test]
async fn a_piped_program_inherits_only_named_variables_and_ends_with_its_owner() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    let line =
        "read x; echo \"$x ${HOME:+home} $OWN ${CARGO_MANIFEST_DIR:-none}\"; echo oops >&2; cat >/dev/null";
    let command = crate::PipedCommand {
        program: "sh".to_owned(),
        args: ["-c", line].map(str::to_owned).to_vec(),
        cwd: AbsPath::new("/").unwrap(),
        inherit: ["PATH", "HOME"].map(str::to_owned).to_vec(),
        env: vec![("OWN".to_owned(), "mine".to_owned())],
        error_limit: 1024,
        confinement: crate::Confinement::Lifted,
        apart_from: Vec::new(),
    };
    assert!(!format!("{command:?}").contains("mine"));
    let mut piped = LocalSystem::new().spawn_piped(command).await.unwrap();
    piped.input.write_all(b"hello\n").await.unwrap();
    let mut output = BufReader::new(piped.output).lines();
    assert_eq!(output.next_line().await.unwrap().unwrap(), "hello home mine none");
    assert_eq!(piped.process.next_output().await, Some(Output::Text("oops\n".to_owned())));
    piped.process.kill().await;
    assert_eq!(output.next_line().await.unwrap(), None, "its end is the end of its output");
}

#[tokio::test]
async fn cached_metadata_is_returned_for_directories_only() {
    let (_keep, root) = directory();
    let path = |name: &str| root.join(name);
    fs::write(path("file").as_std(), "text").unwrap();
    symlink(root.as_std(), path("link").as_std()).unwrap();
    symlink(path("gone").as_std(), path("dangling").as_std()).unwrap();
    for directory in [root.clone(), path("link")] {
        let expected = files::metadata(&directory, None).unwrap();
        assert!(files::cached_directory(&directory).is_none_or(|found| found == expected), "{directory}");
        assert_eq!(LocalSystem::new().metadata(&directory).await.unwrap(), expected);
    }
    for other in ["file", "dangling", "gone"] {
        assert_eq!(files::cached_directory(&path(other)), None, "{other}");
    }
}

#[tokio::test]
async fn p06_ignore_files_must_be_regular_small_and_not_links() {
    let (_keep, root) = directory();
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
        fs::write(path.as_std(), text).unwrap();
    };
    let system = LocalSystem::new();
    let walk = async |below: &str| {
        let options = WalkOptions { limit: 100, include_ignored: false };
        let files = system.walk(&root.join(below), options).await.unwrap();
        files.iter().map(|file| file.relative_to(&root).unwrap().to_owned()).collect::<Vec<_>>()
    };
    put("outside", "*\n");
    for name in [".gitignore", ".ignore"] {
        for (kind, directory) in [("pipe", "a"), ("/dev/zero", "b"), ("outside", "c"), ("large", "d")] {
            let below = format!("{}-{directory}", &name[1..]);
            put(&format!("{below}/kept"), "");
            let path = root.join(&below);
            let file = path.join(name);
            match kind {
                "pipe" => {
                    let made = format!("mkfifo {file}");
                    assert!(shell(&system, &root, &made).await.wait().await.unwrap().success());
                }
                "large" => fs::write(file.as_std(), "*\n".repeat(1024 * 1024)).unwrap(),
                "outside" => symlink(root.join("outside").as_std(), file.as_std()).unwrap(),
                target => symlink(target, file.as_std()).unwrap(),
            }
            assert_eq!(walk(&below).await, [format!("{below}/kept")], "{name} {kind}");
        }
    }
    // Existing rules apply, including a repository's own excludes; rules from above the repository
    // do not.
    put("e/.gitignore", "*.log\n");
    put("e/.ignore", "!kept.log\n");
    put("e/f/.git/info/exclude", "mine\n");
    for name in ["e/a.log", "e/kept.log", "e/f/mine", "e/f/b.log", "e/f/kept.log"] {
        put(name, "");
    }
    assert_eq!(walk("e").await, ["e/f/b.log", "e/f/kept.log", "e/kept.log"]);
    // The `.git` directory itself is not walked.
    put("g/.gitignore", "*\n!*/\n!*.*\n");
    for name in ["g/.git/hooks/update.sample", "g/a.txt"] {
        put(name, "");
    }
    assert_eq!(walk("g").await, ["g/.gitignore", "g/a.txt"]);
}

#[tokio::test]
async fn p12_a_private_file_is_readable_by_its_owner_only() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    let path = root.join("file");
    let mode = |path: &AbsPath| fs::metadata(path.as_std()).unwrap().permissions().mode() & 0o777;
    system.write_private(&path, b"one").await.unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(path.as_std(), fs::Permissions::from_mode(0o666)).unwrap();
    fs::hard_link(path.as_std(), root.join("other").as_std()).unwrap();
    system.write_private(&path, b"two").await.unwrap();
    assert_eq!((mode(&path), fs::read(path.as_std()).unwrap()), (0o600, b"two".to_vec()));
    assert_eq!(fs::read(root.join("other").as_std()).unwrap(), b"one", "another name had another reader");
    symlink(path.as_std(), root.join("link").as_std()).unwrap();
    symlink(root.join("new").as_std(), root.join("dangling").as_std()).unwrap();
    for name in ["link", "dangling"] {
        let refused = system.write_private(&root.join(name), b"three").await;
        assert!(matches!(refused, Err(SystemError::NotRegular(_))), "{name}: {refused:?}");
    }
    assert_eq!(fs::read(path.as_std()).unwrap(), b"two");
}

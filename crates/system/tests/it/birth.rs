//! Nothing that a process starts outlives it, no matter how soon after the start it is killed.
//!
//! The test starts its own binary again as a second process, which starts a command, and kills it
//! at many points around that start. The command's arguments contain a unique number, so it can be
//! found in the process table regardless of its parent.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};
use system::{
    AbsPath, Command, Confinement, LocalOptions, LocalSystem, Output, PipedCommand, Process, Sandbox,
    SandboxLevel, System,
};

/// The number of moments after the start that are tried for each kind, and the last of them.
const POINTS: u32 = 14;
const LAST: Duration = Duration::from_millis(40);

/// The timeout for the end of what was started.
const END: Duration = Duration::from_secs(10);

/// Passes its task to the second process: a kind, whether to use the launcher, and a number or a
/// path.
const HELPER: &str = "TILLER_TEST_BIRTH";

/// The kinds of starts, and whether they go through the launcher.
const KINDS: [(&str, bool); 5] =
    [("command", true), ("confined", true), ("server", true), ("command", false), ("server", false)];

/// Returns the shell line of a command with three processes. With the launcher, one of them leaves
/// the process group; without it, only processes of the group are tracked.
fn line(number: &str, supervised: bool) -> String {
    let apart = if supervised { "setsid " } else { "" };
    format!("{apart}sleep {number} & sleep {number} & exec sleep {number}")
}

/// The number of bytes written at a time: enough for the kill to happen during a write.
pub(crate) const LENGTH: usize = 4 << 20;

/// The second process: starts a command and waits to be killed, or writes until it is killed.
#[tokio::test]
async fn what_is_killed() {
    let Ok(given) = std::env::var(HELPER) else { return };
    let [kind, supervised, number] = given.split(' ').collect::<Vec<_>>()[..] else { panic!("{given}") };
    let supervised = supervised == "true";
    let launcher = if supervised { vec![env!("CARGO_BIN_EXE_sandbox-exec").to_owned()] } else { Vec::new() };
    let system = LocalSystem::with_options(LocalOptions { launcher, ..LocalOptions::default() });
    let root = AbsPath::new("/").unwrap();
    let line = line(number, supervised);
    if kind == "confined" {
        // The support probe runs once and is not part of the start.
        system.sandbox_support().await;
    }
    println!("pid {}.", std::process::id());
    if kind == "writes" {
        let file = AbsPath::new(number).unwrap();
        for letter in ["a", "b"].into_iter().cycle() {
            let was = system.read_text_on_disk(&file).await.unwrap();
            system.replace_text(&file, was.as_deref(), &letter.repeat(LENGTH)).await.unwrap();
        }
    }
    let _started: Box<dyn std::any::Any> = match kind {
        "server" => {
            let (program, args) = ("sh".to_owned(), vec!["-c".to_owned(), line]);
            let (inherit, env) = (vec!["PATH".to_owned()], Vec::new());
            let server = PipedCommand {
                program,
                args,
                cwd: root,
                inherit,
                env,
                error_limit: 1 << 10,
                confinement: Confinement::Lifted,
                apart_from: Vec::new(),
            };
            Box::new(system.spawn_piped(server).await.unwrap())
        }
        kind => {
            let sandbox = Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() };
            let confinement = match kind {
                "confined" => Confinement::Required(sandbox),
                _ => Confinement::Session,
            };
            let command = Command { confinement, ..Command::shell(line, root, 1 << 10) };
            Box::new(system.spawn(command).await.unwrap())
        }
    };
    std::future::pending().await
}

/// Returns the processes whose command line contains a number.
fn holding(number: &str) -> Vec<i32> {
    let holds = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(number)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(holds).collect()
}

/// Starts the second process and waits until it is about to begin.
pub(crate) async fn helper(kind: &str, supervised: bool, number: &str) -> (Box<dyn Process>, Pid) {
    let command = Command {
        program: std::env::current_exe().unwrap().into_os_string().into_string().unwrap(),
        args: ["--nocapture", "--exact", "birth::what_is_killed"].map(str::to_owned).to_vec(),
        env: vec![(HELPER.to_owned(), format!("{kind} {supervised} {number}"))],
        ..Command::shell("", AbsPath::new("/").unwrap(), 1 << 16)
    };
    let mut helper = LocalSystem::new().spawn(command).await.unwrap();
    let mut output = String::new();
    loop {
        let Some(Output::Text(text)) = helper.next_output().await else { panic!("it said {output:?}") };
        output.push_str(&text);
        let pid = output.split_once("pid ").and_then(|(_, rest)| rest.split_once('.'));
        if let Some((pid, _)) = pid {
            return (helper, Pid::from_raw(pid.parse().unwrap()).unwrap());
        }
    }
}

/// Returns the parent of a process.
fn parent(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:\t")?.parse().ok()).unwrap()
}

/// Waits until no process with a number is left; returns those that remain after the timeout. A
/// process that is being started shows its number a moment later, so a single check is not enough.
async fn left(number: &str) -> Vec<i32> {
    let began = Instant::now();
    while (0..10).any(|_| !holding(number).is_empty()) {
        if began.elapsed() > END {
            return holding(number);
        }
        tokio::task::yield_now().await;
    }
    Vec::new()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_ends_with_its_supervisor() {
    let launcher = vec![env!("CARGO_BIN_EXE_sandbox-exec").to_owned()];
    let local = LocalSystem::with_options(LocalOptions { launcher, ..LocalOptions::default() });
    let support = local.sandbox_support().await;
    let sandbox = Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() };
    for confinement in [Confinement::Session, Confinement::Required(sandbox)] {
        let confined = confinement != Confinement::Session;
        if confined && !support.applies() {
            continue;
        }
        let [number, apart] =
            ["77", "78"].map(|last| format!("4{}{last}.{}", u8::from(confined), std::process::id()));
        // Only in a PID namespace does everything that the command started end too.
        let alone = confined && support.processes;
        let background = if alone { format!("setsid sleep {apart} &") } else { String::new() };
        let line = format!("{background} exec sleep {number}");
        let command = Command::shell(format!("echo on; {line}"), AbsPath::new("/").unwrap(), 1 << 10);
        let mut command = local.spawn(Command { confinement, ..command }).await.unwrap();
        assert_eq!(command.next_output().await, Some(Output::Text("on\n".to_owned())));
        let command_is_there = || holding(&number).first().copied();
        let began = Instant::now();
        while command_is_there().is_none() && began.elapsed() < END {
            tokio::task::yield_now().await;
        }
        let above = parent(command_is_there().unwrap());
        let supervisor = if alone { parent(above) } else { above };
        kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
        for number in [number, apart] {
            assert_eq!(left(&number).await, Vec::<i32>::new(), "confined: {confined}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outlives_a_process_killed_during_a_start() {
    let mut ran = 0;
    for (at, (kind, supervised)) in KINDS.into_iter().enumerate() {
        for point in 0..POINTS {
            let number = format!("4{at}{point:02}.{}", std::process::id());
            let (_helper, pid) = helper(kind, supervised, &number).await;
            let began = Instant::now();
            // The moments are denser at the beginning.
            let moment = LAST.mul_f64((f64::from(point) / f64::from(POINTS - 1)).powi(2));
            while began.elapsed() < moment {
                std::hint::spin_loop();
            }
            kill_process(pid, Signal::KILL).unwrap();
            ran += usize::from(!holding(&number).is_empty());
            let left = left(&number).await;
            assert!(left.is_empty(), "{kind}, {supervised}, {moment:?} after the start: {left:?}");
        }
    }
    assert!(ran > 0, "no command ran when its owner was killed: the moments are too early");
}

//! Signals, in every mode and at every moment.

use crate::{
    child::{LONG, end, is_running, pid, signal, until, wait_for_signal_handlers},
    home::{Home, stdout},
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const SIGNALS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];

/// Starts the program with a stdin that stays open and silent.
fn started(home: &Home, line: &[&str]) -> Child {
    let mut command = home.tiller(line);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A signal ends the process as soon as the handlers exist: while starting, serving, or waiting for
/// input.
#[test]
fn a_signal_at_the_very_start_ends_every_mode_with_its_code() {
    let home = Home::new();
    home.write("script.lua", "while true do end");
    for line in [
        &["acp"][..],
        &["-p", "-"],
        &["-p", LONG, "--yolo"],
        &["mcp", "secret", "set", "key"],
        &["setup", "--provider", "openai", "--api-key-stdin"],
        &["sessions", "import", "-"],
        &["lua", "run", "script.lua"],
        &["demo"],
    ] {
        for (name, code) in SIGNALS {
            let mut child = started(&home, line);
            wait_for_signal_handlers(&child);
            signal(&child, name);
            assert_eq!(end(&mut child).code(), Some(code), "{line:?} {name}");
        }
    }
}

#[test]
fn a_gateway_ends_with_the_code_of_the_signal() {
    let home = Home::new();
    assert!(
        home.run(&["mcp", "add", "quiet", "--", "sh", "-c", "cd ${project}; echo $$ > pid; exec sleep 300"])
            .status
            .success()
    );
    for (name, code) in SIGNALS {
        let mut child = started(&home, &["mcp", "serve", "--upstream", "quiet"]);
        let pid = pid(&home);
        signal(&child, name);
        assert_eq!(end(&mut child).code(), Some(code), "{name}");
        assert!(!is_running(&pid), "{name}: the server outlived the gateway");
        std::fs::remove_file(home.file("pid")).unwrap();
    }
}

/// With `-p -` the time limit includes the wait for the prompt on stdin.
#[test]
fn waiting_for_a_prompt_on_stdin_ends_with_the_timeout() {
    let home = Home::new();
    let mut child = started(&home, &["-p", "-", "--timeout", "1"]);
    assert_eq!(end(&mut child).code(), Some(2));
}

/// The command ignores SIGTERM, so the first signal alone would take seconds.
#[test]
fn a_second_signal_ends_a_run_and_its_command_immediately() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let home = Home::new();
        let stubborn = "run sh -c 'trap \"\" TERM; echo $$ > pid; sleep 300; sleep 300; sleep 300'";
        let mut command = home.tiller(&["-p", stubborn, "--yolo"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = pid(&home);
        signal(&child, name);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("a second signal ends the process at once")), "{name}");
        let start = Instant::now();
        let status = until("it ends", || {
            // The first repetitions may still count as the same signal.
            signal(&child, name);
            child.try_wait().unwrap()
        });
        assert_eq!(status.code(), Some(code), "{name}");
        assert!(start.elapsed() < Duration::from_millis(1500), "{name}: {:?}", start.elapsed());
        until("the command is gone", || (!is_running(&pid)).then_some(()));
    }
}

/// The kernel and the shell both send SIGHUP when a terminal closes; the shutdown is still orderly.
#[test]
fn a_second_sighup_does_not_count() {
    let home = Home::new();
    let mut command = home.tiller(&["-p", LONG, "--yolo", "-o", "json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let pid = pid(&home);
    signal(&child, "HUP");
    signal(&child, "HUP");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(129));
    assert!(stdout(&output).contains("\"stop_reason\":\"cancelled\""), "{}", stdout(&output));
    assert!(!is_running(&pid));
}

#[test]
fn signals_that_were_ignored_at_the_start_stay_ignored() {
    for (ignored, ends, code) in [("HUP", "TERM", 143), ("INT", "HUP", 129), ("TERM", "INT", 130)] {
        let home = Home::new();
        let mut command = Command::new("sh");
        let line = format!("trap '' {ignored}; exec \"$0\" -p \"$1\" --yolo -o json");
        let tiller = home.tiller(&[]);
        command.args(["-c", &line]).arg(tiller.get_program()).arg(LONG).current_dir(home.project());
        command.env_clear().envs(tiller.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = pid(&home);
        signal(&child, ignored);
        signal(&child, ends);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{ignored}");
        until("the command is gone", || (!is_running(&pid)).then_some(()));
    }
}

/// In the sandbox and without it.
#[test]
fn child_processes_neither_ignore_nor_block_signals() {
    let home = Home::new();
    for level in ["workspace-write", "off"] {
        home.settings(&format!("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = '{level}'\n"));
        let output = home.run(&["-p", "run cat /proc/self/status", "--yolo", "-o", "json"]);
        let run: Value = serde_json::from_slice(&output.stdout).unwrap();
        let status = run["tool_calls"][0]["output"].as_str().unwrap();
        for name in ["SigIgn:", "SigBlk:"] {
            let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
            // SIGPIPE, SIGTERM and SIGXFSZ; the environment of the tests may ignore other signals.
            assert!(
                [13, 15, 25].iter().all(|number| mask & (1 << (number - 1)) == 0),
                "{level} {name}{mask:x}"
            );
        }
    }
}

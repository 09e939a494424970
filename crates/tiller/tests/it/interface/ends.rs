//! Every way out of the interface gives the terminal back.

use super::{Tmux, open};
use crate::home::Home;

/// The line settings of the terminal, as `stty` prints them.
fn settings(tmux: &Tmux, home: &Home, file: &str) -> String {
    // What is echoed of the line differs from what it prints.
    tmux.shell(&format!("stty -a > {file}; echo 'written' {file}"));
    tmux.wait_for(&format!("written {file}\n$"));
    home.read(file).unwrap()
}

/// Waits until the watcher of the terminal has ended; what it writes is on the screen then.
fn wait_for_watcher(tmux: &Tmux, watcher: &str) {
    tmux.shell(&format!("tail --pid={watcher} -f /dev/null; echo 'no' watcher"));
    tmux.wait_for("no watcher\n$");
}

/// The process that watches the terminal for `tiller`.
fn watcher_of(tiller: rustix::process::Pid) -> String {
    // Of all threads: it is the terminal's that started it.
    let threads = std::fs::read_dir(format!("/proc/{}/task", tiller.as_raw_nonzero())).unwrap();
    let children = threads.map(|thread| thread.unwrap().path().join("children"));
    let children: String = children.map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect();
    let is_watcher = |pid: &&str| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("watch")
    };
    children.split_whitespace().find(is_watcher).expect("the terminal is watched").to_owned()
}

/// Checks that the terminal is as it was before `tiller` was started.
pub(super) fn assert_restored(tmux: &Tmux, home: &Home) {
    assert_eq!(settings(tmux, home, "after"), home.read("before").unwrap(), "line settings");
    for (mode, name) in [("alternate_on", "alternate screen"), ("mouse_any_flag", "mouse")] {
        assert_eq!(tmux.property(&format!("#{{{mode}}}")), "0", "{name}");
    }
    assert_eq!(tmux.property("#{cursor_flag}"), "1", "the cursor is shown");
    // In brackets, the shell would show them.
    tmux.wait_for_prompt();
    tmux.paste("echo 'pasted' plainly");
    tmux.key("Enter");
    tmux.wait_for("pasted plainly\n");
}

#[test]
fn a_conversation_stays_in_the_scrollback_and_the_terminal_is_given_back() {
    let home = Home::new();
    home.write("hello.txt", "the text of the file\n");
    let Some(tmux) = open(&home) else { return };
    tmux.say("show hello.txt");
    tmux.wait_for("the text of the file");
    tmux.quit();
    let everything = tmux.everything();
    assert_eq!(everything.matches("the text of the file").count(), 1, "{everything}");
    assert_restored(&tmux, &home);
}

#[test]
fn kill_9_gives_the_terminal_back_and_names_the_session() {
    let home = Home::new();
    let Some(tmux) = open(&home) else { return };
    tmux.say("show nothing.txt");
    tmux.wait_for("nothing.txt");
    let pid = pid_of_tiller(&tmux);
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let screen = tmux.wait_for("The session is stored: tiller --session ");
    assert!(screen.contains("tiller was killed."), "{screen}");
    tmux.key("Enter");
    assert_restored(&tmux, &home);
}

#[test]
fn a_terminated_process_gives_the_terminal_back() {
    use rustix::process::Signal;
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        let home = Home::new();
        let Some(tmux) = open(&home) else { return };
        let pid = pid_of_tiller(&tmux);
        let watcher = watcher_of(pid);
        rustix::process::kill_process(pid, signal).unwrap();
        tmux.wait_for(&format!("over={code}"));
        wait_for_watcher(&tmux, &watcher);
        let screen = tmux.screen();
        assert!(!screen.contains("tiller was killed"), "{signal:?} was handled: {screen}");
        assert_restored(&tmux, &home);
    }
}

#[test]
fn a_closed_pane_ends_tiller_and_keeps_the_session() {
    let home = Home::new();
    let Some(tmux) = open(&home) else { return };
    tmux.say("show nothing.txt");
    tmux.wait_for("nothing.txt");
    let pid = pid_of_tiller(&tmux).as_raw_nonzero();
    tmux.run(&["split-window", "-d", "-t", "t:0.0", "exec sh"]);
    tmux.run(&["kill-pane", "-t", "t:0.0"]);
    tmux.shell(&format!("tail --pid={pid} -f /dev/null; echo 'it is' gone"));
    tmux.wait_for("\nit is gone\n");
    assert_eq!(super::sessions::stored(&home).len(), 1);
}

/// Returns the rows of a screen as one line: the terminal wraps long lines.
fn joined(screen: &str) -> String {
    screen.replace('\n', " ")
}

#[test]
fn a_panic_of_the_screen_gives_the_terminal_back_and_names_the_session() {
    let home = Home::new();
    let Some(tmux) = open(&home) else { return };
    tmux.say("show nothing.txt");
    tmux.wait_for("nothing.txt");
    tmux.say("/panic screen");
    let screen = joined(&tmux.wait_for("over=1"));
    assert!(screen.contains("to continue: tiller --session "), "{screen}");
    assert!(screen.contains("a defect in tiller") && screen.contains("on the terminal's thread"), "{screen}");
    assert!(!screen.contains("tiller was killed"), "{screen}");
    assert_restored(&tmux, &home);
}

#[test]
fn a_panic_of_the_runtime_gives_the_terminal_back_and_names_the_session() {
    let home = Home::new();
    let Some(tmux) = open(&home) else { return };
    let watcher = watcher_of(pid_of_tiller(&tmux));
    tmux.say("/panic driver");
    let screen = joined(&tmux.wait_for("over=101"));
    assert!(screen.contains("on the runtime's thread"), "{screen}");
    assert_eq!(screen.matches("The session is stored: tiller --session ").count(), 1, "{screen}");
    wait_for_watcher(&tmux, &watcher);
    let screen = tmux.screen();
    assert!(!screen.contains("tiller was killed"), "{screen}");
    assert_restored(&tmux, &home);
}

#[test]
fn a_panic_that_is_caught_is_shown_and_the_interface_goes_on() {
    let home = Home::new();
    home.write("hello.txt", "the text of the file\n");
    let Some(tmux) = open(&home) else { return };
    tmux.say("/panic task");
    tmux.wait_for("internal error, please report it");
    tmux.say("show hello.txt");
    tmux.wait_for("the text of the file");
    tmux.quit();
    assert_restored(&tmux, &home);
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_again() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))]) else { return };
    tmux.shell("set -m; stty -a > before; $TILLER");
    tmux.wait_for("guardian ·");
    tmux.text("a draft");
    tmux.wait_for("a draft");
    tmux.key("C-z");
    tmux.wait_for_prompt();
    assert_eq!(settings(&tmux, &home, "after"), home.read("before").unwrap());
    tmux.shell("fg");
    tmux.wait("the draft again", |screen| screen.rfind("a draft") > screen.rfind("fg"));
    tmux.key("C-c");
    tmux.wait("an empty composer", |screen| !screen[screen.rfind("fg").unwrap()..].contains("a draft"));
}

/// The process of `tiller` below the window's shell.
pub(super) fn pid_of_tiller(tmux: &Tmux) -> rustix::process::Pid {
    let mut below = vec![tmux.property("#{pane_pid}")];
    while let Some(pid) = below.pop() {
        if std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim() == "tiller" {
            return rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        below.extend(children.split_whitespace().map(str::to_owned));
    }
    panic!("tiller does not run in the window");
}

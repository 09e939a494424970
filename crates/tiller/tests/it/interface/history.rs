//! Drafts and the history of messages: what is kept of them, and who can read it.

use super::{READY, Tmux, open_model};
use crate::home::Home;
use std::{os::unix::fs::PermissionsExt as _, path::Path};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_typed_is_kept_for_the_next_session_but_no_secret() {
    let Some((model, home, tmux)) = open_model() else { return };
    let secret = format!("sk-ant-api03-{}", "aB3dE5fG7hI9".repeat(4));
    tmux.say("the first message");
    model.next().say("noted");
    tmux.wait_for("tiller  noted");
    tmux.say(&format!("use {secret}"));
    model.next().say("noted too");
    tmux.wait_for("tiller  noted too");
    // A draft that is cleared is in the history, unless it has a secret.
    tmux.type_and(&format!("or {secret}"), "C-c");
    tmux.wait("the draft is cleared", |screen| !screen.contains("> or "));
    tmux.type_and("half a thought", "C-c");
    tmux.wait("the draft is cleared", |screen| !screen.contains("> half"));
    tmux.say("/quit");
    tmux.wait_for("over=0");
    let file = home.path().join("home/.local/share/tiller/history.jsonl");
    assert_eq!(mode(&file), 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("the first message") && text.contains("half a thought"), "{text}");
    assert!(!text.contains("sk-ant"), "{text}");
    tmux.shell("clear; $TILLER; echo over=$?");
    tmux.wait_for(READY);
    for expected in ["> /quit", "> half a thought", "> the first message"] {
        tmux.key("Up");
        tmux.wait_for(expected);
    }
}

#[test]
fn the_text_in_the_users_editor_is_readable_by_the_user_only() {
    let home = Home::new();
    let editor = home.path().join("editor");
    let script =
        "#!/bin/sh\nls -l \"$1\" > modes; ls -ld \"$(dirname \"$1\")\" >> modes; echo more >> \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.to_str().unwrap();
    let variables = [("TILLER", env!("CARGO_BIN_EXE_tiller")), ("VISUAL", editor)];
    let Some(tmux) = Tmux::start(&home, &variables) else { return };
    tmux.shell("$TILLER; echo over=$?");
    tmux.wait_for(READY);
    tmux.type_and("a draft", "C-g");
    tmux.wait_for("> a draftmore");
    let modes = home.read("modes").unwrap();
    let modes: Vec<_> = modes.lines().map(|line| &line[..10]).collect();
    assert_eq!(modes, ["-rw-------", "drwx------"]);
}

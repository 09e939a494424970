//! The demo plays its story, and reports a failure if the story does not happen.

use crate::home::{Home, stderr, stdout};

#[test]
fn the_demo_performs_every_step() {
    let home = Home::empty();
    // The user's settings must not change the demo.
    home.settings("agent.mode = 'ask'\ntools.default_permission_mode = 'argus'\n");
    let output =
        home.tiller(&["demo"]).env("TILLER_MODE", "plan").env("TMPDIR", home.path()).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    for part in [
        "not a language model",
        "from the unsaved buffer",
        "+     echo \"Hello, $1!\"",
        "$ sh test.sh (confined: sandbox run …)",
        "│ ok: Hello, editor!",
        "└ exit 0",
        "What went through the editor",
        "The line that was never saved survived the agent's edit.",
        "Every step happened.",
    ] {
        assert!(text.contains(part), "{part:?} is missing:\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours without a terminal");
    let left: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("tiller-")), "{left:?}");
}

#[test]
fn a_demo_with_a_missing_step_fails() {
    let home = Home::empty();
    // Without a user at the terminal, permission requests for the user's own files are rejected.
    home.write("a.txt", "one\n");
    let args = ["demo", "--project", ".", "--prompt", "run git push ./origin made"];
    let output = home.run(&args);
    assert!(stdout(&output).contains("may I?"), "{}\n{}", stdout(&output), stderr(&output));
    let output = home.run(&["demo", "--model", "nobody/x"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("nobody"), "{}", stderr(&output));
}

//! A start from the desktop, where `PATH` lacks the additions of the user's shell.

use crate::{home::Home, sandbox::run};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// The `PATH` of a program that was started from the desktop.
const DESKTOP: &str = "/usr/local/bin:/usr/bin:/bin";

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Creates a shell that adds a directory to `PATH` and records each run, and a program in that
/// directory.
fn with_a_shell(home: &Home) -> String {
    let (user, shell) = (home.path().join("home"), home.path().join("home/shell"));
    script(&user.join("tools/tool-of-mine"), "#!/bin/sh\necho found it\n");
    let profile =
        "echo \"$PWD\" >> \"$HOME/asked\"; export PATH=\"$HOME/tools:$PATH\" OWN_TOKEN=canary-token";
    script(&shell, &format!("#!/bin/sh\n{profile}\nfor last do :; done\neval \"$last\"\n"));
    shell.to_str().unwrap().to_owned()
}

fn asked(home: &Home) -> String {
    fs::read_to_string(home.path().join("home/asked")).unwrap_or_default()
}

const SETTINGS: &str =
    "[agent]\ndefault_model = 'offline/pilot'\n[tools]\ndefault_permission_mode = 'prometheus'\n";

#[test]
fn commands_get_the_login_shells_path_when_started_from_the_desktop() {
    let home = Home::new();
    home.settings(SETTINGS);
    let shell = with_a_shell(&home);
    let line = "tool-of-mine; echo token ${OWN_TOKEN:-none}";
    let result = run(&home, line, &[("PATH", DESKTOP), ("SHELL", &shell)]);
    assert!(result.contains("found it") && result.contains("token none"), "{result}");
    assert_eq!(asked(&home).trim(), home.path().join("home").to_str().unwrap(), "once, and in the home");
}

#[test]
fn the_login_shell_runs_only_if_needed_or_configured() {
    let own = std::env::var("PATH").unwrap() + ":/opt/mine/bin";
    for (setting, path, found) in [
        ("never", DESKTOP, false),
        ("auto", own.as_str(), false),
        ("always", own.as_str(), true),
        ("auto", DESKTOP, true),
    ] {
        let home = Home::new();
        home.settings(&format!("{SETTINGS}[env]\nlogin_shell = '{setting}'\n"));
        let shell = with_a_shell(&home);
        let mut list = home.tiller(&["sessions", "list"]);
        assert!(list.env("PATH", path).env("SHELL", &shell).status().unwrap().success());
        assert_eq!(asked(&home), "", "nothing needed a program");
        let result = run(&home, "tool-of-mine", &[("PATH", path), ("SHELL", &shell)]);
        assert_eq!(result.contains("found it"), found, "{setting} {path}: {result}");
        assert_eq!(asked(&home).is_empty(), !found, "{setting} {path}");
    }
}

/// A service manager may start it without variables.
#[test]
fn commands_have_a_home_and_bash_without_variables() {
    let home = Home::new();
    let args = [
        "-m",
        "offline/pilot",
        "--yolo",
        "-o",
        "json",
        "-p",
        "run echo home=$HOME bash=${BASH_VERSION:+yes}",
    ];
    let mut command = home.tiller(&args);
    let output = command.env_clear().env("TILLER_HOME", home.path().join("tiller")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let of_user = std::env::home_dir().unwrap();
    assert!(text.contains(&format!("home={} bash=yes", of_user.display())), "{text}");
}

//! Regression tests of the permission policy, case by case.

use super::*;

#[test]
fn p05_a_grant_is_for_the_place_and_the_shape_that_were_shown() {
    let roots = [path("/w")];
    let scoped = |confinement, accesses: &[Resolved]| {
        let subject = Subject { tool: "bash", effect: Effect::Executes, accesses, roots: &roots };
        scope(&subject, confinement)
    };
    // A grant for a command in a sandbox does not apply outside the sandbox or in another place.
    let case = Case { confinement: WHOLE, ..Case::new() };
    case.grants.remember(scoped(WHOLE, &run("tar --version")), true);
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("tar --version")), "aaa", "in Argus too");
    for confinement in [CommandConfinement::Lifted, CommandConfinement::Off, CommandConfinement::Delegated] {
        let out = Case { confinement, ..Case::new() };
        out.grants.remember(scoped(WHOLE, &run("tar --version")), true);
        assert_eq!(
            out.verdicts("bash", Effect::Executes, &lift("tar cf ../x a", None)),
            "??a",
            "{confinement:?}"
        );
        assert_eq!(out.verdicts("bash", Effect::Executes, &run("tar --version")), "??a", "{confinement:?}");
    }
    // Without confinement, a grant covers more than the exact line only if the subcommand
    // determines the action.
    for (line, expected) in [
        ("git fetch origin", "`git fetch …` on this machine, unconfined, in this session"),
        ("cargo test -p x", "`cargo test …` on this machine, unconfined, in this session"),
        ("git -C . fetch", "this exact command on this machine, unconfined, in this session"),
        ("git -c a.b=c fetch", "this exact command on this machine, unconfined, in this session"),
        ("tar cf x y", "this exact command on this machine, unconfined, in this session"),
        ("python3 x.py", "this exact command on this machine, unconfined, in this session"),
        ("bash x.sh", "this exact command on this machine, unconfined, in this session"),
        ("make", "this exact command on this machine, unconfined, in this session"),
        ("npm run x", "this exact command on this machine, unconfined, in this session"),
        ("env git fetch", "this exact command on this machine, unconfined, in this session"),
        ("ls | xargs cargo test", "this exact command on this machine, unconfined, in this session"),
        ("cargo test > x", "this exact command on this machine, unconfined, in this session"),
        ("git fetch $X", "this exact command on this machine, unconfined, in this session"),
    ] {
        assert_eq!(label(&scoped(CommandConfinement::Off, &run(line))), expected, "{line}");
    }
    let editor = label(&scoped(CommandConfinement::Delegated, &run("git fetch")));
    assert_eq!(editor, "`git fetch …` in the editor's terminal, unconfined, in this session");
    let case = Case::new();
    case.grants.remember(scoped(CommandConfinement::Off, &run("git -C . fetch")), true);
    for (line, expected) in [
        ("git -C . fetch", "aaa"),
        ("git -C . fetch x", "??a"),
        ("git fetch", "??a"),
        ("git -C . push", "???"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), expected, "{line}");
    }
}

#[test]
fn p05_the_settings_and_what_cannot_be_taken_back_beat_a_grant() {
    let roots = [path("/w")];
    for confinement in [WHOLE, CommandConfinement::Off] {
        let case = Case { confinement, rules: rules(&[], &["bash(make*)"], &[]), ..Case::new() };
        for line in ["make", "git push", "git branch -D x", "git $X"] {
            let accesses = run(line);
            let subject =
                Subject { tool: "bash", effect: Effect::Executes, accesses: &accesses, roots: &roots };
            case.grants.remember(scope(&subject, confinement), true);
            assert_eq!(case.verdicts("bash", Effect::Executes, &accesses), "???", "{line}");
            let Decision::Ask { rule, .. } =
                case.decide(PermissionMode::Guardian, "bash", Effect::Executes, accesses.clone())
            else {
                panic!("{line}")
            };
            assert!(!remembers(rule), "nothing is offered that would not be kept: {line}");
            case.grants.remember(scope(&subject, confinement), false);
            assert_eq!(
                case.verdicts("bash", Effect::Executes, &accesses),
                "ddd",
                "a refusal is kept: {line}"
            );
        }
    }
}

#[test]
fn p01_a_denial_holds_in_each_reading_mode_and_place() {
    for line in ["ls &>/dev/null mkfs x", "sh -c 'ls &>/dev/null git push --force'", "ls |& mkfs x"] {
        for confinement in
            [WHOLE, CommandConfinement::Off, CommandConfinement::Delegated, CommandConfinement::Lifted]
        {
            for mode in [Mode::Edit, Mode::Plan] {
                let case = Case { confinement, mode, ..Case::new() };
                let accesses = run_in(line, Dialect::Unknown);
                assert_eq!(
                    case.verdicts("bash", Effect::Executes, &accesses),
                    "ddd",
                    "{line} {confinement:?}"
                );
            }
        }
    }
    let case = Case { confinement: CommandConfinement::Delegated, ..Case::new() };
    for line in ["ls &>/dev/null cp .env leak.txt", "ls &>/dev/null", "cat a |& cat", "[[ -f a ]]"] {
        let accesses = run_in(line, Dialect::Unknown);
        assert_eq!(case.verdicts("bash", Effect::Executes, &accesses), "??a", "{line}");
    }
}

#[test]
fn p02_the_modes_that_only_read_run_what_looks_or_cannot_write() {
    let held = CommandConfinement::Sandbox {
        level: system::SandboxLevel::ReadOnly,
        network: system::Network::Off,
        holds: true,
        at: system::Route::Local,
    };
    for (line, in_sandbox, without) in [
        ("ls", "a?a", "a?a"),
        ("git log", "a?a", "ddd"),
        ("git difftool -y -x CMD HEAD", "a?a", "ddd"),
        ("python3 x.py", "a?a", "ddd"),
        ("ls $(pwd)", "a?a", "ddd"),
        ("sort --ou=F", "a?a", "ddd"),
        ("uniq - F", "a?a", "ddd"),
        ("touch x", "ddd", "ddd"),
        ("ls > x", "ddd", "ddd"),
        ("git commit -m x", "ddd", "ddd"),
        ("rm -rf x", "ddd", "ddd"),
    ] {
        for mode in [Mode::Plan, Mode::Ask] {
            let case = Case { mode, confinement: held, ..Case::new() };
            assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), in_sandbox, "{line}");
            for confinement in
                [CommandConfinement::Off, CommandConfinement::Delegated, CommandConfinement::Lifted]
            {
                let case = Case { mode, confinement, ..Case::new() };
                let expected =
                    if confinement == CommandConfinement::Lifted && line == "ls" { "??a" } else { without };
                assert_eq!(
                    case.verdicts("bash", Effect::Executes, &run(line)),
                    expected,
                    "{line} {confinement:?}"
                );
            }
        }
    }
}

#[test]
fn p03_names_that_other_programs_obey_ask_at_any_depth() {
    let case = Case { confinement: WHOLE, ..Case::new() };
    for file in [
        ".vscode/settings.json",
        "sub/.vscode/tasks.json",
        ".husky/pre-commit",
        ".envrc",
        ".CLAUDE/settings.json",
        ".idea/x.xml",
        ".devcontainer",
        ".vimrc",
        ".helix/languages.toml",
    ] {
        assert_eq!(
            case.verdicts("file_write", Effect::Writes, &write(&format!("/w/{file}"))),
            "???",
            "{file}"
        );
    }
    for file in
        ["config.toml", ".npmrc", ".cargo/config.toml", "vscode/a", "npmrc", ".github/workflows/a.yml"]
    {
        assert_eq!(
            case.verdicts("file_write", Effect::Writes, &write(&format!("/w/{file}"))),
            "a?a",
            "{file}"
        );
    }
}

#[test]
fn p07_a_blocked_path_with_a_folder_is_blocked_below_each_folder_of_the_session() {
    let blocked =
        ["secrets/*", "keys/", "./config/prod.json", "/opt/private/*", "token.txt"].map(str::to_owned);
    let roots = [path("/w"), path("/v")];
    let (grants, none) = (Grants::default(), PermissionRules::default());
    let policy = Policy {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Prometheus,
        settings: PolicySettings {
            allowed_paths: &[],
            blocked_paths: &blocked,
            denied_tools: &[],
            rules: &none,
            own: &[],
            home: None,
            memories_trusted: false,
            folder: None,
        },
        readable: Vec::new(),
        temp: None,
        grants: &grants,
        confinement: WHOLE,
        apart: false,
    };
    let options = SandboxOptions::default();
    let bounds = Bounds {
        options: &options,
        mode: Mode::Edit,
        roots: &roots,
        blocked_paths: &blocked,
        rules: &none,
        own_files: None,
        folder: None,
    };
    let sandbox = sandbox(&bounds);
    for (file, expected) in [
        ("/w/secrets/k.txt", true),
        ("/v/secrets/deep/k.txt", true),
        ("/w/SECRETS/k.txt", true),
        ("/w/keys/a", true),
        ("/w/config/prod.json", true),
        ("/opt/private/a", true),
        ("/w/deep/token.txt", true),
        ("/w/a/secrets/k.txt", false),
        ("/w/config/dev.json", false),
        ("/w/secret/k.txt", false),
    ] {
        for (tool, effect, accesses) in
            [("file_read", Effect::Reads, read(file)), ("file_write", Effect::Writes, write(file))]
        {
            let subject = Subject { tool, effect, accesses: &accesses, roots: &roots };
            let denied = matches!(decide(&policy, &subject), Decision::Deny { rule: "BlockedPath", .. });
            assert_eq!(denied, expected, "{tool} {file}");
        }
        if !file.starts_with("/opt") {
            assert_eq!(sandbox.is_secret(&path(file)), expected, "the sandbox says the same of {file}");
        }
    }
    // The directory itself is not listed, and a link does not help.
    for accesses in [
        read("/w/secrets"),
        vec![Resolved::new(Access::Read(path("/w/a")), Some(path("/w/secrets/k.txt")), Dialect::Bash)],
    ] {
        let subject = Subject { tool: "glob", effect: Effect::Reads, accesses: &accesses, roots: &roots };
        assert!(matches!(decide(&policy, &subject), Decision::Deny { .. }), "{accesses:?}");
    }
}

#[test]
fn destructive_commands_ask_outside_of_the_project() {
    let case = Case { confinement: WHOLE, ..Case::new() };
    for line in [
        "rm -rf build",
        "rm -r ./build src/a",
        "rm -rf /w/dist",
        "rm -rf dist/*",
        "make && rm -fr a b/c",
        "shred -n 3 notes.txt",
        "truncate -s 0 log.txt",
        "chmod -R 777 build",
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), "a?a", "{line}");
    }
    for line in [
        "rm -rf .",
        "rm -rf *",
        "rm -rf /w",
        "rm -rf ../other",
        "rm -rf .git",
        "rm -rf sub/.GIT/hooks",
        "rm -rf ~/x",
        "rm -rf $X",
        "cd sub && rm -rf build",
        "sudo rm -rf build",
        "git reset --hard",
        "git clean -fdx",
        "docker system prune",
        "kubectl delete pod x",
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), "???", "{line}");
        assert_eq!(case.verdicts("shell_write", Effect::Executes, &run(line)), "???", "{line}");
    }
    for confinement in [CommandConfinement::Off, CommandConfinement::Lifted, CommandConfinement::Delegated] {
        let case = Case { confinement, ..Case::new() };
        assert_eq!(case.verdicts("bash", Effect::Executes, &run("rm -rf build")), "???", "{confinement:?}");
    }
    let case = Case { rules: rules(&[], &[], &["bash(rm -rf build)"]), ..Case::new() };
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("rm -rf build")), "aaa");
}

//! The chain as a table: the decisions about one call in three permission modes.

use super::{grants::Grant, *};
use crate::Lifetime;
use std::sync::Arc;

struct Case {
    mode: Mode,
    grants: Grants,
    confinement: CommandConfinement,
    rules: PermissionRules,
    memories_trusted: bool,
    folder: Option<AbsPath>,
    denied: Vec<String>,
    home: Option<AbsPath>,
}

impl Case {
    fn new() -> Self {
        Self {
            mode: Mode::Edit,
            grants: Grants::default(),
            confinement: CommandConfinement::Off,
            rules: PermissionRules::default(),
            memories_trusted: false,
            folder: None,
            denied: vec!["grep".to_owned()],
            home: None,
        }
    }

    fn decide(
        &self,
        permission_mode: PermissionMode,
        tool: &str,
        effect: Effect,
        accesses: Vec<Resolved>,
    ) -> Decision {
        let roots = [AbsPath::new("/w").unwrap()];
        let subject = Subject { tool, effect, accesses: &accesses, roots: &roots };
        self.with_policy(permission_mode, |policy| decide(policy, &subject))
    }

    fn with_policy<T>(&self, permission_mode: PermissionMode, ask: impl FnOnce(&Policy<'_>) -> T) -> T {
        let tmp = [AbsPath::new("/tmp").unwrap()];
        let outputs = AbsPath::new("/kept/outputs").unwrap();
        ask(&Policy {
            mode: self.mode,
            permission_mode,
            settings: PolicySettings {
                allowed_paths: &tmp,
                blocked_paths: &[],
                denied_tools: &self.denied,
                rules: &self.rules,
                own: &[],
                home: self.home.as_ref(),
                memories_trusted: self.memories_trusted,
                folder: self.folder.as_ref(),
            },
            temp: None,
            readable: vec![outputs],
            grants: &self.grants,
            confinement: self.confinement,
            apart: false,
        })
    }

    /// Returns one letter each for Guardian, Argus and Prometheus: a(llow), ?(ask), d(eny).
    fn verdicts(&self, tool: &str, effect: Effect, accesses: &[Resolved]) -> String {
        PermissionMode::ALL
            .into_iter()
            .map(|mode| match self.decide(mode, tool, effect, accesses.to_vec()) {
                Decision::Allow { .. } => 'a',
                Decision::Ask { .. } => '?',
                Decision::Deny { .. } => 'd',
            })
            .collect()
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn write(text: &str) -> Vec<Resolved> {
    vec![Resolved::new(Access::Write(path(text)), Some(path(text)), Dialect::Bash)]
}

fn read(text: &str) -> Vec<Resolved> {
    vec![Resolved::new(Access::Read(path(text)), Some(path(text)), Dialect::Bash)]
}

fn run(command: &str) -> Vec<Resolved> {
    run_in(command, Dialect::Bash)
}

fn run_in(command: &str, dialect: Dialect) -> Vec<Resolved> {
    let (command, cwd) = (command.to_owned(), path("/w"));
    vec![Resolved::new(
        Access::Execute { command, cwd, unconfined: false, reason: None, lifetime: Lifetime::Session },
        None,
        dialect,
    )]
}

/// Input of a running command.
fn told(text: &str) -> Vec<Resolved> {
    let mut accesses = run(text);
    if let Access::Execute { lifetime, .. } = &mut accesses[0].access {
        *lifetime = Lifetime::Running;
    }
    accesses
}

/// A command that requests to leave the sandbox, with the model's reason.
fn lift(command: &str, reason: Option<&str>) -> Vec<Resolved> {
    let (command, cwd, reason) = (command.to_owned(), path("/w"), reason.map(str::to_owned));
    vec![Resolved::new(
        Access::Execute { command, cwd, unconfined: true, reason, lifetime: Lifetime::Session },
        None,
        Dialect::Bash,
    )]
}

/// A command in another directory, with that directory's resolved path.
fn run_at(command: &str, cwd: &str, leads: &str) -> Vec<Resolved> {
    let access = Access::Execute {
        command: command.to_owned(),
        cwd: path(cwd),
        unconfined: false,
        reason: None,
        lifetime: Lifetime::Session,
    };
    vec![Resolved::new(access, Some(path(leads)), Dialect::Bash)]
}

#[test]
fn a_command_in_a_folder_outside_asks_each_time() {
    let mut case = Case::new();
    case.confinement = WHOLE;
    for (cwd, leads, expected) in [
        ("/w/sub", "/w/sub", "a?a"),
        ("/tmp/x", "/tmp/x", "a?a"),
        ("/etc", "/etc", "??a"),
        ("/w/link", "/etc", "??a"),
        ("/work-evil", "/work-evil", "??a"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run_at("ls", cwd, leads)), expected, "{cwd}");
    }
    // A grant for the same words inside does not apply.
    let inside = run("ls");
    let roots = [path("/w")];
    let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &inside, roots: &roots };
    case.grants.remember(scope(&subject, case.confinement), true);
    assert_eq!(case.verdicts("bash", Effect::Executes, &inside), "aaa");
    assert_eq!(case.verdicts("bash", Effect::Executes, &run_at("ls", "/etc", "/etc")), "??a");
    assert!(!remembers("OutsideFolder"));
}

#[test]
fn long_results_that_are_kept_are_read_without_a_question_and_written_with_one() {
    let case = Case::new();
    let kept = "/kept/outputs/tool_1.txt";
    assert_eq!(case.verdicts("file_read", Effect::Reads, &read(kept)), "aaa");
    assert_eq!(case.verdicts("file_write", Effect::Writes, &write(kept)), "??a");
    assert_eq!(case.verdicts("file_read", Effect::Reads, &read("/kept/other")), "??a");
}

#[test]
fn what_a_running_command_is_told_is_a_command_and_looking_at_it_is_nothing() {
    let mut case = Case::new();
    case.confinement = WHOLE;
    let call = |tool: &str| {
        let access = Access::Call { function: tool.to_owned(), read_only: true };
        vec![Resolved::new(access, None, Dialect::Bash)]
    };
    let runs = Effect::Executes;
    for (tool, accesses, expected) in [
        ("shell", call("shell"), "aaa"),
        ("shell_read", call("shell"), "aaa"),
        ("shell_kill", call("shell"), "aaa"),
        ("shell", told("y"), "a?a"),
        ("shell_write", told("y"), "a?a"),
        ("shell_start", run("npm run dev"), "a?a"),
        ("shell", run("rm -rf /w"), "???"),
        ("shell_write", told("cd x && rm -rf y"), "???"),
        ("shell_start", run("rm -rf /w"), "???"),
        ("shell", lift("ls", None), "??a"),
    ] {
        assert_eq!(case.verdicts(tool, runs, &accesses), expected, "{tool} {accesses:?}");
    }
    // The running command may have been started when more was allowed.
    case.mode = Mode::Plan;
    case.confinement = CommandConfinement::Sandbox {
        level: system::SandboxLevel::ReadOnly,
        network: system::Network::Off,
        holds: true,
        at: system::Route::Local,
    };
    assert_eq!(case.verdicts("shell", runs, &told("ls")), "ddd");
    assert_eq!(case.verdicts("bash", runs, &run("ls")), "a?a");
    assert_eq!(case.verdicts("shell", runs, &call("shell")), "aaa");
}

#[test]
fn the_chain_in_edit_mode() {
    let case = Case::new();
    for (tool, effect, accesses, expected) in [
        ("file_read", Effect::Reads, read("/w/a"), "aaa"),
        ("file_read", Effect::Reads, read("/etc/hosts"), "??a"),
        ("file_read", Effect::Reads, read("/tmp/x"), "aaa"),
        ("file_read", Effect::Reads, read("/w/.env"), "ddd"),
        ("file_read", Effect::Reads, read("/w/.env.example"), "aaa"),
        ("file_read", Effect::Reads, read("/w/.git/config"), "ddd"),
        ("file_read", Effect::Reads, read("/w/.GIT/config"), "ddd"),
        ("file_read", Effect::Reads, read("/work-evil/a"), "??a"),
        ("file_write", Effect::Writes, write("/w/a"), "a?a"),
        ("file_write", Effect::Writes, write("/etc/a"), "??a"),
        ("file_write", Effect::Writes, write("/w/.mcp.json"), "???"),
        ("file_write", Effect::Writes, write("/w/.tiller/config.toml"), "???"),
        ("apply_patch", Effect::Writes, write("/w/a"), "a?a"),
        ("bash", Effect::Executes, run("ls -la && cat a"), "a?a"),
        // Git reads from the project what to run.
        ("bash", Effect::Executes, run("git status"), "??a"),
        ("bash", Effect::Executes, run("cargo test"), "??a"),
        ("bash", Effect::Executes, run("cat /etc/hosts"), "??a"),
        ("bash", Effect::Executes, run("cat /tmp/x"), "a?a"),
        ("bash", Effect::Executes, run("cat .env"), "??a"),
        ("bash", Effect::Executes, run("cd x && rm -rf y"), "???"),
        ("bash", Effect::Executes, run("echo $(rm -rf y)"), "???"),
        ("bash", Effect::Executes, run("ls $(pwd)"), "??a"),
        ("bash", Effect::Executes, run("ls > x"), "??a"),
        ("bash", Effect::Executes, run("ls ("), "??a"),
        ("grep", Effect::Reads, read("/w"), "ddd"),
        ("task_list", Effect::Session, vec![], "aaa"),
        ("unheard_of", Effect::Reads, vec![], "ddd"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
}

#[test]
fn a_link_out_of_the_project_is_outside_and_never_passes_silently() {
    let case = Case::new();
    let out = vec![Resolved::new(Access::Write(path("/w/link/a")), Some(path("/etc/a")), Dialect::Bash)];
    assert_eq!(case.verdicts("file_write", Effect::Writes, &out), "??a");
    let within =
        vec![Resolved::new(Access::Write(path("/w/link/a")), Some(path("/w/real/a")), Dialect::Bash)];
    assert_eq!(case.verdicts("file_write", Effect::Writes, &within), "??a");
    let secret = vec![Resolved::new(Access::Read(path("/w/ok.txt")), Some(path("/w/.env")), Dialect::Bash)];
    assert_eq!(case.verdicts("file_read", Effect::Reads, &secret), "ddd");
}

#[test]
fn always_covers_the_prefix_the_folder_and_nothing_more() {
    let case = Case::new();
    let roots = [path("/w")];
    let remember = |tool: &str, effect, accesses: Vec<Resolved>, allow| {
        let subject = Subject { tool, effect, accesses: &accesses, roots: &roots };
        let scope = scope(&subject, case.confinement);
        let label = label(&scope);
        case.grants.remember(scope, allow);
        label
    };
    assert_eq!(
        remember("bash", Effect::Executes, run("cargo test -p x"), true),
        "`cargo test …` on this machine, unconfined, in this session"
    );
    assert_eq!(
        remember("file_edit", Effect::Writes, write("/w/src/a.rs"), true),
        "writing in /w/src in this session"
    );
    remember("bash", Effect::Executes, run("make deploy"), false);
    for (tool, effect, accesses, expected) in [
        ("bash", Effect::Executes, run("cargo test"), "aaa"),
        ("bash", Effect::Executes, run("cargo test && ls"), "aaa"),
        ("bash", Effect::Executes, run("cargo test && cargo add x"), "??a"),
        ("bash", Effect::Executes, run("cargo test > x"), "??a"),
        ("bash", Effect::Executes, run("cargo test; rm -rf x"), "???"),
        ("bash", Effect::Executes, run("cargo build"), "??a"),
        // `make` may do anything with other targets.
        ("bash", Effect::Executes, run("make deploy"), "ddd"),
        ("bash", Effect::Executes, run("make test"), "??a"),
        ("file_edit", Effect::Writes, write("/w/src/deep/b.rs"), "aaa"),
        ("file_edit", Effect::Writes, write("/w/b.rs"), "a?a"),
        // The answer is about writing, whatever tool does it.
        ("file_write", Effect::Writes, write("/w/src/a.rs"), "aaa"),
        ("file_edit", Effect::Writes, write("/w/src/.env"), "ddd"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
    case.grants.clear();
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("cargo test")), "??a");
}

#[test]
fn grants_are_shared_between_threads() {
    let grants = Arc::new(Grants::default());
    let other = grants.clone();
    std::thread::spawn(move || other.remember(vec![Grant::Tool("x".into())], true)).join().unwrap();
    let subject = Subject { tool: "x", effect: Effect::Reads, accesses: &[], roots: &[] };
    assert_eq!(grants.answer(&subject, CommandConfinement::Off), Some(true));
}

const WHOLE: CommandConfinement = CommandConfinement::Sandbox {
    level: system::SandboxLevel::WorkspaceWrite,
    network: system::Network::Off,
    holds: true,
    at: system::Route::Local,
};

#[test]
fn builders_pass_only_where_the_sandbox_holds() {
    let partly = CommandConfinement::Sandbox {
        level: system::SandboxLevel::WorkspaceWrite,
        network: system::Network::Off,
        holds: false,
        at: system::Route::Local,
    };
    let online = CommandConfinement::Sandbox {
        level: system::SandboxLevel::WorkspaceWrite,
        network: system::Network::Open,
        holds: true,
        at: system::Route::Local,
    };
    for line in [
        "cargo test",
        "npm test",
        "python3 -c 'print(1)'",
        "make -j4 && ./run.sh",
        "node a.js > out.txt",
        "mkdir -p a/b",
    ] {
        for (confinement, expected) in [
            (WHOLE, "a?a"),
            (partly, "??a"),
            (online, "??a"),
            (CommandConfinement::Delegated, "??a"),
            (CommandConfinement::Off, "??a"),
            (CommandConfinement::Unavailable, "??a"),
            (CommandConfinement::Lifted, "??a"),
        ] {
            let case = Case { confinement, ..Case::new() };
            assert_eq!(
                case.verdicts("bash", Effect::Executes, &run(line)),
                expected,
                "{line} {confinement:?}"
            );
        }
    }
    let case = Case { confinement: WHOLE, ..Case::new() };
    // What the sandbox forbids fails inside it: no network, no file outside.
    for line in [
        "git fetch",
        "curl x",
        "npm install",
        "sudo make",
        "../x/run.sh",
        "PATH=. make",
        "make $X",
        "python3 .env",
        "ls > ../x",
        "for f in *; do wc -l $f; done",
        "echo $(date) | tee x &",
        "ls (",
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), "a?a", "{line}");
    }
    // Files outside the project do not exist in the sandbox; what cannot be undone asks.
    for (line, expected) in [
        ("cat /home/me/.ssh/id_rsa", "a?a"),
        ("cat ~/.ssh/id_rsa", "a?a"),
        ("cat ../other/.env", "a?a"),
        ("cd .. && cat other/.env", "a?a"),
        ("cd $X && cat .env", "a?a"),
        ("tar cf x.tar --files-from=/home/me/.env", "a?a"),
        ("cat < /home/me/.env", "a?a"),
        ("cat /home/me/.ssh/id*", "a?a"),
        ("cat /w/a.txt /usr/include/x.h", "a?a"),
        ("git branch -D x", "???"),
        ("git $X", "???"),
        ("xargs rm", "???"),
        ("make && rm -rf x", "a?a"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), expected, "{line}");
    }
    let lifted = Case { confinement: CommandConfinement::Lifted, ..Case::new() };
    assert_eq!(
        lifted.verdicts("bash", Effect::Executes, &lift("ls", None)),
        "??a",
        "outside the sandbox even this asks"
    );
    let there = Case { confinement: CommandConfinement::Delegated, ..Case::new() };
    assert_eq!(
        there.verdicts("bash", Effect::Executes, &lift("ls", None)),
        "??a",
        "in the editor's terminal too"
    );
}

#[test]
fn a_question_names_the_command_the_folder_the_executor_the_sandbox_and_why() {
    let ask = |confinement, mode, accesses| {
        let case = Case { confinement, ..Case::new() };
        match case.decide(mode, "bash", Effect::Executes, accesses) {
            Decision::Ask { question, .. } => question,
            other => panic!("{other:?}"),
        }
    };
    let guardian = PermissionMode::Guardian;
    for (confinement, mode, accesses, expected) in [
        (
            WHOLE,
            PermissionMode::Argus,
            run("git fetch"),
            "Run `git fetch` on this machine (sandbox: workspace-write, no network), in /w? Argus asks about every command.",
        ),
        (
            CommandConfinement::Delegated,
            guardian,
            run("git fetch"),
            "Run `git fetch` in the editor's terminal (no sandbox), in /w? It is not confined, and `git` may do more than read.",
        ),
        (
            CommandConfinement::Off,
            guardian,
            run("ls $(x)"),
            "Run `ls $(x)` on this machine (sandbox off), in /w? It is not confined, and a word of it is only known when it runs.",
        ),
        (
            CommandConfinement::Lifted,
            guardian,
            lift("git fetch", Some("the branch\nis not here\u{1b}[2J")),
            "Run `git fetch` on this machine, outside the sandbox, in /w? The model's reason: \"the branch⏎is not here\\u{1b}[2J\".",
        ),
        (
            CommandConfinement::Lifted,
            guardian,
            lift("git fetch", None),
            "Run `git fetch` on this machine, outside the sandbox, in /w? The model gave no reason for leaving the sandbox.",
        ),
    ] {
        assert_eq!(ask(confinement, mode, accesses), expected);
    }
    let long = ask(CommandConfinement::Lifted, guardian, lift("x", Some(&"y".repeat(1000))));
    assert!(long.len() < 350 && long.contains("y…"), "{long}");
}

fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> PermissionRules {
    let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    PermissionRules { deny: parse(deny), ask: parse(ask), allow: parse(allow), ..PermissionRules::default() }
}

#[test]
fn s39_deny_beats_ask_beats_allow_for_every_combination() {
    let rule = "bash(git push*)";
    for (deny, ask, allow) in (0..8).map(|bits| (bits & 4 != 0, bits & 2 != 0, bits & 1 != 0)) {
        let pick = |on: bool| if on { vec![rule] } else { Vec::new() };
        let case = Case { rules: rules(&pick(deny), &pick(ask), &pick(allow)), ..Case::new() };
        let expected = match (deny, ask, allow) {
            (true, ..) => "ddd",
            (_, true, _) => "???",
            (_, _, true) => "aaa",
            _ => "???",
        };
        assert_eq!(case.verdicts("bash", Effect::Executes, &run("git push origin")), expected);
    }
}

#[test]
fn s08_rules_speak_of_every_command_and_every_spelling() {
    let case = Case {
        rules: rules(
            &["bash(curl*)", "file_read(*/private/*)", "file_read(/etc/*)"],
            &["file_write(docs/*)"],
            &["bash(make *)", "bash(git push*)", "file_write", "file_read"],
        ),
        ..Case::new()
    };
    let linked =
        vec![Resolved::new(Access::Read(path("/w/ok.txt")), Some(path("/etc/passwd")), Dialect::Bash)];
    for (tool, effect, accesses, expected) in [
        ("bash", Effect::Executes, run("make"), "aaa"),
        ("bash", Effect::Executes, run("make all && git push"), "aaa"),
        ("bash", Effect::Executes, run("make all && rmdir x"), "??a"),
        ("bash", Effect::Executes, run("make all; env curl x"), "ddd"),
        ("bash", Effect::Executes, run("make $X"), "??a"),
        ("bash", Effect::Executes, run("make > x"), "??a"),
        ("bash", Effect::Executes, run("sudo make x"), "??a"),
        ("bash", Effect::Executes, run("make all && rm -rf x"), "???"),
        ("file_read", Effect::Reads, read("/w/a/private/b"), "ddd"),
        ("file_read", Effect::Reads, linked, "ddd"),
        ("file_read", Effect::Reads, read("/w/.env"), "ddd"),
        ("file_write", Effect::Writes, write("/w/a"), "aaa"),
        ("file_write", Effect::Writes, write("/w/docs/a"), "???"),
        ("file_write", Effect::Writes, write("/w/.mcp.json"), "???"),
        ("file_write", Effect::Writes, write("/opt/a"), "??a"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
}

#[test]
fn a_denied_command_runs_only_as_the_line_that_the_settings_allow_word_for_word() {
    let case = Case { rules: rules(&[], &[], &["bash(mkfs.ext4 disk.img)", "bash(mkfs*)"]), ..Case::new() };
    for (line, expected) in [
        ("mkfs.ext4 disk.img", "aaa"),
        ("mkfs.ext4  'disk.img'", "aaa"),
        ("mkfs.ext4 other.img", "ddd"),
        ("cd / && mkfs.ext4 disk.img", "ddd"),
        ("sudo mkfs.ext4 disk.img", "ddd"),
        ("mkfs.ext4 $disk", "ddd"),
        ("rm -rf /", "ddd"),
        ("rm -r ~", "ddd"),
        ("dd if=x of=/dev/sda", "ddd"),
        ("git push --force", "ddd"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), expected, "{line}");
    }
    let case = Case { rules: rules(&["bash(mkfs*)"], &[], &["bash(mkfs.ext4 disk.img)"]), ..Case::new() };
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("mkfs.ext4 disk.img")), "ddd");
}

#[test]
fn a_rule_that_forbids_holds_for_every_tool_that_does_the_same() {
    let case = Case {
        rules: rules(
            &[
                "bash(curl*)",
                "file_read(private/*)",
                "file_read(/w/own/*)",
                "mcp__bad",
                "web_fetch(domain:evil.example)",
            ],
            &["file_write(docs/*)", "mcp__git__push*"],
            &["mcp__git__*", "web_fetch(domain:docs.rs)"],
        ),
        ..Case::new()
    };
    let call = |function: &str| {
        vec![Resolved::new(
            Access::Call { function: function.to_owned(), read_only: false },
            None,
            Dialect::Bash,
        )]
    };
    let fetch = |url: &str| vec![Resolved::new(Access::Fetch(url.to_owned()), None, Dialect::Bash)];
    for (tool, effect, accesses, expected) in [
        // The rule applies to every tool that runs, reads or writes the target, in any spelling.
        ("ide_terminal", Effect::Executes, run("curl x"), "ddd"),
        ("bash", Effect::Executes, run("/usr/bin/curl x"), "ddd"),
        ("glob", Effect::Reads, read("/w/private"), "ddd"),
        ("file_read", Effect::Reads, read("/w/own/x"), "ddd"),
        ("file_edit", Effect::Writes, write("/w/docs/a"), "???"),
        ("apply_patch", Effect::Writes, write("/w/docs/a"), "???"),
        // Functions of servers: by name, by server, by prefix.
        ("mcp__bad__x", Effect::Executes, call("mcp__bad__x"), "ddd"),
        ("mcp__badly__x", Effect::Executes, call("mcp__badly__x"), "??a"),
        ("mcp__git__log", Effect::Executes, call("mcp__git__log"), "aaa"),
        ("mcp__git__push_all", Effect::Executes, call("mcp__git__push_all"), "???"),
        ("mcp__other__x", Effect::Executes, call("mcp__other__x"), "??a"),
        ("integration__p__x", Effect::Writes, call("integration__p__x"), "??a"),
        // URLs by their host; a URL without a readable host counts as denied.
        ("web_fetch", Effect::Reads, fetch("https://docs.rs/x"), "aaa"),
        ("web_fetch", Effect::Reads, fetch("https://a.evil.example/"), "ddd"),
        ("web_fetch", Effect::Reads, fetch("https://docs.rs@x.example/"), "ddd"),
        ("web_fetch", Effect::Reads, fetch("https://127.0.0.1/"), "ddd"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
    // A rule without a pattern means the effect too, but for the tools that read.
    let denied = rules(&["file_write", "bash", "glob"], &[], &[]);
    let case = Case { rules: denied, denied: Vec::new(), ..Case::new() };
    for (tool, effect, accesses, expected) in [
        ("file_write", Effect::Writes, write("/w/a"), "ddd"),
        ("apply_patch", Effect::Writes, write("/w/a"), "ddd"),
        ("shell_start", Effect::Executes, run("ls"), "ddd"),
        ("shell_write", Effect::Executes, told("ls"), "ddd"),
        ("glob", Effect::Reads, read("/w"), "ddd"),
        ("grep", Effect::Reads, read("/w/a"), "aaa"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
    // A rule for an integration applies to its functions, by their effect, but not to a server of
    // the same name.
    let said = |read, write| {
        let rule = ServerRule { read, write };
        let integrations = ServerRules { default: Answer::Ask, servers: [("p".to_owned(), rule)].into() };
        Case { rules: PermissionRules { integrations, ..PermissionRules::default() }, ..Case::new() }
    };
    let case = said(Some(Answer::Allow), Some(Answer::Deny));
    let reads = vec![Resolved::new(
        Access::Call { function: "integration__p__x".to_owned(), read_only: true },
        None,
        Dialect::Bash,
    )];
    assert_eq!(case.verdicts("integration__p__x", Effect::Reads, &reads), "aaa");
    assert_eq!(case.verdicts("integration__p__x", Effect::Writes, &call("integration__p__x")), "ddd");
    assert_eq!(case.verdicts("mcp__p__x", Effect::Writes, &call("mcp__p__x")), "??a");
    assert_eq!(case.verdicts("integration__q__x", Effect::Writes, &call("integration__q__x")), "??a");
    // The read-only modes exclude functions that may change something.
    let case = Case { mode: Mode::Plan, rules: rules(&[], &[], &["mcp__git"]), ..Case::new() };
    assert_eq!(case.verdicts("mcp__git__log", Effect::Executes, &call("mcp__git__log")), "ddd");
}

#[test]
fn what_may_not_be_read_is_hidden_from_searches_and_commands_too() {
    let rules = rules(&["file_read(private/*)", "bash(x)"], &["file_read(a)"], &[]);
    let roots = [path("/w")];
    let options = SandboxOptions::default();
    let sandbox = sandbox(&Bounds {
        options: &options,
        mode: Mode::Edit,
        roots: &roots,
        blocked_paths: &[],
        rules: &rules,
        own_files: None,
        folder: None,
    });
    assert!(sandbox.is_secret(&path("/w/private/a.txt")));
    assert!(!sandbox.is_secret(&path("/w/a")));
}

#[test]
fn s05_this_programs_own_settings_ask_wherever_they_are_kept() {
    let own = [path("/opt/settings")];
    let roots = [path("/w")];
    let (grants, rules) = (Grants::default(), rules(&[], &[], &["file_write"]));
    let policy = Policy {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Prometheus,
        settings: PolicySettings {
            allowed_paths: &own,
            blocked_paths: &[],
            denied_tools: &[],
            rules: &rules,
            own: &own,
            home: None,
            memories_trusted: false,
            folder: None,
        },
        readable: Vec::new(),
        temp: None,
        grants: &grants,
        confinement: CommandConfinement::Off,
        apart: false,
    };
    // Some file systems treat several spellings as one name.
    for file in [
        "/opt/settings/trust.json",
        "/opt/SETTINGS/trust/x",
        "/Opt/\u{17f}ettings",
        "/opt/set\u{200d}tings/x",
    ] {
        let accesses = write(file);
        let subject =
            Subject { tool: "file_write", effect: Effect::Writes, accesses: &accesses, roots: &roots };
        let decision = decide(&policy, &subject);
        assert!(matches!(decision, Decision::Ask { rule: "ProtectedPath", .. }), "{file}");
    }
}

#[test]
fn what_is_hidden_at_home_asks_each_time() {
    // The home directory is the project.
    let case = Case { home: Some(path("/w")), ..Case::new() };
    let verdicts = |file: &str| case.verdicts("file_read", Effect::Reads, &read(file));
    assert_eq!((verdicts("/w/.aws/credentials"), verdicts("/w/notes.txt")), ("??a".into(), "aaa".into()));
    let (accesses, roots) = (read("/w/.bashrc"), [path("/w")]);
    let subject = Subject { tool: "file_read", effect: Effect::Reads, accesses: &accesses, roots: &roots };
    case.grants.remember(scope(&subject, case.confinement), true);
    assert_eq!((verdicts("/w/.aws/credentials"), verdicts("/w/.bashrc")), ("??a".into(), "??a".into()));
}

#[test]
fn s05_protected_paths_ask_every_time_in_every_mode() {
    let case = Case { confinement: WHOLE, rules: rules(&[], &[], &["file_write"]), ..Case::new() };
    let roots = [path("/w")];
    let first = write("/w/a.txt");
    let subject = Subject { tool: "file_write", effect: Effect::Writes, accesses: &first, roots: &roots };
    case.grants.remember(scope(&subject, case.confinement), true);
    for file in [".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".tiller/config.toml", ".MCP.json"] {
        let accesses = write(&format!("/w/{file}"));
        assert_eq!(case.verdicts("file_write", Effect::Writes, &accesses), "???", "{file}");
        // "Always" for one protected file does not apply to the next write.
        let subject =
            Subject { tool: "file_write", effect: Effect::Writes, accesses: &accesses, roots: &roots };
        case.grants.remember(scope(&subject, case.confinement), true);
        assert_eq!(case.verdicts("file_write", Effect::Writes, &accesses), "???", "{file}");
    }
    for file in [".git/hooks/pre-commit", ".GIT/HOOKS/x", ".git/config"] {
        assert_eq!(
            case.verdicts("file_write", Effect::Writes, &write(&format!("/w/{file}"))),
            "ddd",
            "{file}"
        );
    }
    // A command in a holding sandbox is blocked by the kernel instead.
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("cp a .git/hooks/pre-commit")), "a?a");
}

#[test]
fn s42_publishing_asks_in_every_mode_and_place() {
    let lines = [
        "git push",
        "git -C sub push origin main",
        "make && git push",
        "sh -c 'git push'",
        "git push $REMOTE",
        "npm publish --access public",
        "cargo publish",
        "docker push x",
        "gh pr create",
    ];
    for confinement in
        [WHOLE, CommandConfinement::Off, CommandConfinement::Delegated, CommandConfinement::Lifted]
    {
        let case = Case { confinement, ..Case::new() };
        for line in lines {
            assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), "???", "{line} {confinement:?}");
        }
        let fetch = if confinement == WHOLE { "a?a" } else { "??a" };
        assert_eq!(case.verdicts("bash", Effect::Executes, &run("git fetch")), fetch, "{confinement:?}");
    }
    // Where pushes to remotes are seen on their way, the others ask as before.
    let confinement = match WHOLE {
        CommandConfinement::Sandbox { level, holds, at, .. } => {
            CommandConfinement::Sandbox { level, network: system::Network::Session, holds, at }
        }
        other => other,
    };
    let case = Case { confinement, ..Case::new() };
    for line in lines {
        let is_seen = line.contains("git") && !line.contains('$');
        let expected = if is_seen { "a?a" } else { "???" };
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), expected, "{line}");
    }
    for line in ["git push https://h/x", "git push ../r main", "git push --force"] {
        assert_ne!(case.verdicts("bash", Effect::Executes, &run(line)), "a?a", "{line}");
    }
}

mod bounds;
mod effects;
mod entries;

#[test]
fn memories_change_without_a_question_only_in_a_trusted_project_and_only_in_edit_mode() {
    let change = |tool: &str| {
        let access = Access::Call { function: tool.to_owned(), read_only: false };
        vec![Resolved::new(access, None, Dialect::Bash)]
    };
    for (mode, memories_trusted, expected) in [
        (Mode::Edit, false, "??a"),
        (Mode::Edit, true, "aaa"),
        (Mode::Plan, true, "ddd"),
        (Mode::Ask, true, "ddd"),
    ] {
        let case = Case { mode, memories_trusted, ..Case::new() };
        for tool in ["memory_save", "memory_forget"] {
            let verdicts = case.verdicts(tool, Effect::Writes, &change(tool));
            assert_eq!(verdicts, expected, "{tool} {mode:?} {memories_trusted}");
        }
    }
}

#[test]
fn earlier_sessions_are_read_without_a_question_and_those_of_other_projects_with_one() {
    let reads = |function: &str| {
        let access = Access::Call { function: function.to_owned(), read_only: true };
        vec![Resolved::new(access, None, Dialect::Bash)]
    };
    for mode in [Mode::Edit, Mode::Plan, Mode::Ask] {
        let case = Case { mode, ..Case::new() };
        for tool in ["session_search", "session_read", "memory_search"] {
            assert_eq!(case.verdicts(tool, Effect::Reads, &reads(tool)), "aaa", "{tool}");
            assert_eq!(case.verdicts(tool, Effect::Reads, &reads(ALL_PROJECTS)), "??a", "{tool}");
        }
    }
}

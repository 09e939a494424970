//! Rules about effects, whatever tool has them and however a command is spelled.

use super::*;

#[test]
fn always_outside_the_sandbox_covers_known_shapes_only() {
    let case = Case { confinement: CommandConfinement::Lifted, ..Case::new() };
    let roots = [path("/w")];
    let scope_of = |line: &str| {
        let accesses = lift(line, None);
        let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &accesses, roots: &roots };
        scope(&subject, case.confinement)
    };
    for (line, offered) in [
        ("git fetch origin main", true),
        ("git fetch --prune", true),
        ("gh pr view 7 --comments", true),
        ("gh -R a/b pr view 7", false),
        ("docker logs --tail 5 web", true),
        ("git fetch --upload-pack=/w/x origin", false),
        ("git fetch ext::sh", false),
        ("git -C sub fetch", false),
        ("npm run deploy", false),
        ("./deploy.sh", false),
        ("cargo test", false),
        ("git fetch > x", false),
    ] {
        assert_eq!(may_be_allowed(&scope_of(line)), offered, "{line}");
    }
    case.grants.remember(scope_of("git fetch origin"), true);
    for (line, expected) in
        [("git fetch other", "aaa"), ("git fetch --upload-pack=x o", "??a"), ("git fetch && ./x", "??a")]
    {
        assert_eq!(case.verdicts("bash", Effect::Executes, &lift(line, None)), expected, "{line}");
    }
}

#[test]
fn rules_see_the_command_behind_its_options() {
    let case = Case { rules: rules(&["bash(git commit*)", "bash(docker run *)"], &[], &[]), ..Case::new() };
    for (line, expected) in [
        ("git -C . -c a=b commit -m x", "ddd"),
        ("env A=b git commit", "ddd"),
        ("docker --context d run x", "ddd"),
        // They may be what the rules deny.
        ("docker --unknown d run x", "???"),
        ("git $WHAT", "???"),
        ("docker ps", "??a"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), expected, "{line}");
    }
    let allowed = ["bash(A=1 echo hi)", "bash(echo:*)"];
    let case = Case { rules: rules(&[], &[], &allowed), ..Case::new() };
    for (line, expected) in
        [("A=1 echo hi", "aaa"), ("A=1 echo ho", "??a"), ("echo \"$HOME\"", "aaa"), ("echo hi > x", "??a")]
    {
        assert_eq!(case.verdicts("shell_start", Effect::Executes, &run(line)), expected, "{line}");
    }
    // The input of a running command is another matter.
    assert_eq!(case.verdicts("shell_write", Effect::Executes, &told("echo rm")), "a?a");
}

#[test]
fn a_denied_tool_denies_its_effect_by_another() {
    let denied = ["bash", "web_fetch", "file_edit"].map(str::to_owned).to_vec();
    let case = Case { denied, ..Case::new() };
    let fetch = vec![Resolved::new(Access::Fetch("https://a.b".to_owned()), None, Dialect::Bash)];
    for (tool, effect, accesses, expected) in [
        ("shell_start", Effect::Executes, run("ls"), "ddd"),
        ("ide_terminal", Effect::Executes, run("ls"), "ddd"),
        ("web_crawl", Effect::Reads, fetch, "ddd"),
        ("file_edit", Effect::Writes, write("/w/a"), "ddd"),
        ("apply_patch", Effect::Writes, write("/w/a"), "a?a"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool}");
    }
}

#[test]
fn settings_in_the_home_directory_ask_in_every_mode() {
    let case = Case { home: Some(path("/home/me")), confinement: CommandConfinement::Lifted, ..Case::new() };
    for file in [".bash_profile", ".bashrc", ".config/autostart/x.desktop", ".local/bin/ls"] {
        let accesses = write(&format!("/home/me/{file}"));
        assert_eq!(case.verdicts("file_write", Effect::Writes, &accesses), "???", "{file}");
    }
    for (line, expected) in [
        ("echo x >> ~/.bash_profile", "???"),
        ("cp x $HOME/.config/a", "???"),
        ("tee .vscode/tasks.json", "???"),
        ("cp a b", "??a"),
        ("cat ~/.bashrc", "??a"),
    ] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &lift(line, None)), expected, "{line}");
    }
    // A project in it is the project's, and the home directory as a project is still the home.
    let case = Case { home: Some(path("/")), ..case };
    assert_eq!(case.verdicts("file_write", Effect::Writes, &write("/w/.bashrc")), "a?a");
    let case = Case { home: Some(path("/w")), ..case };
    assert_eq!(case.verdicts("file_write", Effect::Writes, &write("/w/.bashrc")), "???");
    let case = Case { confinement: WHOLE, home: Some(path("/home/me")), ..case };
    assert_eq!(case.verdicts("bash", Effect::Executes, &run("echo x >> ~/.bash_profile")), "a?a");
}

#[test]
fn a_line_that_the_user_typed_runs() {
    let case = Case { rules: rules(&["bash(git *)"], &[], &[]), ..Case::new() };
    let roots = [path("/w")];
    for (line, runs) in [("git push", true), ("rm -rf x", true), ("cat ~/.ssh/id", true), ("rm -rf /", false)]
    {
        let accesses = run(line);
        let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &accesses, roots: &roots };
        let decision = case.with_policy(PermissionMode::Argus, |policy| decide_for_user(policy, &subject));
        assert_eq!(matches!(decision, Decision::Allow { .. }), runs, "{line}");
    }
}

#[test]
fn a_fetch_asks_once_for_each_host_and_a_search_goes_to_the_chosen_provider() {
    let fetch = |url: &str| vec![Resolved::new(Access::Fetch(url.to_owned()), None, Dialect::Bash)];
    let call = Access::Call { function: "web_search".to_owned(), read_only: true };
    let search = vec![Resolved::new(call, None, Dialect::Bash)];
    let case = Case::new();
    assert_eq!(case.verdicts("web_search", Effect::Reads, &search), "a?a");
    let page = fetch("https://docs.rs/a?b=c");
    assert_eq!(case.verdicts("web_fetch", Effect::Reads, &page), "??a");
    for mode in [Mode::Plan, Mode::Ask] {
        let case = Case { mode, ..Case::new() };
        assert_eq!(case.verdicts("web_search", Effect::Reads, &search), "a?a", "{mode:?}");
        assert_eq!(case.verdicts("web_fetch", Effect::Reads, &page), "??a", "{mode:?}");
    }
    let question =
        |url: &str| match case.decide(PermissionMode::Guardian, "web_fetch", Effect::Reads, fetch(url)) {
            Decision::Ask { question, .. } => question,
            other => panic!("{other:?}"),
        };
    assert_eq!(
        question("https://docs.rs/a?b=c"),
        "Fetch `https://docs.rs/a?b=c` from docs.rs? The host receives this URL."
    );
    let long = format!("https://evil.example/?{}", "k".repeat(300));
    assert!(question(&long).contains(&format!("{}` (322 bytes) from evil.example?", &long[300..])));
    assert!(question("http://192.0.2.7/").starts_with("Fetch `http://192.0.2.7/`?"));
    // An answer covers the host on any path, and no other host or tool.
    let roots = [path("/w")];
    let subject = |accesses| Subject { tool: "web_fetch", effect: Effect::Reads, accesses, roots: &roots };
    let granted = scope(&subject(&page), case.confinement);
    assert_eq!(label(&granted), "fetching from docs.rs in this session");
    case.grants.remember(granted, true);
    for (url, expected) in [
        ("https://docs.rs/other", "aaa"),
        ("http://DOCS.RS:8080/", "aaa"),
        ("https://a.docs.rs/", "??a"),
        ("https://docs.rs.evil.example/", "??a"),
        ("https://rs/", "??a"),
    ] {
        assert_eq!(case.verdicts("web_fetch", Effect::Reads, &fetch(url)), expected, "{url}");
    }
    assert_eq!(case.verdicts("web_crawl", Effect::Reads, &page), "aaa");
    // A host without a name is remembered by the whole URL.
    let address = fetch("http://192.0.2.7/a");
    let granted = scope(&subject(&address), case.confinement);
    assert_eq!(label(&granted), "fetching exactly this URL in this session");
    case.grants.remember(granted, true);
    assert_eq!(case.verdicts("web_fetch", Effect::Reads, &address), "aaa");
    assert_eq!(case.verdicts("web_fetch", Effect::Reads, &fetch("http://192.0.2.7/b")), "??a");
    // A refused host stays refused.
    case.grants.remember(scope(&subject(&fetch("https://evil.example/")), case.confinement), false);
    assert_eq!(case.verdicts("web_fetch", Effect::Reads, &fetch("https://evil.example/x")), "ddd");
}

#[test]
fn a_file_that_makes_or_controls_a_repository_asks() {
    let case = Case::new();
    for file in ["/w/x/HEAD", "/w/x/.git", "/w/x/head"] {
        assert_eq!(case.verdicts("file_write", Effect::Writes, &write(file)), "???", "{file}");
    }
    let config = || write("/w/x/config").remove(0);
    assert_eq!(case.verdicts("file_write", Effect::Writes, &[config()]), "a?a");
    let controls = Resolved { controls_git: true, ..config() };
    assert_eq!(case.verdicts("file_write", Effect::Writes, &[controls]), "???");
}

/// Spellings of one command, as a model of what a shell and the program make of them.
mod spellings {
    use super::*;
    use proptest::prelude::*;

    /// A program, options that may precede its subcommand, and the subcommand.
    const COMMANDS: &[(&str, &[&str], &str)] = &[
        (
            "git",
            &[
                "-C .",
                "-c a.b=c",
                "--no-pager",
                "-p",
                "--git-dir=.git",
                "--git-dir .git",
                "--work-tree=.",
                "--bare",
                "--namespace=x",
                "--exec-path=/x",
                "--literal-pathspecs",
                "--unknown=x",
                "--unknown",
            ],
            "commit",
        ),
        ("docker", &["--context d", "--context=d", "-H tcp://x:1", "-D", "--config c", "--unknown d"], "run"),
        (
            "kubectl",
            &["-n x", "--namespace=x", "--context c", "-v 9", "--as me", "--unknown", "-s=h"],
            "apply",
        ),
        ("npm", &["--prefix web", "-C web", "--silent", "-s", "--registry=h", "--unknown x"], "publish"),
        ("pnpm", &["--dir x", "-r", "--filter a", "-w", "--unknown"], "add"),
        ("cargo", &["-q", "--locked", "--color never", "-Z x", "--config a=b", "+nightly"], "install"),
        ("gh", &["-R a/b", "--repo=a/b", "--unknown"], "repo"),
        ("systemctl", &["--user", "-q", "-H h", "--root=/x", "--unknown"], "restart"),
    ];

    fn wrapped(command: &str, wrapper: usize) -> String {
        match wrapper {
            1 => format!("env A=b {command}"),
            2 => format!("nice -n 5 {command}"),
            3 => format!("timeout 5 {command}"),
            4 => format!("command {command}"),
            5 => format!("sh -c \"{command}\""),
            6 => format!("echo x | xargs {command}"),
            7 => format!("sudo {command}"),
            8 => format!("(cd . && {command})"),
            9 => format!("true; {command} &"),
            10 => format!("! {command}"),
            11 => format!("A=b {command}"),
            12 => format!("if true; then {command}; fi"),
            13 => format!("nohup setsid {command} > /dev/null"),
            14 => format!("eval {command}"),
            15 => format!("find . -exec {command} \\;"),
            16 => format!("exec {command}"),
            17 => format!("sh <<E\n{command}\nE"),
            18 => format!("f() {{ {command}; }}; f"),
            19 => format!("for a in b; do {command}; done"),
            20 => format!("echo $({command})"),
            21 => format!("cat <({command})"),
            22 => format!("env -S '{command}'"),
            23 => format!("bash -lc '{command}'"),
            24 => format!("watch -n1 {command}"),
            25 => format!("echo \"`{command}`\""),
            26 => format!("[[ -n $({command}) ]]"),
            27 => format!("stdbuf -oL {command}"),
            28 => format!("flock /tmp/l {command}"),
            29 => format!("bash -c 'sh -c \"{command}\"'"),
            30 => format!("{command} | cat"),
            31 => format!("ls\n{command}"),
            32 => format!("trap '{command}' EXIT"),
            33 => format!("echo '{command}' | sh"),
            34 => format!("busybox sh -c '{command}'"),
            35 => format!("coproc {command}"),
            _ => command.to_owned(),
        }
    }

    fn quoted(word: &str, how: usize) -> String {
        let (first, rest) = word.split_at(1);
        match how {
            1 => format!("'{word}'"),
            2 => format!("{first}'{rest}'"),
            3 => format!("\\{word}"),
            4 => format!("{first}\\{rest}"),
            _ => word.to_owned(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_denial_holds_for_every_spelling_and_tool(
            (which, wrapper, tool) in (0..COMMANDS.len(), 0..37_usize, 0..4_usize),
            options in prop::collection::vec(0..16_usize, 0..3),
            (path, quotes, quotes_of_subcommand) in (any::<bool>(), 0..5_usize, 0..5_usize),
        ) {
            let (program, known, subcommand) = COMMANDS[which];
            let rule = format!("bash({program} {subcommand}*)");
            let case = Case { rules: rules(&[&rule], &[], &[]), ..Case::new() };
            let options: Vec<_> = options.iter().map(|at| known[at % known.len()]).collect();
            let program = if path { format!("/usr/bin/{program}") } else { quoted(program, quotes) };
            let words = [&[program.as_str()][..], &options, &[&quoted(subcommand, quotes_of_subcommand), "x"]];
            let line = wrapped(&words.concat().join(" "), wrapper);
            let tool = ["bash", "shell", "shell_start", "ide_terminal"][tool];
            let verdicts = case.verdicts(tool, Effect::Executes, &run(&line));
            prop_assert!(!verdicts.contains('a'), "{}: {}", line, verdicts);
        }
    }

    /// What a shell runs beside `echo a` in each of these lines.
    const BESIDE: &[&str] = &[
        "echo a; touch b",
        "echo a && touch b",
        "echo a || touch b",
        "echo a | tee b",
        "echo a & touch b",
        "echo a\ntouch b",
        "echo $(touch b)",
        "echo `touch b`",
        "echo \"$(touch b)\"",
        "echo a > b",
        "echo a >> b",
        "echo a 2> b",
        "echo a &> b",
        "echo a >| b",
        "echo <(touch b)",
        "echo a; (touch b)",
        "{ echo a; touch b; }",
        "echo ${X:=$(touch b)}",
        "echo $((a[$(touch b)]))",
        "echo a | xargs touch",
        "PATH=. echo a; touch b",
        "echo() { touch b; }; echo a",
        "alias echo=touch; echo b",
        "sudo echo a",
        "echo a <<E\n$(touch b)\nE",
        "if echo a; then touch b; fi",
        "while touch b; do echo a; done",
        "echo a; . b",
        "time touch b",
        "! touch b",
        "coproc touch b",
        "echo a \\\n; touch b",
        "echo a #\ntouch b",
        "echo 'a'\"'\"; touch b",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn what_runs_beside_an_allowed_command_asks(
            (which, wrapper, tool) in (0..BESIDE.len(), 0..14_usize, 0..4_usize),
        ) {
            let case = Case { rules: rules(&[], &[], &["bash(echo *)", "bash(cd *)", "bash(true)"]), ..Case::new() };
            let tool = ["bash", "shell", "shell_start", "ide_terminal"][tool];
            let line = if wrapper == 11 { BESIDE[which].to_owned() } else { wrapped(BESIDE[which], wrapper) };
            let verdicts = case.verdicts(tool, Effect::Executes, &run(&line));
            prop_assert!(!verdicts.starts_with('a'), "{}: {}", line, verdicts);
        }

        #[test]
        fn a_denied_file_is_denied_in_every_spelling(
            parts in prop::collection::vec(0..6_usize, 0..4),
            (tool, upper) in (0..5_usize, any::<bool>()),
        ) {
            let case = Case { rules: rules(&["file_write(sub/*)"], &[], &[]), ..Case::new() };
            let before: String = parts.iter().map(|at| ["./", "a/../", ".//", "sub/../", "a/b/../../", ""][*at]).collect();
            let folder = if upper { "SUB" } else { "sub" };
            let file = path("/w").join(format!("{before}{folder}/c"));
            let accesses = vec![Resolved::new(Access::Write(file), None, Dialect::Bash)];
            let tool = ["file_write", "file_edit", "apply_patch", "ide_write_file", "ide_edit"][tool];
            prop_assert_eq!(case.verdicts(tool, Effect::Writes, &accesses), "ddd");
        }
    }
}

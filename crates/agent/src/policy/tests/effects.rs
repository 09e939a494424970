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

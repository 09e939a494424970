use super::*;

#[track_caller]
fn known(line: &str, expected: &[&str]) {
    match parse(line, Dialect::Bash) {
        Shell::Commands(commands) => {
            assert_eq!(commands.iter().map(SimpleCommand::line).collect::<Vec<_>>(), expected, "{line}");
        }
        Shell::Unknown { why, .. } => panic!("{line}: {why}"),
    }
}

#[track_caller]
fn unknown_to(dialect: Dialect, line: &str, seen_one: &str) {
    match parse(line, dialect) {
        Shell::Commands(commands) => panic!("{line}: taken as {commands:?}"),
        Shell::Unknown { seen, .. } => {
            assert!(seen.iter().any(|c| c.line() == seen_one), "{line}: {seen:?}");
        }
    }
}

#[track_caller]
fn unknown(line: &str, seen_one: &str) {
    unknown_to(Dialect::Bash, line, seen_one);
}

#[test]
fn lists_simple_commands() {
    known("ls -la", &["ls -la"]);
    known("cd x && rm -rf y; pwd || true", &["cd x", "rm -rf y", "pwd", "true"]);
    known("git log | head -5", &["git log", "head -5"]);
    known("(ls; pwd)", &["ls", "pwd"]);
    known("if true; then ls; fi", &["true", "ls"]);
    known("echo 'a b' \"c d\" e\\ f", &["echo a b c d e f"]);
    known("ls 2>/dev/null 2>&1", &["ls"]);
    known("a\nb # c", &["a", "b"]);
    known("\\rm r''m \"r\"m", &["rm rm rm"]);
}

#[test]
fn takes_wrappers_off() {
    known("sudo -u root rm -rf x", &["rm -rf x"]);
    known("timeout -k 1 5 nice -n 3 cargo test", &["cargo test"]);
    known("bash -lc 'ls && git push --force'", &["ls", "git push --force"]);
    known("nohup /usr/bin/env rm -r x", &["rm -r x"]);
    known("command rm -r x", &["rm -r x"]);
    known("busybox rm -r x", &["rm -r x"]);
    known("find . -exec rm -r {} \\;", &["rm -r {}", "find . -exec rm -r {} ;"]);
    // The wrapper has an unknown option, so each word may begin the command.
    unknown("nice --what 3 rm -r x", "rm -r x");
    unknown("watch -n1 rm -r x", "rm -r x");
    unknown("flock /tmp/l -c 'rm -r x'", "rm -r x");
    unknown("ls | xargs -n1 rm", "rm …");
}

#[test]
fn words_around_a_redirection_keep_their_order() {
    for line in [
        ">f rm -r x",
        "rm >f -r x",
        ">f rm >g -r x",
        "rm -r >f x",
        ">f >g rm -r x",
        "rm -r x >f",
        ">f sudo rm -r x",
    ] {
        let (Shell::Commands(commands) | Shell::Unknown { seen: commands, .. }) = parse(line, Dialect::Bash);
        assert!(commands.iter().any(|command| command.line() == "rm -r x"), "{line}: {commands:?}");
    }
}

#[test]
fn sees_writes_by_redirection() {
    for (line, writes) in [
        ("echo x > a.txt", vec!["a.txt"]),
        ("echo x >> a.txt 2> b", vec!["a.txt", "b"]),
        ("echo x &> c", vec!["c"]),
        ("ls > /dev/null", vec![]),
        ("> t", vec!["t"]),
    ] {
        let Shell::Commands(commands) = parse(line, Dialect::Bash) else { panic!("{line}") };
        assert_eq!(commands[0].writes, writes, "{line}");
    }
    let Shell::Commands(commands) = parse("cat < a.txt", Dialect::Bash) else { panic!() };
    assert_eq!(commands[0].reads, ["a.txt"]);
}

#[test]
fn does_not_know_what_is_only_known_at_run_time() {
    unknown("rm -rf $HOME", "rm -rf $HOME");
    unknown("echo $(rm -rf x)", "rm -rf x");
    unknown("echo `rm x`", "rm x");
    unknown("X=1 ls", "ls");
    unknown("for f in *; do rm $f; done", "rm $f");
    unknown("find . | xargs rm", "rm …");
    unknown("sleep 100 &", "sleep 100");
    unknown("eval 'rm x'", "rm x");
    unknown("diff <(ls a) <(ls b)", "ls a");
    unknown("f() { rm x; }; f", "rm x");
    unknown("bash -c 'rm $X'", "rm $X");
    unknown("ls \"$(rm x)\"", "rm x");
    unknown("cat <<E\n$(rm x)\nE", "rm x");
    unknown("cat <<E | rm -r x\na\nE", "rm -r x");
    unknown("{rm,-rf,x}", "rm -rf x");
    unknown("[ a && rm -r x ]", "rm -r x ]");
    // Subscripts are evaluated, quoted or not.
    unknown("[[ 'a[$(rm -r x)]' -eq 1 ]]", "rm -r x");
    unknown("test -v 'a[$(rm -r x)]'", "rm -r x");
    unknown("let 'a[$(rm -r x)]=1'", "rm -r x");
    unknown("X=rm; $X -rf dir", "rm -rf dir");
    unknown("rm${IFS}-rf${IFS}x", "rm -rf x");
    unknown("bash -o pipefail -c 'rm -r x'", "rm -r x");
    assert!(matches!(parse("ls (", Dialect::Bash), Shell::Unknown { .. }));
    assert!(matches!(parse(&"(".repeat(10_000), Dialect::Bash), Shell::Unknown { .. }));
}

#[test]
fn p01_what_shells_read_differently_is_unknown_where_the_shell_is() {
    for line in [
        "ls &>/dev/null",
        "ls &>>x",
        "ls |& cat",
        "ls >& x",
        "cat <<< x",
        "a=(1 2)",
        "[[ -f x ]]",
        "(( 1 ))",
        "echo $'a'",
        "diff <(ls) x",
        "echo {a,b}",
        "function f { ls; }",
        "coproc ls",
        "select x in a; do ls; done",
        "time ls",
        "echo !(a)",
        "declare x=1",
        "sh -c 'ls &>/dev/null cat x'",
    ] {
        assert!(matches!(parse(line, Dialect::Unknown), Shell::Unknown { .. }), "{line}");
    }
    for line in ["ls 2>&1 | head -3", "ls > x 2>/dev/null && cat x || true", "if test -f x; then cat x; fi"] {
        assert!(matches!(parse(line, Dialect::Unknown), Shell::Commands(_)), "{line}");
    }
    assert!(matches!(parse("ls &>/dev/null", Dialect::Bash), Shell::Commands(_)));
    // Bash's reading of a line for `sh` differs from that of `sh`.
    assert!(matches!(parse("sh -c 'ls &>/dev/null'", Dialect::Bash), Shell::Unknown { .. }));
}

#[test]
fn p01_a_denial_is_seen_in_the_other_reading_too() {
    for line in [
        "ls &>/dev/null rm -rf dir",
        "sh -c 'ls &>/dev/null rm -rf dir'",
        "ls |& rm -rf dir",
        "((rm -rf dir))",
        "[[ a && rm -rf dir ]]",
        "echo $'a\\'; rm -rf dir; echo \\''",
        "coproc rm -rf dir",
        "X=rm; $X -rf dir &>/dev/null",
    ] {
        let seen = parse(line, Dialect::Unknown);
        let denied =
            |command: &SimpleCommand| command.program() == "rm" && command.line().contains("-rf dir");
        assert!(seen.commands().iter().any(denied), "{line}: {seen:?}");
    }
}

//! Command lines that are known to evade such rules, as data. The files in this directory state the
//! expected result for each line.

use super::{
    Access, CommandConfinement, Decision, Dialect, Effect, Grants, Mode, PermissionMode, Policy,
    PolicySettings, Resolved, Shell, Subject, decide, scope, shell,
};
use crate::Lifetime;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use system::{AbsPath, SandboxLevel};

const COMPOUND: &str = include_str!("compound.txt");
const ESCAPES: &str = include_str!("escapes.txt");
const EVERYDAY: &str = include_str!("everyday.txt");
const WHOLE: CommandConfinement = CommandConfinement::Sandbox {
    level: SandboxLevel::WorkspaceWrite,
    network: system::Network::Off,
    holds: true,
    at: system::Route::Local,
};

fn lines(file: &str) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.replace("\\n", "\n")).collect()
}

fn execute(line: &str) -> Vec<Resolved> {
    let cwd = AbsPath::new("/w").unwrap();
    let command = line.to_owned();
    let access =
        Access::Execute { command, cwd, unconfined: false, reason: None, lifetime: Lifetime::Session };
    vec![Resolved::new(access, None, Dialect::Bash)]
}

fn verdict(
    line: &str,
    permission_mode: PermissionMode,
    confinement: CommandConfinement,
    grants: &Grants,
) -> Decision {
    let roots = [AbsPath::new("/w").unwrap()];
    let accesses = execute(line);
    let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &accesses, roots: &roots };
    let policy = Policy {
        mode: Mode::Edit,
        permission_mode,
        settings: PolicySettings {
            allowed_paths: &[],
            blocked_paths: &[],
            denied_tools: &[],
            rules: &super::PermissionRules::default(),
            own: &[],
            home: None,
            memories_trusted: false,
            folder: None,
        },
        readable: Vec::new(),
        temp: None,
        grants,
        confinement,
        apart: false,
    };
    decide(&policy, &subject)
}

fn passes(line: &str, confinement: CommandConfinement, grants: &Grants) -> bool {
    matches!(verdict(line, PermissionMode::Guardian, confinement, grants), Decision::Allow { .. })
}

#[test]
fn s13_no_compound_form_of_an_allowed_prefix_passes() {
    let roots = [AbsPath::new("/w").unwrap()];
    let allowed = execute("echo a");
    let subject = Subject { tool: "bash", effect: Effect::Executes, accesses: &allowed, roots: &roots };
    let grants = Grants::default();
    let prefix =
        super::grants::Grant::CommandPrefix { place: super::grants::Place::Local, words: "echo".to_owned() };
    grants.remember(vec![prefix], true);
    grants.remember(scope(&subject, CommandConfinement::Off), true);
    assert!(passes("echo a", CommandConfinement::Off, &grants));
    let lines = lines(COMPOUND);
    assert!(lines.len() >= 60, "{}", lines.len());
    for line in lines {
        assert!(!passes(&line, CommandConfinement::Off, &grants), "{line}");
    }
}

#[test]
fn everyday_commands_ask_in_eight_of_a_hundred_cases_at_most_where_the_sandbox_holds() {
    let lines = lines(EVERYDAY);
    assert!(lines.len() >= 120, "{}", lines.len());
    let asks: Vec<_> = lines.iter().filter(|line| !passes(line, WHOLE, &Grants::default())).collect();
    println!("{} of {} ask: {asks:#?}", asks.len(), lines.len());
    assert!(asks.len() * 100 <= lines.len() * 8, "{asks:#?}");
    let unconfined =
        lines.iter().filter(|line| !passes(line, CommandConfinement::Delegated, &Grants::default()));
    println!("{} of {} ask where nothing confines", unconfined.count(), lines.len());
}

#[test]
fn s17_s18_no_program_that_runs_or_writes_passes_without_a_sandbox() {
    let lines = lines(ESCAPES);
    assert!(lines.len() >= 150, "{}", lines.len());
    for line in lines {
        assert!(!passes(&line, CommandConfinement::Off, &Grants::default()), "{line}");
        assert!(!passes(&line, CommandConfinement::Delegated, &Grants::default()), "{line}");
    }
}

#[test]
fn s15_expansions_are_unknown() {
    for line in [
        "echo ${v@P}",
        "echo ${v:=x}",
        "echo ${!v}",
        "echo $(echo $(id))",
        "ls ${a[$(id)]}",
        "echo $((a[$(id)]))",
    ] {
        assert!(matches!(shell::parse(line, Dialect::Bash), Shell::Unknown { .. }), "{line}");
        assert!(!passes(line, CommandConfinement::Off, &Grants::default()), "{line}");
    }
}

#[test]
fn s16_variables_of_later_commands_ask() {
    for line in [
        "export PAGER=./x",
        "GIT_SSH_COMMAND=./x git status",
        "LD_PRELOAD=./x ls",
        "X=1",
        "declare -x A=b",
        "typeset A=b",
        "env A=b ls",
    ] {
        assert!(!passes(line, CommandConfinement::Off, &Grants::default()), "{line}");
    }
}

#[test]
fn s14_a_cap_never_weakens_a_denial() {
    let long = format!("{}rm -rf /", "true; ".repeat(10_000));
    let padded = format!("{}rm -rf /", "true; ".repeat(20_000));
    let nested = format!("{} rm -rf / {}", "(".repeat(5000), ")".repeat(5000));
    let head = format!("rm -rf / {}", "&& true ".repeat(5000));
    let scripts =
        (0..12).fold("rm -rf /".to_owned(), |inner, _| format!("sh -c '{}'", inner.replace('\'', "'\\''")));
    for line in [long, padded, nested, head, scripts] {
        for mode in PermissionMode::ALL {
            let said = verdict(&line, mode, WHOLE, &Grants::default());
            assert!(matches!(said, Decision::Deny { .. }), "{mode:?}: {}", &line[..40]);
        }
    }
}

#[test]
fn patterns_that_may_name_a_secret_ask() {
    for line in ["cat .e*", "cat *", "cat src/?env", "head [.]env", "cat a.p[e]m", "cat *.env", "cat .en\\v"]
    {
        assert!(!passes(line, CommandConfinement::Off, &Grants::default()), "{line}");
    }
    for line in ["cat *.rs", "ls src/*.toml", "grep 'fo*' a", "find . -name '*'"] {
        assert!(passes(line, CommandConfinement::Off, &Grants::default()), "{line}");
    }
}

/// Every tool call waits for its decision. The bounds are those of the release build, times ten for
/// the test build.
#[test]
fn a_decision_is_quick() {
    const QUICK: Duration = Duration::from_millis(10);
    // The minimum of runs, because other processes use this machine too, for seconds at times.
    let quickest = |decides: &dyn Fn()| {
        let mut quickest = Duration::MAX;
        for run in 0..1_000 {
            if run >= 20 && quickest < QUICK {
                break;
            }
            let start = Instant::now();
            decides();
            quickest = quickest.min(start.elapsed());
        }
        quickest
    };
    let files = "src/some/file.rs ".repeat(59);
    let lines = [
        ("known", format!("cat -n {files}")),
        ("unknown", format!("X=rm; cat -n $X {files} &>x <<E\nE")),
        ("of git", format!("git -C . log --oneline -- {files}")),
    ];
    for (name, line) in &lines {
        let took = quickest(&|| {
            drop(verdict(line, PermissionMode::Guardian, CommandConfinement::Off, &Grants::default()))
        });
        println!("{name}, {} bytes: {took:?}", line.len());
        assert!(took < QUICK, "{name}: {took:?}");
    }
    let file = AbsPath::new("/w/a/deep/folder/of/the/project/file.rs").unwrap();
    let accesses = [Resolved::new(Access::Write(file.clone()), Some(file), Dialect::Bash)];
    let roots = [AbsPath::new("/w").unwrap()];
    let subject = Subject { tool: "file_write", effect: Effect::Writes, accesses: &accesses, roots: &roots };
    let (grants, rules) = (Grants::default(), super::PermissionRules::default());
    let policy = Policy {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        settings: PolicySettings {
            allowed_paths: &[],
            blocked_paths: &[],
            denied_tools: &[],
            rules: &rules,
            own: &[],
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
    let took = quickest(&|| drop(decide(&policy, &subject)));
    println!("a file: {took:?}");
    assert!(took < Duration::from_micros(500), "{took:?}");
}

/// A word of a generated line: mostly such that it does not by itself make the line unknown.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,5}",
        1 => "'[a-z ;&|$`]{0,6}'",
        1 => "\"[a-z ;&|]{0,6}\"",
        1 => "-[a-z]",
        1 => "\\\\[;&|a-z ]",
    ]
}

fn simple() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..4).prop_map(|words| format!("ls {}", words.join(" ")))
}

fn line() -> impl Strategy<Value = String> {
    let joint = prop::sample::select(vec![
        "; ", " && ", " || ", " | ", "\n", ";", "&&", "|", " & ", "\\\n", " #", "\r\n", "\t",
    ]);
    (simple(), prop::collection::vec((joint, simple()), 0..4))
        .prop_map(|(first, rest)| rest.into_iter().fold(first, |line, (joint, next)| line + joint + &next))
}

/// Returns the number of words of each command according to another parser; `None` if it cannot
/// parse the line.
fn second_opinion(line: &str) -> Option<Vec<usize>> {
    use brush_parser::ast::{Command, CommandPrefixOrSuffixItem};
    let mut parser = brush_parser::Parser::new(
        std::io::Cursor::new(line.to_owned()),
        &brush_parser::ParserOptions::default(),
    );
    let program = parser.parse_program().ok()?;
    let mut found = Vec::new();
    for item in program.complete_commands.iter().flat_map(|list| &list.0) {
        for (_, pipeline) in &item.0 {
            for command in &pipeline.seq {
                let Command::Simple(simple) = command else { return None };
                let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
                let words = suffix.filter(|item| matches!(item, CommandPrefixOrSuffixItem::Word(_))).count();
                found.push(usize::from(simple.word_or_name.is_some()) + words);
            }
        }
    }
    Some(found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_safe_is_read_the_same_way_by_another_parser(line in line()) {
        if let Shell::Commands(commands) = shell::parse(&line, Dialect::Bash) {
            let ours: Vec<_> = commands.iter().map(|command| command.words.len()).collect();
            let theirs = second_opinion(&line);
            prop_assert_eq!(Some(ours), theirs, "{:?}", line);
        }
    }

    #[test]
    fn no_line_breaks_the_reader(line in "[ -~\n\t\r\\u{0}é]{0,80}") {
        let _ = shell::parse(&line, Dialect::Bash);
        let _ = verdict(&line, PermissionMode::Guardian, WHOLE, &Grants::default());
    }
}

//! Prompts as users write them, and the steps they are parsed into.

use super::super::{
    parse::{Parsed, parse},
    progress::Prompt,
    step::Step,
};

pub(super) fn parse_piece(text: &str) -> Parsed {
    parse(&Prompt { text: text.to_owned(), ..Prompt::default() })
}

fn steps(text: &str) -> Vec<Box<dyn Step>> {
    match parse_piece(text) {
        Parsed::Work { steps, .. } => steps,
        other => panic!("{text:?} was read as {other:?}"),
    }
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let output: Vec<String> = steps(text).iter().map(|step| step.describe()).collect();
        assert_eq!(output.join(" | "), *expected, "{text:?}");
    }
}

#[test]
fn shows() {
    check(&[
        ("show src/main.rs", "show `src/main.rs`"),
        ("Show the file src/main.rs.", "show `src/main.rs`"),
        ("please read README", "show `README`"),
        ("open Cargo.toml", "show `Cargo.toml`"),
        ("PRINT a.txt", "show `a.txt`"),
        ("cat ./a.txt", "show `./a.txt`"),
        ("show me the contents of a.txt", "show `a.txt`"),
        ("could you show me a.txt please?", "show `a.txt`"),
        ("look at @src/lib.rs", "show `src/lib.rs`"),
        ("what is in notes.md?", "show `notes.md`"),
        ("show 'my notes.md'", "show `my notes.md`"),
        ("show \"C:\\new\\table.txt\"", "show `C:\\new\\table.txt`"),
        ("show `größe/über.txt`", "show `größe/über.txt`"),
        ("show größe.txt", "show `größe.txt`"),
        ("show src/main.rs lines 1-20", "show `src/main.rs` lines 1-20"),
        ("show src/main.rs lines 1 to 20", "show `src/main.rs` lines 1-20"),
        ("show src/main.rs lines 3–9", "show `src/main.rs` lines 3-9"),
        ("show lines 3-9 of src/main.rs", "show `src/main.rs` lines 3-9"),
        ("show line 3 of a.rs", "show `a.rs` line 3"),
        ("show a.rs line 3", "show `a.rs` line 3"),
        ("read the first 10 lines of a.rs", "show `a.rs` lines 1-10"),
        ("show a.rs first 10 lines", "show `a.rs` lines 1-10"),
        ("show a.rs from line 4 to 6", "show `a.rs` lines 4-6"),
        ("show a.rs:4-6", "show `a.rs` lines 4-6"),
        ("show a.rs:4", "show `a.rs` line 4"),
        ("show a.rs, b.rs and c.rs", "show `a.rs`, `b.rs`, `c.rs`"),
        ("show [@a.rs](file:///work/a%20b.rs)", "show `/work/a b.rs`"),
        ("hello, show a.rs", "show `a.rs`"),
    ]);
}

#[test]
fn edits() {
    check(&[
        ("replace foo with bar in a.rs", "replace 'foo' with 'bar' in `a.rs`"),
        ("Replace 'foo' by 'bar' in the file a.rs.", "replace 'foo' with 'bar' in `a.rs`"),
        ("replace `it's` with \"it is\" in a.rs", "replace 'it's' with 'it is' in `a.rs`"),
        ("replace \"print(\"x\")\" with 'y' in a.rs", "replace 'print(\"x\")' with 'y' in `a.rs`"),
        ("replace hello world with good day in a.txt", "replace 'hello world' with 'good day' in `a.txt`"),
        ("replace 'a' with 'b' in a.rs everywhere", "replace 'a' with 'b' everywhere in `a.rs`"),
        ("replace all 'a' with 'b' in a.rs", "replace 'a' with 'b' everywhere in `a.rs`"),
        ("replace every occurrence of 'a' with 'b' in a.rs", "replace 'a' with 'b' everywhere in `a.rs`"),
        ("change 'a' to 'b' in a.rs", "replace 'a' with 'b' in `a.rs`"),
        ("in a.rs, replace 'a' with 'b'", "replace 'a' with 'b' in `a.rs`"),
        ("edit a.rs: change 'a' to 'b'", "replace 'a' with 'b' in `a.rs`"),
        ("replace 'a' in a.rs with 'b'", "replace 'a' with 'b' in `a.rs`"),
        ("substitute 'new' for 'old' in a.rs", "replace 'old' with 'new' in `a.rs`"),
        ("replace \"a\\tb\" with 'x in y' in a.rs", "replace 'a\tb' with 'x in y' in `a.rs`"),
        ("replace 'größer' with '更大' in ü.txt", "replace 'größer' with '更大' in `ü.txt`"),
        (
            "replace\n```\nold\n```\nwith\n```\nnew\nlines\n```\nin a.rs",
            "replace 'old' with 'new⏎lines' in `a.rs`",
        ),
        ("remove 'debug' from a.rs", "remove 'debug' from `a.rs`"),
        ("delete all 'x' in a.rs", "remove 'x' everywhere from `a.rs`"),
        ("rename symbol greet to welcome in src", "rename symbol `greet` to `welcome` in `src`"),
        ("rename symbol greet to welcome", "rename symbol `greet` to `welcome` in the project"),
        (
            "rename the function greet to welcome in src/main.rs",
            "rename symbol `greet` to `welcome` in `src/main.rs`",
        ),
        ("Rename greet to welcome in the src folder", "rename symbol `greet` to `welcome` in `src`"),
        (
            "rename variable `größe` to `size` in the whole project",
            "rename symbol `größe` to `size` in the project",
        ),
        ("append '- milk' to notes.md", "append '- milk' to `notes.md`"),
        ("append the line 'x' to the end of a.txt", "append 'x' to `a.txt`"),
        ("add 'x' to a.txt", "append 'x' to `a.txt`"),
        ("add 'x' to the top of a.txt", "insert 'x' at the start of `a.txt`"),
        ("prepend 'x' to a.txt", "insert 'x' at the start of `a.txt`"),
        ("insert 'x' before line 3 in a.txt", "insert 'x' before line 3 in `a.txt`"),
        ("insert 'x' after line 3 of a.txt", "insert 'x' after line 3 in `a.txt`"),
        ("insert 'x' at line 3 in a.txt", "insert 'x' before line 3 in `a.txt`"),
        ("insert 'x' after 'use b;' in a.txt", "insert 'x' after the line with 'use b;' in `a.txt`"),
        (
            "insert 'x' before the line containing 'b' in a.txt",
            "insert 'x' before the line with 'b' in `a.txt`",
        ),
        ("insert 'x' at the end of a.txt", "append 'x' to `a.txt`"),
        ("delete line 3 in a.txt", "delete line 3 in `a.txt`"),
        ("remove lines 3-5 from a.txt", "delete lines 3-5 in `a.txt`"),
    ]);
}

#[test]
fn files_searches_and_commands() {
    check(&[
        ("create a.txt with 'hello'", "create `a.txt` (1 line(s))"),
        ("create a new file called a.txt containing \"a\\nb\"", "create `a.txt` (2 line(s))"),
        ("create an empty file a.txt", "create `a.txt` (0 line(s))"),
        ("write 'hello' to a.txt", "create `a.txt` (1 line(s))"),
        ("create a.txt with:\n```rust\nfn a() {}\n\nfn b() {}\n```", "create `a.txt` (3 line(s))"),
        ("create file a.txt with the following content:\n```\nx; then y\n```", "create `a.txt` (1 line(s))"),
        ("overwrite a.txt with 'x'", "overwrite `a.txt` (1 line(s))"),
        ("delete a.txt", "delete `a.txt`"),
        ("remove the file 'a b.txt'", "delete `a b.txt`"),
        ("move a.txt to b/c.txt", "move `a.txt` to `b/c.txt`"),
        ("rename a.txt to b.txt", "move `a.txt` to `b.txt`"),
        ("move src/a.txt into docs", "move `src/a.txt` to `docs/a.txt`"),
        ("move a.txt to docs/", "move `a.txt` to `docs/a.txt`"),
        ("search for fn main", "search for 'fn main'"),
        ("search for 'fn main' in src", "search for 'fn main' in `src`"),
        ("grep TODO in *.rs", "search for 'TODO' in `*.rs`"),
        ("find 'x y' in the docs folder", "search for 'x y' in `docs`"),
        ("search in src for main", "search for 'main' in `src`"),
        ("where is greet defined?", "search for 'greet'"),
        ("list files", "list files matching `**/*`"),
        ("list files in src", "list files matching `**/*` in `src`"),
        ("list src", "list files matching `**/*` in `src`"),
        ("list files matching *.rs in src", "list files matching `**/*.rs` in `src`"),
        ("find all *.md files", "list files matching `**/*.md`"),
        ("find main.rs", "list files matching `**/main.rs`"),
        ("show all the files in src", "list files matching `**/*` in `src`"),
        ("show all files in src", "list files matching `**/*` in `src`"),
        ("run cargo test", "run `cargo test`"),
        ("Run cargo test.", "run `cargo test`"),
        ("run ls .", "run `ls .`"),
        ("execute `ls -la | wc -l`", "run `ls -la | wc -l`"),
        ("run the command 'make; make test'", "run `make; make test`"),
        ("run git commit -m \"fix; then go\" -- a.txt", "run `git commit -m \"fix; then go\" -- a.txt`"),
        ("run make && make test", "run `make && make test`"),
        ("run:\n```sh\ncd a\nls\n```", "run `cd a⏎ls`"),
        ("run echo $(date \"+%Y\") then show a.txt", "run `echo $(date \"+%Y\")` | show `a.txt`"),
        (
            "fix: apply this patch\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
            "apply the patch to `a`",
        ),
        (
            "apply this patch:\n```\n*** Begin Patch\n*** Delete File: a b\n*** End Patch\n```",
            "apply the patch to `a b`",
        ),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch", "apply the patch to `a`"),
        ("add tasks one, two and 'three, four'", "note 3 task(s)"),
        ("make a plan: read it; change it; test it", "note 3 task(s)"),
        ("make a plan:\n1. run it\n2. fix it, then test", "note 2 task(s)"),
        ("create a task 'x'", "note 1 task(s)"),
    ]);
}

#[test]
fn several_steps() {
    let two = "show `a.txt` | run `ls`";
    check(&[
        ("show a.txt then run ls", two),
        ("show a.txt, then run ls", two),
        ("show a.txt and then run ls", two),
        ("Show a.txt; run ls;", two),
        ("Show a.txt. Then run ls.", two),
        ("Show a.txt. Run ls.", two),
        ("show a.txt and run ls", two),
        ("first show a.txt, after that run ls", two),
        ("show a.txt\nrun ls", two),
        ("show a.txt\r\nrun ls\r\n".replace("\r\n", "\n").as_str(), two),
        ("Please do the following:\n1. Show a.txt\n2. Run ls", two),
        ("- show a.txt\n- finally run ls", two),
        ("1) show a.txt\n\n2) run ls\n", two),
        ("make a plan, then show a.txt, then run ls", two),
        ("with a plan: show a.txt; run ls", two),
        ("search for x and show it.rs", "search for 'x' | show `it.rs`"),
        ("create a.txt with 'then; run' then show it", "create `a.txt` (1 line(s)) | show `a.txt`"),
        (
            "show a.txt, replace 'a' with 'b' in it, run ls",
            "show `a.txt` | replace 'a' with 'b' in `a.txt` | run `ls`",
        ),
    ]);
    let plans = |text| matches!(parse_piece(text), Parsed::Work { plan: true, .. });
    assert!(plans("make a plan, then show a.txt, then run ls") && plans("with a plan: show a.txt; run ls"));
    assert!(!plans("show a.txt, then run ls") && !plans("make a plan: show a.txt, run ls"));
}

#[test]
fn unclear_prompts_are_not_started() {
    let table = [
        ("Can you explain how the parser works?", ""),
        ("refactor everything to be nicer", ""),
        ("shwo a.txt", ""),
        ("show the money", "does not look like a file"),
        ("show a.txt then make it nicer", ""),
        ("make it nicer then show a.txt", ""),
        ("replace foo in a.rs", "no `with`"),
        ("replace foo with bar", "in which file"),
        ("replace a with b with c in a.rs", "more than once"),
        ("replace 'x' with 'x' in a.rs", "the same"),
        ("replace '' with 'x' in a.rs", "empty"),
        ("replace 'x' with 'y' in *.rs", "many files"),
        ("replace 'x' y with 'z' in a.rs", "mixes"),
        ("rename symbol a-b to c in src", "is not an identifier"),
        ("rename symbol a to a in src", "the same"),
        ("show 'a.txt", "never closed"),
        ("create a.txt with\n```\nx", "never closed"),
        ("apply this patch\n*** Begin Patch\n*** Add File: a", "no line"),
        ("apply this patch:\n```\n--- a\n+++ b\n```", "must begin"),
        ("create a.txt", "with which text"),
        ("insert 'x' in a.txt", "where"),
        ("insert 'x' after line 0 in a.txt", "is not a line number"),
        ("insert 'x' after line 2-3 in a.txt", "one line"),
        ("show a.txt lines 9-3", "is not a line number"),
        ("delete foo from a.txt", "quotes"),
        ("delete everything", "does not look like a file"),
        ("run the tests", "is not a command"),
        ("run", "missing"),
        ("run echo x; echo y", ""),
        ("run if true; then ls; fi", ""),
        ("run echo this and show that", "not clear whether"),
        ("search for read and write", "not clear whether"),
        ("show it", "which file"),
        ("move a.txt to a.txt", "there already"),
        ("make a plan:", "no tasks"),
        ("show a.txt b.txt", "not one file"),
    ];
    for (text, reason) in table {
        match parse_piece(text) {
            Parsed::Unclear { parts, .. } => {
                assert!(!parts.is_empty() && parts.iter().all(|part| !part.closest.is_empty()), "{text:?}");
                let output =
                    parts.iter().filter_map(|part| part.reason.clone()).collect::<Vec<_>>().join(" ");
                assert!(output.contains(reason), "{text:?}: {output:?} has no {reason:?}");
            }
            other => panic!("{text:?} was read as {other:?}"),
        }
    }
    let near = |text| match parse_piece(text) {
        Parsed::Unclear { parts, .. } => parts[0].closest[0].form,
        other => panic!("{other:?}"),
    };
    assert!(near("shwo a.txt").starts_with("show") && near("pls serach foo").starts_with("search"));
}

#[test]
fn help_and_greetings() {
    for text in ["help", "Help!", "?", "what can you do?", "", "   \n", "How do I connect a language model?"]
    {
        assert!(matches!(parse_piece(text), Parsed::Help), "{text:?}");
    }
    for text in ["hello", "Hi!", "who are you?", "Are you a language model?", "Good morning."] {
        assert!(matches!(parse_piece(text), Parsed::Hello), "{text:?}");
    }
}

#[test]
fn long_prompts_are_bounded() {
    let many = "show a.txt\n".repeat(60);
    assert!(matches!(parse_piece(&many), Parsed::Unclear { .. }));
    let huge = "show a.txt then ".repeat(200_000);
    match parse_piece(&huge) {
        Parsed::Unclear { parts, .. } => assert!(parts.len() == 1 && parts[0].text.len() < 300),
        other => panic!("{other:?}"),
    }
    let files = format!("show {}", (0..60).map(|n| format!("{n}.txt")).collect::<Vec<_>>().join(", "));
    assert!(matches!(parse_piece(&files), Parsed::Unclear { .. }));
    // A long text in one step is accepted.
    let text = format!("create a.txt with\n```\n{}```", "some line of text\n".repeat(20_000));
    assert!(matches!(parse_piece(&text), Parsed::Work { .. }));
}

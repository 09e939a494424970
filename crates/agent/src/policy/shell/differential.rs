//! Compares the reader with real shells: generated lines run under bash and dash in a directory of
//! their own, with only programs in `PATH` that log their names. Every program that runs from a
//! line of known content must be in the reader's list.

use super::{Dialect, Shell, SimpleCommand, parse};
use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf};
use system::{AbsPath, Command, LocalSystem, System};

/// The number of generated lines.
const LINES: u64 = 5_000;
/// The number of lines that one process runs.
const BATCH: usize = 250;

/// The available programs. The first three succeed.
const PROGRAMS: [&str; 5] = ["aa", "bb", "cc", "ff", "gg"];

/// The pieces of generated lines: words, operators, and syntax that shells read differently.
const PIECES: &[&str] = &[
    "aa",
    "bb",
    "cc",
    "ff",
    "gg",
    "aa",
    "bb",
    "cc",
    "'aa'",
    "\"bb\"",
    "a\\a",
    "c''c",
    "x",
    "-y",
    "'a b'",
    "\"a;bb\"",
    "x=1",
    "aa=bb",
    "$X",
    "*",
    "?",
    "~",
    "1",
    "2",
    "-",
    "--",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    ";",
    "&&",
    "|",
    "\n",
    "&>",
    "&>>",
    ">&",
    "|&",
    ">",
    ">>",
    "<",
    "2>",
    "2>&1",
    ">|",
    "<>",
    "<<<",
    "<&-",
    ">&-",
    "/dev/null",
    "out",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "{aa,bb}",
    "a{a,b}",
    "!",
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "for x in aa bb; do",
    "while ff; do",
    "until aa; do",
    "done",
    "do",
    "case aa in",
    "aa)",
    ";;",
    ";&",
    "esac",
    "[[",
    "]]",
    "[",
    "]",
    "-f",
    "=",
    "==",
    "$'bb'",
    "$'a\\'; bb; \\''",
    "$\"cc\"",
    "$(aa)",
    "`bb`",
    "<(aa)",
    ">(cc)",
    "$((1+2))",
    "${x}",
    "function f",
    "f()",
    "select x in aa; do",
    "coproc",
    "time",
    "eval",
    "exec",
    "command",
    "builtin",
    "sh -c 'aa; bb'",
    "bash -c 'aa &>out bb'",
    "sh -c 'aa &>out bb'",
    "dash -c 'cc |& aa'",
    "sh -c",
    "true",
    "false",
    "echo",
    "test",
    "export",
    "alias",
    "aa=(bb cc)",
    "a[0]=1",
    "x+=aa",
    "#",
    "\\\n",
    "\\",
    "\\ ",
    "\\;",
    "'",
    "\"",
    "\t",
    "\r",
    "<<E",
    "<<'E'",
    "<<-E",
    "\nE\n",
    "E",
    "!(aa)",
    "@(aa|bb)",
    "+(x)",
    ".",
    "set --",
    "trap",
    "in",
    "=aa",
    "%",
    "^",
    "@",
    ":",
    "{aa",
    "aa}",
    "{}",
    "é",
    "$",
    "$$",
    "${",
    "$(",
];

/// A deterministic generator, so that a failure can be reproduced.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

fn line(numbers: &mut Numbers) -> String {
    let mut line = String::new();
    // Most pieces are plain, so that many lines are known and run.
    let plain = numbers.below(4) != 0;
    for _ in 0..2 + numbers.below(9) {
        let end = if plain && numbers.below(5) != 0 { 46 } else { PIECES.len() };
        line.push_str(PIECES[numbers.below(end)]);
        if numbers.below(5) != 0 {
            line.push(' ');
        }
    }
    line
}

fn known(line: &str, dialect: Dialect) -> Option<BTreeSet<String>> {
    match parse(line, dialect) {
        Shell::Commands(commands) => {
            Some(commands.iter().map(SimpleCommand::program).map(str::to_owned).collect())
        }
        Shell::Unknown { .. } => None,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A directory for the programs and their output; removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    #[expect(clippy::disallowed_methods, reason = "a folder of the test's own, in which real shells ran")]
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the path of a shell on this machine.
#[expect(clippy::disallowed_methods, reason = "the test is about the shells that this machine has")]
fn shell(name: &str) -> Option<String> {
    let found = ["/bin", "/usr/bin", "/usr/local/bin"].map(|folder| format!("{folder}/{name}"));
    found.into_iter().find(|path| std::fs::metadata(path).is_ok())
}

/// Returns the programs that each line runs in a real shell.
#[expect(clippy::disallowed_methods, reason = "a folder of the test's own, in which real shells run")]
async fn run(system: &LocalSystem, folder: &Folder, shell: &str, lines: &[&str]) -> Vec<BTreeSet<String>> {
    let path = folder.0.join("programs");
    let mut script = String::new();
    for (at, line) in lines.iter().enumerate() {
        let (log, path) = (folder.0.join(format!("log{at}")), path.display());
        let _ = std::fs::remove_file(&log);
        let log = log.display();
        // Only the test programs are found, and no command waits for input.
        let _ = writeln!(
            script,
            "(LOG={log} PATH={path} exec {shell} -c {}) </dev/null >/dev/null 2>&1",
            quoted(line)
        );
    }
    // Files created by one line must not affect the next.
    let cwd = folder.0.join("work");
    std::fs::create_dir_all(&cwd).unwrap();
    let cwd = AbsPath::new(cwd.to_str().unwrap()).unwrap();
    let file = folder.0.join("script");
    std::fs::write(&file, script).unwrap();
    let mut command = Command::shell(format!(". {}", file.display()), cwd, 100_000);
    command.program = "/bin/sh".to_owned();
    let mut process = system.spawn(command).await.unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(120), process.wait()).await.unwrap().unwrap();
    let said = |at| std::fs::read_to_string(folder.0.join(format!("log{at}"))).unwrap_or_default();
    (0..lines.len()).map(|at| said(at).lines().map(str::to_owned).collect()).collect()
}

#[expect(clippy::disallowed_methods, reason = "a folder of the test's own, in which real shells run")]
fn programs(bash: &str, dash: &str) -> Folder {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder(std::env::temp_dir().join(format!("tiller-shells-{}", std::process::id())));
    let path = folder.0.join("programs");
    std::fs::create_dir_all(&path).unwrap();
    for (at, name) in PROGRAMS.iter().enumerate() {
        let file = path.join(name);
        let text = format!("#!{dash}\necho \"${{0##*/}}\" >> \"$LOG\"\nexit {}\n", usize::from(at > 2));
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(bash, path.join("bash")).unwrap();
    symlink(dash, path.join("sh")).unwrap();
    symlink(dash, path.join("dash")).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn p01_what_real_shells_run_of_a_known_line_is_listed() {
    let (Some(bash), Some(dash)) = (shell("bash"), shell("dash")) else {
        println!("skipped: this machine lacks bash or dash");
        return;
    };
    let folder = programs(&bash, &dash);
    let system = LocalSystem::new();
    let mut numbers = Numbers(11);
    let lines: Vec<_> = (0..LINES).map(|_| line(&mut numbers)).collect();
    let mut wrong = Vec::new();
    let mut counts = Vec::new();
    for (dialect, shell) in [(Dialect::Bash, &bash), (Dialect::Unknown, &dash), (Dialect::Unknown, &bash)] {
        let known: Vec<_> =
            lines.iter().filter_map(|line| Some((line.as_str(), known(line, dialect)?))).collect();
        let mut ran = 0;
        for batch in known.chunks(BATCH) {
            let text: Vec<_> = batch.iter().map(|(line, _)| *line).collect();
            for ((line, listed), run) in batch.iter().zip(run(&system, &folder, shell, &text).await) {
                ran += usize::from(!run.is_empty());
                if !run.is_subset(listed) {
                    wrong.push(format!("{dialect:?} by {shell}: {line:?} runs {run:?}, listed {listed:?}"));
                }
            }
        }
        counts.push((dialect, shell.clone(), known.len(), ran));
    }
    println!("{} lines; known, and of these run: {counts:?}", lines.len());
    assert!(counts.iter().all(|(.., ran)| *ran >= 100), "too few lines ran: {counts:?}");
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

//! Clumsy models: a table of malformed calls, played on every wire against the real tools on real
//! files.
//!
//! `cases.jsonl` has one case per line: the model's first answer, and the required outcome. A case
//! either runs directly, or is recovered in one round, where the result must contain what the model
//! needs for its next call (`then`), or is lost. `cargo xtask clumsy` prints the table.

mod frames;

use crate::{
    faker::{Faker, Seen, Step},
    support::{Pilot, options, vendor},
};
use agent::fake::{FakeClient, MemoryStore};
use agent::{
    Content, CreateSession, PermissionMode, Runtime, RuntimeOptions, SessionEvent, SessionStart, Surface,
    ToolStatus,
};
use frames::{Answer, Call};
use providers::{Catalog, Wire};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::Arc};
use system::{AbsPath, LocalSystem};

const CASES: &str = include_str!("cases.jsonl");
/// How many cases may be lost on each wire.
const MAY_BE_LOST: usize = 8;

/// The files in the directory before a case.
const FILES: [(&str, &str); 7] = [
    ("a.py", "x = 1\ny = 2\nprint(x)\n"),
    ("b.md", "# Title\nx marks\n"),
    ("ind.py", "def f():\n    if a:\n        b()\n        c()\n"),
    ("t.go", "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n"),
    ("q.py", "say(\"hi\")\n"),
    ("lt.py", "if a < b:\n    pass\n"),
    ("src/keep.txt", "\n"),
];

/// A case. Absent members are not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    id: String,
    /// The number among the thirty cases that must all succeed.
    case: Option<u32>,
    /// The calls of the model's first answer, as it writes them.
    calls: Vec<Call>,
    /// The text of the first answer.
    text: String,
    /// The reasoning of the first answer.
    thought: String,
    /// The stop reason of the first answer, if a limit ends it.
    stop: String,
    /// Whether the model repeats the first answer.
    twice: bool,
    /// Calls that the model repeats in turn, endlessly.
    r#loop: Vec<Call>,
    /// The calls after the model received the error.
    then: Vec<Call>,
    outcome: Outcome,
    /// Parts of the results of the first calls; in a loop, of the third round.
    result: Vec<String>,
    /// Parts of the last result of a loop.
    last: Vec<String>,
    /// Texts that the results must not contain.
    not: Vec<String>,
    /// The status of the first call.
    status: String,
    /// The files afterwards; `null` for one that must not exist.
    after: BTreeMap<String, Option<String>>,
    /// Parts of the displayed text, and texts that must not be displayed.
    shown: Vec<String>,
    hidden: Vec<String>,
    /// The number of requests to the model.
    requests: Option<usize>,
    /// Whether the turn fails.
    fails: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    #[default]
    Run,
    Recover,
}

fn cases() -> Vec<Case> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    CASES.lines().map(read).collect()
}

impl Case {
    /// Returns the answers of the model, one per request; the last one is repeated.
    fn answers(&self) -> Vec<Answer> {
        let done = Answer { text: "Done.".to_owned(), ..Answer::default() };
        if !self.r#loop.is_empty() {
            let one = |call: &Call| Answer { calls: vec![call.clone()], ..Answer::default() };
            return self.r#loop.iter().map(one).cycle().take(40).collect();
        }
        let first = Answer {
            text: self.text.clone(),
            thought: self.thought.clone(),
            calls: self.calls.clone(),
            cut_off: self.stop == "length",
        };
        let mut answers = vec![first.clone()];
        answers.extend(self.twice.then_some(first));
        if !self.then.is_empty() {
            answers.push(Answer { calls: self.then.clone(), ..Answer::default() });
        }
        answers.push(done);
        answers
    }
}

/// The outcome of a case.
struct Played {
    results: Vec<String>,
    statuses: Vec<ToolStatus>,
    shown: String,
    requests: Vec<Seen>,
    failed: bool,
    directory: tempfile::TempDir,
}

async fn play(case: &Case, wire: Wire) -> Played {
    let answers = case.answers().into_iter().map(|answer| vec![Faker::events(&frames::of(wire, &answer))]);
    let faker = Faker::start(answers.collect::<Vec<Vec<Step>>>()).await;
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let mut options = options();
    options.vendors.custom.insert("clumsy".to_owned(), vendor(faker.url(), wire));
    let system = Arc::new(LocalSystem::new());
    let catalog = Arc::new(Catalog::new(options, system.clone(), Arc::new(Pilot::new())));
    let options = RuntimeOptions {
        start: SessionStart {
            permission_mode: PermissionMode::Prometheus,
            model: Some("clumsy/test".to_owned()),
            ..SessionStart::default()
        },
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), catalog, options);
    let client = FakeClient::new([]);
    let surface = Surface { client: client.clone(), system };
    let cwd = AbsPath::new(directory.path().to_str().unwrap()).unwrap();
    let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    let outcome = session.prompt(vec![Content::text("Do it.")]).await;
    let ended = client.events().into_iter().filter_map(|event| match event {
        SessionEvent::ToolCall(update) => Some((update.result?.text, update.status?)),
        _ => None,
    });
    let (results, statuses) = ended.unzip();
    Played {
        results,
        statuses,
        shown: client.text(),
        requests: faker.seen(),
        failed: outcome.is_err(),
        directory,
    }
}

#[expect(clippy::disallowed_methods, reason = "the test's own files")]
fn write(directory: &Path) {
    std::fs::create_dir(directory.join("src")).unwrap();
    for (name, text) in FILES {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    std::fs::write(directory.join("long.txt"), lines).unwrap();
}

impl Played {
    /// Returns the first difference from the expected outcome, if any.
    fn fault(&self, case: &Case) -> Option<String> {
        let first = match case.calls.len().max(1) {
            _ if !case.r#loop.is_empty() => {
                self.results.get(3 * case.r#loop.len() - 1).cloned().unwrap_or_default()
            }
            count => self.results.iter().take(count.max(self.results.len().min(2))).cloned().collect(),
        };
        let lacks = |text: &str, parts: &[String]| parts.iter().find(|part| !text.contains(*part)).cloned();
        let first = match case.outcome {
            Outcome::Recover => self.results.first().cloned().unwrap_or_default(),
            Outcome::Run => first,
        };
        if let Some(part) = lacks(&first, &case.result) {
            return Some(format!("the model is not told {part:?} but {first:?}"));
        }
        if let Some(part) = case.not.iter().find(|part| first.contains(*part)) {
            return Some(format!("the model is told {part:?}: {first:?}"));
        }
        let last = self.results.last().cloned().unwrap_or_default();
        if let Some(part) = lacks(&last, &case.last) {
            return Some(format!("the model is not told at the end {part:?} but {last:?}"));
        }
        let completed = self.statuses.first() == Some(&ToolStatus::Completed);
        let runs = case.outcome == Outcome::Run && case.last.is_empty() && !self.statuses.is_empty();
        if runs && !completed {
            return Some(format!("the call is not run: {first:?}"));
        }
        if case.outcome == Outcome::Recover && completed {
            return Some(format!("the call is run: {first:?}"));
        }
        if !case.status.is_empty() && !completed {
            return Some(format!("the call did not end well: {first:?}"));
        }
        self.fault_of_files(case).or_else(|| self.fault_of_words(case))
    }

    #[expect(clippy::disallowed_methods, reason = "the test's own files")]
    fn fault_of_files(&self, case: &Case) -> Option<String> {
        for (name, expected) in &case.after {
            let found = std::fs::read_to_string(self.directory.path().join(name)).ok();
            if found != *expected {
                return Some(format!("{name} holds {found:?}; the model is told {:?}", self.results));
            }
        }
        None
    }

    fn fault_of_words(&self, case: &Case) -> Option<String> {
        if let Some(part) = case.shown.iter().find(|part| !self.shown.contains(*part)) {
            return Some(format!("the user does not read {part:?} but {:?}", self.shown));
        }
        if let Some(part) = case.hidden.iter().find(|part| self.shown.contains(*part)) {
            return Some(format!("the user reads {part:?}: {:?}", self.shown));
        }
        if case.requests.is_some_and(|count| count != self.requests.len()) {
            return Some(format!("the model is asked {} times", self.requests.len()));
        }
        (case.fails != self.failed).then(|| format!("the turn fails: {}", self.failed))
    }
}

/// Plays all cases on a wire and prints the table; fails if too many are lost.
#[expect(clippy::print_stdout, reason = "the table of a failed run says which calls were lost")]
async fn check(name: &str, wire: Wire) {
    let mut cases = cases();
    if wire == Wire::Gemini {
        cases.retain(|case| case.calls.iter().all(Call::is_object));
    }
    let (mut run, mut recovered, mut lost) = (0, 0, Vec::new());
    let mut table = String::new();
    for case in &cases {
        let fault = play(case, wire).await.fault(case);
        let word = match (&fault, case.outcome) {
            (None, Outcome::Run) => {
                run += 1;
                "run"
            }
            (None, Outcome::Recover) => {
                recovered += 1;
                "recovered"
            }
            (Some(_), _) => {
                lost.push(case);
                "LOST"
            }
        };
        let number = case.case.map(|number| number.to_string()).unwrap_or_default();
        let _ = writeln!(table, "{word:<10}{number:>3}  {} {}", case.id, fault.unwrap_or_default());
    }
    let of_thirty: Vec<_> = lost.iter().filter(|case| case.case.is_some()).map(|case| &case.id).collect();
    let all = cases.len();
    let score = format!("{name}: {all} cases, {run} run at once, {recovered} recovered, {} lost", lost.len());
    println!("{table}{score}");
    assert!(of_thirty.is_empty() && lost.len() <= MAY_BE_LOST, "{score}; of the thirty: {of_thirty:?}");
}

#[tokio::test]
async fn malformed_calls_are_repaired_on_chat_completions() {
    check("Chat Completions", Wire::Chat).await;
}

#[tokio::test]
async fn malformed_calls_are_repaired_on_responses() {
    check("Responses", Wire::Responses).await;
}

#[tokio::test]
async fn malformed_calls_are_repaired_on_messages() {
    check("Messages", Wire::Anthropic).await;
}

/// Gemini's arguments are objects on the wire, so cases with malformed JSON do not apply.
#[tokio::test]
async fn malformed_calls_are_repaired_on_gemini() {
    check("Gemini", Wire::Gemini).await;
}

#[test]
fn the_table_has_all_thirty_cases_and_enough_others() {
    let cases = cases();
    for number in 1..=30 {
        assert!(cases.iter().any(|case| case.case == Some(number)), "case {number}");
    }
    assert!(cases.len() >= 108, "{}", cases.len());
}

//! What a prompt asks for.

use super::{
    messages::{answer, user},
    requests::object,
};
use agent::Message;
use serde_json::{Value, json};

/// What a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To know something. Nothing is changed or run for it.
    Question,
    /// Another name for something, wherever it is used.
    Rename,
    /// The run of a command, and what it printed. No file is to be changed.
    Run,
    /// Changed files, and commands after that.
    Work,
}

const KINDS: [Kind; 4] = [Kind::Question, Kind::Rename, Kind::Run, Kind::Work];

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Rename => "rename",
            Self::Run => "run",
            Self::Work => "work",
        }
    }
}

/// The system prompt of the request that sorts a prompt.
pub(super) const SYSTEM: &str = "\
Sort what a programmer is asked. {\"kind\": \"question\"}: somebody wants to know something and is answered in words. {\"kind\": \"rename\"}: a function, class or variable gets another name wherever it is used. {\"kind\": \"run\"}: only a command is run, such as tests, git or an installation; no file is edited. {\"kind\": \"work\"}: files are to be changed or created, or a mistake repaired.
";

/// Sorted prompts, as examples for the model. Their order was measured: another one sorts worse.
const EXAMPLES: [(&str, Kind); 29] = [
    ("Where is the port set?", Kind::Question),
    ("The last line is missing in the output, please fix that.", Kind::Work),
    ("What does load() return when there is no file?", Kind::Question),
    ("Rename `count` to `total`, in every file.", Kind::Rename),
    ("It should say \"Bye\" at the end.", Kind::Work),
    ("Welche Datei liest die Einstellungen?", Kind::Question),
    ("Run the linter and tell me what it finds.", Kind::Run),
    ("The report shows names in capitals. Make it show them as they are.", Kind::Work),
    ("People say that the date is printed in the wrong order.", Kind::Work),
    ("Is there a test for this?", Kind::Question),
    ("Schreib eine Funktion, die Zahlen sortiert.", Kind::Work),
    ("I want to know how errors are handled.", Kind::Question),
    ("Numbers are printed with a comma. They must have a point. Leave the tests alone.", Kind::Work),
    ("Which class is used by main.py, and why?", Kind::Question),
    ("cart.py can add items. Please add a function that removes one, and call it in main.", Kind::Work),
    ("Could you explain how it works?", Kind::Question),
    ("install the dependencies", Kind::Run),
    ("How do I start it?", Kind::Question),
    ("We call it \"account\" now: the class `User` must be called `Account` everywhere.", Kind::Rename),
    ("Hi there!", Kind::Question),
    ("What happens if the list is empty?", Kind::Question),
    ("The tests fail. Run them with `make test` and repair what is wrong.", Kind::Work),
    ("list the branches", Kind::Run),
    ("push my branch", Kind::Run),
    ("Run `npm run lint` and repair what it finds in app.js.", Kind::Work),
    ("Where is `open` called? I want to replace it.", Kind::Question),
    ("How many lines does it print?", Kind::Question),
    ("The worker needs the setting RETRIES=3 too.", Kind::Work),
    ("The limit must be 20 now", Kind::Work),
];

/// Returns the messages that ask for the kind of a prompt.
pub(super) fn messages(prompt: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    for (example, kind) in EXAMPLES {
        messages.push(user(example));
        messages.push(answer(&json!({ "kind": kind.word() }).to_string()));
    }
    messages.push(user(prompt));
    messages
}

/// The JSON Schema of the answer.
pub(super) fn schema() -> Value {
    object("kind", json!({ "enum": KINDS.map(Kind::word) }))
}

/// Reads the answer. Anything else is a question, for which nothing is changed.
pub(super) fn read(answer: Option<&Value>) -> Kind {
    let word = answer.and_then(|answer| answer.get("kind")?.as_str());
    KINDS.into_iter().find(|kind| Some(kind.word()) == word).unwrap_or(Kind::Question)
}

/// The second question about a prompt that asks to run a command.
pub(super) mod edits {
    use super::{Message, Value, answer, json, object, user};

    /// The system prompt of the question.
    pub(in super::super) const SYSTEM: &str =
        "Somebody asks to run a command. Do they also ask to edit or repair a file?\n";

    /// Requests, and whether they ask for edits, as examples for the model.
    const EXAMPLES: [(&str, bool); 18] = [
        ("Run the linter and tell me what it finds.", false),
        ("Run `npm run lint` and repair what it finds in app.js.", true),
        ("install the dependencies", false),
        ("run `cargo build`", false),
        ("The build fails. Find out why with `make` and correct it.", true),
        ("commit my changes", false),
        ("Compile it and tell me if that works.", false),
        ("Execute the tests and fix the code until they pass. Do not touch the tests.", true),
        ("start the app and show me its output", false),
        ("make a tag for the release", false),
        ("Write a script that lists all users, and run it.", true),
        ("Execute all tests.", false),
        ("Does `make check` pass? Run it.", false),
        ("run pytest, then mend the bug", true),
        ("format the code with prettier", false),
        ("Execute the unit tests and list those that fail.", false),
        ("delete the log files", false),
        ("switch to the main branch", false),
    ];

    /// Returns the messages that ask the question.
    pub(in super::super) fn messages(prompt: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        for (example, edits) in EXAMPLES {
            messages.push(user(example));
            messages.push(answer(&json!({ "edits": edits }).to_string()));
        }
        messages.push(user(prompt));
        messages
    }

    /// The JSON Schema of the answer.
    pub(in super::super) fn schema() -> Value {
        object("edits", json!({ "type": "boolean" }))
    }

    /// Reads the answer. Anything else means that no edit is asked for.
    pub(in super::super) fn read(answer: Option<&Value>) -> bool {
        answer.and_then(|answer| answer.get("edits")?.as_bool()).unwrap_or(false)
    }
}

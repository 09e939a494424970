//! What a conversation shows of the project.

use super::words::{base, is_part, occurrences};
use agent::{AnsweredCall, Message, ShownProject};
use serde_json::Value;
use std::collections::BTreeMap;

/// Extensions of files. `os.path` and `order.items` are none.
const EXTENSIONS: [&str; 55] = [
    "bash", "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "ex", "exs", "go", "gradle",
    "h", "hpp", "hs", "html", "ini", "java", "jl", "js", "json", "jsx", "kt", "lua", "md", "mjs", "ml",
    "php", "pl", "proto", "ps1", "py", "r", "rb", "rs", "rst", "scss", "sh", "sql", "svelte", "svg", "swift",
    "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zsh",
];
/// Names of products that look like files.
const PRODUCTS: [&str; 8] =
    ["d3.js", "express.js", "next.js", "node.js", "nuxt.js", "react.js", "three.js", "vue.js"];

/// Beginnings of words that ask for a new file, in English, German, French and Spanish.
const CREATIONS: [&str; 17] = [
    "creat", "new", "add", "writ", "save", "store", "put", "mov", "generat", "mak", "call", "rename",
    "erstell", "schreib", "neu", "cré", "crea",
];
/// How many words before the name of a file may say that it is new.
const CREATION_DISTANCE: usize = 8;

/// The files that a model knows of.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// The names of files, relative to the working directory, in the order in which they were
    /// listed.
    pub(super) names: Vec<String>,
    /// The text of each file that was shown completely, as it is after the last known write.
    pub(super) texts: BTreeMap<String, String>,
}

impl Project {
    /// Collects the files of a conversation: those read ahead, and those that calls wrote.
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut project = Self::default();
        for message in messages {
            match message {
                Message::User(parts) => {
                    for part in parts {
                        if let agent::Content::Text(text) = part {
                            project.add(ShownProject::parse(text));
                        }
                    }
                }
                Message::Assistant(answer) => {
                    for call in answer.calls() {
                        project.apply(call);
                    }
                }
            }
        }
        project
    }

    fn add(&mut self, shown: ShownProject) {
        for name in shown.names {
            self.list(&name);
        }
        for (name, text) in shown.texts {
            self.list(&name);
            self.texts.insert(name, text);
        }
    }

    fn list(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// Applies a call. After a failed write the text is unknown: the file may have changed since it
    /// was shown. A command, also one that failed, may have changed any file that it names.
    fn apply(&mut self, call: &AnsweredCall) {
        let Ok(arguments) = &call.arguments else { return };
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
        if call.result.is_error && call.name != "bash" {
            self.texts.remove(argument("path").unwrap_or_default());
            return;
        }
        match (call.name.as_str(), argument("path")) {
            ("file_write", Some(path)) => {
                if let Some(content) = argument("content") {
                    self.list(path);
                    self.texts.insert(path.to_owned(), content.to_owned());
                }
            }
            ("file_read", Some(path)) => {
                self.list(path);
                let is_whole = arguments.get("offset").is_none() && arguments.get("limit").is_none();
                if let Some(text) = without_line_numbers(&call.result.text).filter(|_| is_whole) {
                    self.texts.insert(path.to_owned(), text);
                }
            }
            ("file_edit", Some(path)) => {
                self.texts.remove(path);
            }
            ("bash", _) => {
                let command = argument("command").unwrap_or_default().to_owned();
                self.texts.retain(|name, _| !command.contains(name.as_str()));
            }
            _ => {}
        }
    }

    /// The lines that contain an identifier of a prompt, as `path:line: text`; at most `most`. A
    /// word is an identifier if it stands in backticks, before a parenthesis, or has an underscore.
    pub(super) fn lines_with_names(&self, prompt: &str, most: usize) -> Vec<String> {
        let mut names: Vec<&str> = Vec::new();
        for (at, word) in words(prompt) {
            let is_marked = prompt[..at].ends_with('`') || prompt[at + word.len()..].starts_with('(');
            if word.len() > 2 && (is_marked || word.contains('_')) && !names.contains(&word) {
                names.push(word);
            }
        }
        let has_name = |line: &str| names.iter().any(|name| occurrences(line, name).next().is_some());
        let texts = self.texts.iter();
        let lines = texts.flat_map(|(path, text)| (1..).zip(text.lines()).map(move |line| (path, line)));
        lines
            .filter(|(_, (_, line))| has_name(line))
            .map(|(path, (number, line))| format!("{path}:{number}: {}", line.trim()))
            .take(most)
            .collect()
    }

    /// The files that a prompt may ask to change: all but tests if it names another file, which
    /// small models change to make them pass.
    pub(super) fn changeable(&self, prompt: &str) -> impl Iterator<Item = &String> {
        let names_other = self.names.iter().any(|name| !is_test(name) && prompt.contains(base(name)));
        let keeps_tests = names_other && super::commands::reports_failure(prompt);
        self.names.iter().filter(move |name| !(keeps_tests && is_test(name)))
    }

    /// The names that a prompt mentions and that look like files which do not exist yet.
    pub(super) fn new_names(&self, prompt: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let is_apart = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        for word in prompt.split(is_apart) {
            let word = word.trim_end_matches(['.', '/', '-']);
            let Some((stem, extension)) = word.rsplit_once('.') else { continue };
            let is_file = EXTENSIONS.contains(&extension)
                && !PRODUCTS.contains(&word.to_lowercase().as_str())
                && stem.starts_with(is_part)
                && !stem.contains("..");
            let file = |name: &str| base(name).to_lowercase();
            let is_known = self.names.iter().chain(&names).any(|known| file(known) == file(word));
            if is_file && !is_known {
                names.push(word.to_owned());
            }
        }
        names
    }
}

/// Returns whether a file has tests alone, by its name.
fn is_test(path: &str) -> bool {
    let mut words = path.split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["test", "tests", "spec", "specs"].contains(&word.to_lowercase().as_str()))
        || base(path).contains("Test.")
}

/// Returns whether a prompt asks to create a file: one of the words before its name says so.
pub(super) fn is_to_be_created(prompt: &str, name: &str) -> bool {
    let Some(at) = prompt.find(name) else { return false };
    let words: Vec<&str> = prompt[..at].split_whitespace().rev().take(CREATION_DISTANCE).collect();
    words.iter().any(|word| {
        let word = word.to_lowercase();
        CREATIONS.iter().any(|creation| word.starts_with(creation))
    })
}

/// The words of a text that could be identifiers, with their positions.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_apart = |c: char| !is_part(c);
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(is_apart) {
        let word = piece.trim_end_matches(is_apart);
        if !word.is_empty() {
            words.push((at, word));
        }
        at += piece.len();
    }
    words
}

/// Removes the line numbers that `file_read` puts before each line. `None` if a line has none, such
/// as a note that the rest of the file is left out.
fn without_line_numbers(result: &str) -> Option<String> {
    let mut text = String::new();
    for line in result.lines() {
        let (number, line) = line.split_once('\t')?;
        number.trim().parse::<usize>().ok()?;
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_those_that_look_like_files_and_are_unknown() {
        let project = Project { names: vec!["src/app.py".into(), "README.md".into()], ..Project::default() };
        let names = |prompt: &str| project.new_names(prompt);
        assert_eq!(names("write errors.sh, and save it in out/errors.txt."), ["errors.sh", "out/errors.txt"]);
        assert!(names("in app.py, as README.md says, e.g. version 2.0, os.path or Node.js").is_empty());
        assert!(names("not ../other.py or /etc/hosts.conf").is_empty());
    }

    #[test]
    fn a_file_is_created_only_if_the_prompt_says_so() {
        for (prompt, name, expected) in [
            ("Create a file greet.py with a function", "greet.py", true),
            ("run it and save what it prints in errors.txt", "errors.txt", true),
            ("Move it to a new file config.js and require it", "config.js", true),
            ("In index.html set the title to \"Shop\" and load style.css in the head.", "style.css", false),
        ] {
            assert_eq!(is_to_be_created(prompt, name), expected, "{prompt}");
        }
    }

    #[test]
    fn tests_are_not_changed_to_repair_another_file() {
        let names = ["test_names.py", "names.py", "src/cart.test.js", "CartTest.java", "latest.py"];
        let project = Project { names: names.map(str::to_owned).to_vec(), ..Project::default() };
        let changeable = |prompt: &str| project.changeable(prompt).cloned().collect::<Vec<_>>();
        assert_eq!(changeable("python3 test_names.py fails, repair names.py"), ["names.py", "latest.py"]);
        assert_eq!(changeable("add a test for names.py"), names);
        assert_eq!(changeable("the tests fail"), names);
    }

    #[test]
    fn lines_with_the_identifiers_of_a_prompt_are_found() {
        let text = "import x\ndef send_mail():\n    mail.send_mail(1)\nresend_mail()\n";
        let project = Project { texts: [("a.py".to_owned(), text.to_owned())].into(), ..Project::default() };
        let found = ["a.py:2: def send_mail():", "a.py:3: mail.send_mail(1)"];
        assert_eq!(project.lines_with_names("Which files call send_mail?", 9), found);
        assert_eq!(project.lines_with_names("Who calls `send_mail`?", 1), found[..1]);
        assert_eq!(project.lines_with_names("What does mail() import?", 9), ["a.py:3: mail.send_mail(1)"]);
        assert!(project.lines_with_names("What is imported?", 9).is_empty());
    }

    #[test]
    fn line_numbers_are_removed() {
        assert_eq!(without_line_numbers("1\ta\n2\t\tb\n").as_deref(), Some("a\n\tb\n"));
        assert_eq!(without_line_numbers("1\ta\n[cut]"), None);
    }
}

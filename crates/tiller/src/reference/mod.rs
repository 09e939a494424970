//! Generates the pages of `docs/reference`, the published schemas and the snapshot of every help,
//! and checks that the files in the tree are current.

mod commands;
mod documents;
mod help;
mod settings;

use crate::layout;
use std::path::Path;

/// The command that writes the files.
const RENEW: &str = "cargo xtask reference --write";

/// The width of a line of text.
const WIDTH: usize = 100;

/// Compares a file of the tree with what it should contain, or writes it.
#[expect(clippy::disallowed_methods, reason = "reads and writes files of the source tree")]
fn check(file: &str, made: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file);
    if std::env::var_os("TILLER_RENEW").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, made).unwrap();
    } else {
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(kept == made, "{file} is out of date; run: {RENEW}");
    }
}

/// Compares the part of a file between its markers with what it should contain, or writes it.
#[expect(clippy::disallowed_methods, reason = "reads a file of the source tree")]
fn check_part(file: &str, part: &str, made: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file);
    let whole = std::fs::read_to_string(path).unwrap();
    let (begin, end) = (format!("<!-- {part}: begin -->\n"), format!("<!-- {part}: end -->"));
    let from = whole.find(&begin).expect("the part begins") + begin.len();
    let to = whole.find(&end).expect("the part ends");
    check(file, &format!("{}\n{made}\n{}", &whole[..from], &whole[to..]));
}

/// Wraps a paragraph. Lines after the first begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    layout::wrapped(words(text), 0, indent, WIDTH)
}

/// Splits a text at its spaces, but not within code.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut code = false;
    for c in text.chars() {
        code ^= c == '`';
        match c {
            ' ' | '\n' if !code => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_published_schema_of_the_settings_is_current() {
    check("clients/schema/settings.json", &format!("{:#}\n", crate::config::schema()));
}

#[test]
fn the_published_schemas_of_answers_are_current() {
    for one in crate::answer::schemas::ALL {
        check(&format!("docs/schema/cli/{}", one.file()), &format!("{:#}\n", one.whole()));
    }
}

#[test]
fn the_page_of_the_interface_has_the_table_of_keys() {
    let table = tui::keys::listing::markdown(&tui::keys::Bindings::default());
    check_part("docs/terminal.md", "keys", &table);
}

#[test]
fn the_help_of_every_command_is_current() {
    for (name, text) in help::files() {
        check(&format!("crates/tiller/tests/it/golden/help/{name}.txt"), &text);
    }
}

#[test]
fn every_command_line_of_the_documents_is_valid() {
    let wrong = documents::wrong_lines();
    assert_eq!(wrong, [""; 0], "correct the documents: {wrong:#?}");
}

#[test]
fn the_page_of_settings_is_current() {
    check("docs/reference/settings.md", &settings::page());
}

#[test]
fn the_page_of_commands_is_current() {
    check("docs/reference/commands.md", &commands::page());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "reads a file of the source tree")]
fn the_page_of_skills_lists_every_built_in_command() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/skills.md");
    let page = std::fs::read_to_string(path).unwrap();
    let missing: Vec<_> = agent::commands()
        .iter()
        .map(|command| format!("`/{}", command.name))
        .filter(|name| !page.contains(&format!("{name}`")) && !page.contains(&format!("{name} ")))
        .collect();
    assert_eq!(missing, [""; 0], "add them to docs/skills.md");
}

#[test]
fn paragraphs_are_wrapped_between_words_and_not_in_code() {
    let text = format!("{} `a b` c", "x".repeat(96));
    assert_eq!(wrapped(&text, "  "), format!("{}\n  `a b` c\n", "x".repeat(96)));
}

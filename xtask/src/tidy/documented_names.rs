//! The documents name only methods that are served and tests that exist.

use super::Problem;
use super::tree::Tree;

const PROTOCOL: &str = "docs/protocol.md";
/// The dispatchers of each version, with the column of the table that lists their methods.
const VERSIONS: [(&str, usize); 2] =
    [("crates/acp/src/v1/dispatch.rs", 2), ("crates/acp/src/v2/dispatch.rs", 3)];
/// The dispatcher for both versions.
const SHARED: &str = "crates/acp/src/connection/dispatch.rs";
/// This method is handled by the library.
const BY_THE_LIBRARY: &str = "$/cancel_request";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = methods(tree);
    for file in tree.files().iter().filter(|file| file.path.starts_with("docs/")) {
        let mut names_tests = false;
        for (index, line) in file.text.lines().enumerate() {
            if !line.starts_with('|') {
                names_tests = false;
                continue;
            }
            let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            if last.trim() == "tests" {
                names_tests = true;
                continue;
            }
            for name in quoted(last).filter(|_| names_tests) {
                let function = format!("fn {name}(");
                if !tree.rust().any(|rust| rust.text.contains(&function)) {
                    let message =
                        format!("no test is called `{name}`; name the one that shows this, or write it");
                    problems.push(Problem::line(&file.path, index + 1, message));
                }
            }
        }
    }
    problems
}

/// Compares the first table of the protocol document with the methods of the dispatchers, for each
/// version.
fn methods(tree: &Tree) -> Vec<Problem> {
    let Some(document) = tree.get(PROTOCOL) else { return Vec::new() };
    let rows = document.text.lines().skip_while(|line| !line.starts_with("| method |")).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    let mut problems = Vec::new();
    for (path, column) in VERSIONS {
        let Some(dispatch) = tree.get(path) else { continue };
        let cell = |row: &str, at: usize| row.split('|').nth(at).unwrap_or_default().trim().to_owned();
        let of_it = rows.iter().filter(|row| cell(row, column) == "yes");
        let documented: Vec<String> =
            of_it.flat_map(|row| quoted(&cell(row, 1)).map(str::to_owned).collect::<Vec<_>>()).collect();
        let mut served = arms(&dispatch.text);
        served.extend(tree.get(SHARED).map(|shared| arms(&shared.text)).unwrap_or_default());
        let undocumented =
            served.iter().filter(|method| !documented.iter().any(|documented| documented == *method));
        problems.extend(undocumented.map(|method| {
            Problem::file(PROTOCOL, format!("`{method}` is served by {path} but is missing from the table"))
        }));
        let unserved = documented
            .iter()
            .filter(|method| *method != BY_THE_LIBRARY && !served.contains(&method.as_str()));
        problems.extend(unserved.map(|method| {
            Problem::file(PROTOCOL, format!("the table lists `{method}`, which {path} does not handle"))
        }));
    }
    problems
}

/// Returns the methods that a dispatcher handles.
fn arms(source: &str) -> Vec<&str> {
    let arms = source
        .lines()
        .map(str::trim)
        .filter(|line| (line.starts_with('"') && line.contains("=>")) || line.starts_with("if method == \""));
    let arms = arms.map(|line| line.split("=>").next().unwrap_or_default());
    arms.flat_map(|arm| arm.split('"').skip(1).step_by(2)).collect()
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_methods_and_tests_exist() {
        let first = "if method == \"initialize\" {\n    \"a/b\" | \"c\" => x(),\n    _ => y(),";
        let second = "\"a/b\" => x(),";
        let table = "| method | v1 | v2 | what |\n|---|---|---|---|\n| `initialize` | yes | | |\n\
            | `a/b` | yes | yes | |\n| `c` | yes | | `other` |\n| `both` | yes | yes | |\n\n";
        let tests = "| what | tests |\n|---|---|\n| x | `it_works` |\n";
        let found = |document: &str, first: &str, second: &str| {
            let rust = ("crates/x/src/lib.rs", "fn it_works() {}");
            let shared = (SHARED, "\"both\" => z(),");
            let tree = Tree::of(&[
                (PROTOCOL, document),
                (VERSIONS[0].0, first),
                (VERSIONS[1].0, second),
                shared,
                rust,
            ]);
            check(&tree).len()
        };
        assert_eq!(found(&format!("{table}{tests}"), first, second), 0);
        assert_eq!(found(table, second, second), 2, "two are not served by the first");
        assert_eq!(found(table, first, ""), 1, "one is not served by the second");
        assert_eq!(found(table, first, first), 2, "two are served by the second and not told");
        assert_eq!(found(&format!("{table}| what | tests |\n|---|---|\n| x | `gone` |\n"), first, second), 1);
    }
}

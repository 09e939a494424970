//! What the documents promise is there: the methods that are served, and the tests that are named.

use super::Problem;
use super::tree::Tree;

const PROTOCOL: &str = "docs/protocol.md";
const DISPATCH: &str = "crates/acp/src/v1/dispatch.rs";
/// The library answers this one.
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

/// The first table of the protocol's document and the dispatcher name the same methods.
fn methods(tree: &Tree) -> Vec<Problem> {
    let (Some(document), Some(dispatch)) = (tree.get(PROTOCOL), tree.get(DISPATCH)) else {
        return Vec::new();
    };
    let rows = document.text.lines().skip_while(|line| !line.starts_with("| method |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let told: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).flat_map(quoted).collect();
    let arms =
        dispatch.text.lines().map(str::trim).filter(|line| {
            (line.starts_with('"') && line.contains("=>")) || line.starts_with("if method == \"")
        });
    let arms = arms.map(|line| line.split("=>").next().unwrap_or_default());
    let served: Vec<&str> = arms.flat_map(|arm| arm.split('"').skip(1).step_by(2)).collect();
    let untold = served.iter().filter(|method| !told.contains(method));
    let untold =
        untold.map(|method| Problem::file(PROTOCOL, format!("`{method}` is served and not in the table")));
    let unserved = told.iter().filter(|method| **method != BY_THE_LIBRARY && !served.contains(method));
    let unserved =
        unserved.map(|method| Problem::file(PROTOCOL, format!("`{method}` is in the table and not served")));
    untold.chain(unserved).collect()
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_tests_are_there() {
        let dispatch = "if method == \"initialize\" {\n    \"a/b\" | \"c\" => x(),\n    _ => y(),";
        let table = "| method | what |\n|---|---|\n| `initialize` | |\n| `a/b`, `c` | `other` |\n\n";
        let tests = "| what | tests |\n|---|---|\n| x | `it_works` |\n";
        let found = |document: &str, dispatch: &str| {
            let rust = ("crates/x/src/lib.rs", "fn it_works() {}");
            check(&Tree::of(&[(PROTOCOL, document), (DISPATCH, dispatch), rust])).len()
        };
        assert_eq!(found(&format!("{table}{tests}"), dispatch), 0);
        assert_eq!(found(table, "\"a/b\" => x(),"), 2, "two are not served");
        assert_eq!(found("| method | what |\n|---|---|\n", dispatch), 3, "three are not told");
        assert_eq!(found(&format!("{table}| what | tests |\n|---|---|\n| x | `gone` |\n"), dispatch), 1);
    }
}

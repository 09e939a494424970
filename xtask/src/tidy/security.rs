//! Every attack in the documentation has an existing test, or a reason why it needs none.

use super::Problem;
use super::tree::Tree;

const PAGE: &str = "docs/tests.md";
/// The number of attacks, which are numbered from 1.
const ATTACKS: usize = 45;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(page) = tree.get(PAGE) else { return vec![Problem::file(PAGE, "is missing")] };
    let rows: Vec<_> = page.text.lines().enumerate().filter(|(_, line)| line.starts_with("| S-")).collect();
    let mut problems = Vec::new();
    for number in 1..=ATTACKS {
        let start = format!("| S-{number:02} |");
        if rows.iter().filter(|(_, row)| row.starts_with(&start)).count() != 1 {
            problems.push(Problem::file(PAGE, format!("S-{number:02} needs one row, with its test")));
        }
    }
    for (index, row) in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        let reasoned = cell.starts_with("not applicable: ") || cell.starts_with("open: ");
        let names: Vec<_> = if reasoned { Vec::new() } else { cell.split('`').skip(1).step_by(2).collect() };
        if names.is_empty() && !reasoned {
            let message = "names no test; write one, or `not applicable: ` with the reason";
            problems.push(Problem::line(PAGE, index + 1, message));
        }
        for name in names {
            let definition = format!("fn {name}(");
            if !tree.rust().any(|file| file.text.contains(&definition)) {
                problems.push(Problem::line(PAGE, index + 1, format!("the test `{name}` does not exist")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_its_test_is_found() {
        let mut page: String = (1..=44).map(|n| format!("| S-{n:02} | x | not applicable: y |\n")).collect();
        let found = |page: &str| {
            let problems = check(&Tree::of(&[(PAGE, page), ("a.rs", "fn it_holds() {}")]));
            problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        assert_eq!(found(&page), ["S-45 needs one row, with its test"]);
        page.push_str("| S-45 | x | `it_holds` |\n");
        assert!(found(&page).is_empty());
        assert_eq!(
            found(&page.replace("it_holds", "it_does_not")),
            ["the test `it_does_not` does not exist"]
        );
        assert!(found(&page.replace("`it_holds`", "soon"))[0].starts_with("names no test"));
    }
}

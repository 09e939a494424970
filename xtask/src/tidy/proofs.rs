//! What a document says is proved by a test is: below a heading that begins with "What proves it", each name in the last column of a
//! table is a test of the workspace.

use super::Problem;
use super::tree::Tree;

const HEADING: &str = "## What proves it";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sources: Vec<&str> = tree.rust().map(|file| file.text.as_str()).collect();
    let exists = |name: &str| {
        let definition = format!("fn {name}(");
        sources.iter().any(|text| text.contains(&definition))
    };
    let mut problems = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with(".md")) {
        let lines = file.text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(HEADING));
        let section = lines.skip(1).take_while(|(_, line)| !line.starts_with("## "));
        for (index, line) in section.filter(|(_, line)| line.starts_with("| ")) {
            let last = line.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
            let names = last.split('`').skip(1).step_by(2);
            for name in names.filter(|name| !exists(name)) {
                let message = format!("there is no test `{name}`; name the one that proves this");
                problems.push(Problem::line(&file.path, index + 1, message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_test_is_found() {
        let document =
            "| not `here` |\n## What proves it\n\n| a | `b` | `good`, `gone` |\n\n## More\n| x | `later` |\n";
        let tree = Tree::of(&[("docs/a.md", document), ("crates/a/src/lib.rs", "async fn good() {}\n")]);
        let found = check(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, Some(4));
        assert!(found[0].message.contains("`gone`"));
    }
}

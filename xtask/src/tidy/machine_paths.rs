//! No committed file contains paths of a developer's machine. Tests may, because their paths are
//! fictitious.

use super::Problem;
use super::tree::{File, Tree};

const DIRECTORIES: [&str; 4] = ["/home/", "/root/", "/work/", "/Users/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let files =
        tree.files().iter().filter(|file| !file.is_test() && !file.path.starts_with("xtask/src/tidy"));
    files
        .filter(|file| !file.path.contains("fixtures/") && !file.path.ends_with(".snap"))
        .flat_map(in_file)
        .collect()
}

fn in_file(file: &File) -> Vec<Problem> {
    let lines = file.lines();
    let named = lines.iter().filter(|line| !line.test);
    let named = named.filter_map(|line| {
        DIRECTORIES.iter().find(|directory| names(line.text, directory)).map(|directory| (line, directory))
    });
    named
        .map(|(line, directory)| {
            Problem::line(
                &file.path,
                line.number,
                format!("`{directory}…` is a path of one machine; write /path/to/…"),
            )
        })
        .collect()
}

/// Returns whether a line names an absolute path below `directory`: `/home/x`, but not `a/home/x`
/// or `~/home/x`.
fn names(line: &str, directory: &str) -> bool {
    line.match_indices(directory).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + directory.len()..].chars().next();
        let absolute = before.is_none_or(|c| !c.is_alphanumeric() && !"~._-/}>*".contains(c));
        absolute && after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_are_distinguished_from_others() {
        let check = |line: &str, expected: bool| {
            let found = check(&Tree::of(&[("docs/a.md", line)]));
            assert_eq!(!found.is_empty(), expected, "{line}");
        };
        check("see /home/somebody/notes", true);
        check("`/work/main`", true);
        check("\"command\": \"/path/to/tiller\"", false);
        check("https://example.org/work/item", false);
        check("below /home/ there are", false);
        check("crates/work/src", false);
    }

    #[test]
    fn tests_may_contain_invented_paths() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    const CWD: &str = \"/work/project\";\n}";
        assert_eq!(check(&Tree::of(&[("crates/a/src/a.rs", text), ("crates/a/tests/it/main.rs", text)])), []);
        assert_eq!(
            check(&Tree::of(&[("crates/a/src/a.rs", "const CWD: &str = \"/work/project\";")])).len(),
            1
        );
    }
}

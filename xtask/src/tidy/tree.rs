//! The source tree as the checks see it: paths and texts, from git or from a test.

use crate::process::{capture, command, root};
use anyhow::Result;

/// All text files that are committed or could be.
pub(super) struct Tree {
    files: Vec<File>,
}

/// A text file.
pub(super) struct File {
    /// Relative to the workspace's root, separated by `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// A line of a Rust file.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) text: &'a str,
    /// Whether it is compiled for tests only.
    pub(super) test: bool,
}

impl Tree {
    /// Reads tracked and untracked files; ignored files and those that are not UTF-8 are left out.
    pub(super) fn from_workspace() -> Result<Self> {
        let listing =
            capture(command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let mut paths: Vec<&str> = listing.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let read = |path: &str| {
            let text = std::fs::read_to_string(root().join(path)).ok()?;
            Some(File { path: path.to_owned(), text })
        };
        Ok(Self { files: paths.into_iter().filter_map(read).collect() })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { files: files.iter().map(file).collect() }
    }

    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust sources, without the projects in which agents are evaluated.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with("eval/tasks/"))
    }

    /// Returns the Rust sources, without the checks themselves, which must name the patterns they
    /// search.
    pub(super) fn rust_except_tidy(&self) -> impl Iterator<Item = &File> {
        self.rust().filter(|file| !file.path.starts_with("xtask/src/tidy"))
    }

    /// Returns whether there is a file or directory with this path.
    pub(super) fn contains(&self, path: &str) -> bool {
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}

impl File {
    /// Returns whether the whole file is test code. This includes contract suites, although other
    /// crates call these modules.
    pub(super) fn is_test(&self) -> bool {
        let (directories, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        directories.split('/').any(|directory| directory == "tests" || directory == "contract")
            || ["tests.rs", "contract.rs"].contains(&name)
            || name.ends_with("_tests.rs")
            || name.ends_with("_test.rs")
    }

    /// Returns the lines whose code contains one of `needles`, with their numbers counted from 1.
    pub(super) fn naming<'a>(&'a self, needles: &'a [&str]) -> impl Iterator<Item = (usize, &'a str)> {
        let numbered = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        numbered.filter(|(_, line)| needles.iter().any(|needle| in_code(line, needle)))
    }

    /// Returns the lines of a Rust file. `#[cfg(test)] mod name {` opens a test region, which ends
    /// with a `}` in the first column.
    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let whole = self.is_test();
        let (mut announced, mut inside) = (false, false);
        let mut lines = Vec::new();
        for (index, text) in self.text.lines().enumerate() {
            if text == "#[cfg(test)]" {
                announced = true;
            } else if announced && text.starts_with("mod ") && text.ends_with('{') {
                inside = true;
                announced = false;
            } else if announced && !text.starts_with("#[") {
                announced = false;
            }
            lines.push(Line { number: index + 1, text, test: whole || inside });
            if inside && text == "}" {
                inside = false;
            }
        }
        lines
    }
}

/// A place that may contain what a check forbids elsewhere: the beginning of its path, and the
/// reason.
pub(super) type Place = (&'static str, &'static str);

/// Returns the lines outside `places` whose code contains one of `needles`, with their numbers.
pub(super) fn naming_elsewhere<'a>(
    files: impl Iterator<Item = &'a File>,
    places: &[Place],
    needles: &'a [&str],
) -> impl Iterator<Item = (&'a File, usize, &'a str)> {
    let files = files.filter(|file| !places.iter().any(|(place, _)| file.path.starts_with(place)));
    files.flat_map(|file| file.naming(needles).map(move |(number, line)| (file, number, line)))
}

/// Returns whether a line's code contains `needle` outside strings and comments. Strings over
/// several lines are not recognised.
pub(super) fn in_code(line: &str, needle: &str) -> bool {
    let comment = line.match_indices("//").map(|(at, _)| at).find(|at| !in_string(line, *at));
    let code = &line[..comment.unwrap_or(line.len())];
    code.match_indices(needle).any(|(at, _)| !in_string(code, at))
}

/// Returns whether the byte at `at` is between two quotes of its line.
pub(super) fn in_string(line: &str, at: usize) -> bool {
    line[..at].replace("\\\\", "").replace("\\\"", "").replace("'\"'", "").matches('"').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_this_file() {
        assert!(Tree::from_workspace().unwrap().get("xtask/src/tidy/tree.rs").is_some());
    }

    #[test]
    fn tests_are_distinguished_from_the_code_around_them() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod more;\nfn d() {}";
        let tree = Tree::of(&[("crates/x/src/a.rs", text), ("crates/x/tests/it/main.rs", "fn e() {}")]);
        let tests = |path: &str| -> Vec<usize> {
            let file = tree.get(path).unwrap();
            file.lines().iter().filter(|line| line.test).map(|line| line.number).collect()
        };
        assert_eq!(tests("crates/x/src/a.rs"), [3, 4, 5]);
        assert_eq!(tests("crates/x/tests/it/main.rs"), [1]);
    }

    #[test]
    fn files_of_tests_are_recognised_by_their_names() {
        let check = |path: &str, expected: bool| {
            assert_eq!(Tree::of(&[(path, "")]).files()[0].is_test(), expected, "{path}");
        };
        check("crates/x/tests/it/main.rs", true);
        check("crates/x/src/turn/tests.rs", true);
        check("crates/x/src/contract/samples.rs", true);
        check("crates/x/src/contract.rs", true);
        check("crates/x/src/contracts.rs", false);
        check("crates/x/src/attests.rs", false);
    }

    #[test]
    fn code_is_distinguished_from_strings_and_comments() {
        assert!(in_code("let x = f(g());", "g("));
        assert!(in_code("let x = \"a\"; g(\"b\");", "g("));
        assert!(!in_code("let x = \"g(\";", "g("));
        assert!(!in_code("let x = \"\\\"g(\";", "g("));
        assert!(!in_code("h(); // g()", "g("));
        assert!(in_code("let url = \"http://x\"; g();", "g("));
    }

    #[test]
    fn the_evaluations_projects_are_not_part_of_the_tree() {
        let tree = Tree::of(&[("eval/tasks/a/files/main.rs", ""), ("xtask/src/main.rs", "")]);
        assert_eq!(tree.rust().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["xtask/src/main.rs"]);
    }

    #[test]
    fn directories_are_found_by_their_files() {
        let tree = Tree::of(&[("docs/adr/0001-crates.md", "")]);
        assert!(tree.contains("docs/adr") && tree.contains("docs/adr/0001-crates.md"));
        assert!(!tree.contains("docs/ad"));
    }
}

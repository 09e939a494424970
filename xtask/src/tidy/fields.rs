//! Architecture Invariant: a struct has at most ten fields that are visible outside its module.
//! With more of them a function that takes the struct does not show what it needs, and any file can
//! change any field. Fields that belong together become a struct of their own, or private behind
//! methods.
//!
//! A record is exempt if its fields are prescribed from outside the program: it derives `Serialize`
//! or `Deserialize` (a wire, a stored form, a settings file), or clap's `Args` or `Parser` (a
//! command line). Grouping its fields would hide the form that it mirrors. Private fields do not
//! count, nor do structs that are compiled for tests only.

use super::Problem;
use super::modules::crates;
use super::tree::{File, Tree};

/// The most fields that are visible outside the module.
const MOST: usize = 10;

/// The derives of records whose fields are prescribed from outside.
const PRESCRIBED: [&str; 4] = ["Serialize", "Deserialize", "Args", "Parser"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for read in crates(tree) {
        for (path, record) in read.records() {
            let (name, count) = (&record.name, record.visible_fields);
            let is_prescribed = record.derives.iter().any(|derive| PRESCRIBED.contains(&derive.as_str()));
            if count <= MOST || is_prescribed {
                continue;
            }
            let message = format!(
                "`{name}` has {count} fields that are visible outside its module, over {MOST}; group them, or make them private"
            );
            let line = tree.get(path).map_or(1, |file| line_of(file, name));
            problems.push(Problem::line(path, line, message));
        }
    }
    problems
}

/// Returns the line where a struct is declared.
fn line_of(file: &File, name: &str) -> usize {
    let declares = |line: &str| {
        line.split_once("struct ").is_some_and(|(_, rest)| {
            rest.strip_prefix(name)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    file.text.lines().position(declares).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Problem> {
        check(&Tree::of(&[("crates/x/src/lib.rs", text)]))
    }

    /// A struct with this many fields of this visibility.
    fn record(head: &str, count: usize, visibility: &str) -> String {
        let fields: String = (0..count).map(|at| format!("    {visibility} f{at}: u8,\n")).collect();
        format!("{head} {{\n{fields}}}\n")
    }

    #[test]
    fn a_struct_with_many_visible_fields_is_found() {
        for visibility in ["pub", "pub(crate)", "pub(super)", "pub(in crate::a)"] {
            assert_eq!(found(&record("pub(crate) struct A", 10, visibility)), []);
            let problems = found(&format!("mod b;\n{}", record("pub(crate) struct A", 11, visibility)));
            assert_eq!(problems.len(), 1, "{visibility}");
            assert_eq!(problems[0].line, Some(2));
            assert!(problems[0].message.contains("`A` has 11 fields"), "{problems:?}");
        }
    }

    #[test]
    fn fields_that_other_modules_cannot_name_do_not_count() {
        assert_eq!(found(&record("pub struct A", 20, "")), []);
        assert_eq!(found(&record("pub struct A", 20, "pub(self)")), []);
        assert_eq!(found(&record("struct A", 20, "pub")), []);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", record("pub struct A", 20, "pub"));
        assert_eq!(found(&tests), []);
    }

    #[test]
    fn records_that_are_prescribed_from_outside_are_exempt() {
        for derive in ["Debug, serde::Serialize", "Deserialize", "Args", "clap::Parser"] {
            assert_eq!(
                found(&record(&format!("#[derive({derive})]\npub struct A"), 11, "pub")),
                [],
                "{derive}"
            );
        }
        assert_eq!(found(&record("#[derive(Debug, Clone)]\npub struct A", 11, "pub")).len(), 1);
    }
}

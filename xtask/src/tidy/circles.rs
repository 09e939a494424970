//! Architecture Invariant: files do not name each other in a circle, but for a module and its
//! children. What stands below can then be read, tested and changed without what stands on it. In
//! crates with layers the same holds for the directories directly below `src`.
//!
//! The last check keeps the first one true: methods are called without naming their file, so an
//! `impl Type` stands in the module of its type or in a child of it.

use super::Problem;
use super::modules::{Edges, crates};
use super::tree::Tree;
use std::collections::{BTreeSet, HashMap};

/// Crates whose directories are layers: those directly below `src` name each other in no circle.
const LAYERED: [&str; 1] = ["crates/agent/src/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for read in crates(tree) {
        let (edges, parents) = (read.edges(), read.parents());
        for circle in circles(&edges) {
            if !is_of_one_module(&circle, &parents, read.root()) {
                problems.push(Problem::file(circle[0], described(&circle, &edges)));
            }
        }
        for source in LAYERED.iter().filter(|source| read.root().starts_with(**source)) {
            let layers = layers(&edges, source, read.root());
            let circles = circles(&layers).into_iter();
            problems.extend(circles.map(|circle| Problem::file(source, described(&circle, &layers))));
        }
        for (file, name, home) in read.stray_impls() {
            let message = format!(
                "`impl {name}` stands outside the module of `{name}` ({home}); write functions, or move it there"
            );
            problems.push(Problem::file(file, message));
        }
    }
    problems
}

/// What the modules directly below the crate name of each other. The crate itself may name all of
/// them.
fn layers(edges: &Edges, source: &str, root: &str) -> Edges {
    let layer = |file: &str| {
        let below = file.strip_prefix(source).unwrap_or(file);
        below.split('/').next().unwrap_or(below).trim_end_matches(".rs").to_owned()
    };
    let mut layers = Edges::new();
    for (file, to) in edges.iter().filter(|(file, _)| *file != root) {
        let from = layers.entry(layer(file)).or_default();
        for (other, names) in to.iter().filter(|(other, _)| layer(other) != layer(file)) {
            from.entry(layer(other)).or_default().extend(names.iter().cloned());
        }
    }
    layers
}

/// Whether the circle is a module and children of it. The crate itself is none: all its files would
/// be.
fn is_of_one_module(circle: &[&str], parents: &HashMap<&str, &str>, root: &str) -> bool {
    circle.iter().any(|module| {
        *module != root
            && circle.iter().all(|file| file == module || parents.get(file).is_some_and(|of| of == module))
    })
}

/// What each file of a circle names of the others.
fn described(circle: &[&str], edges: &Edges) -> String {
    let mut text = format!(
        "{} of these name each other in a circle; move what both sides need into a file below them:",
        circle.len()
    );
    for file in circle {
        for (to, names) in edges.get(*file).into_iter().flatten() {
            if circle.contains(&to.as_str()) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                text.push_str(&format!("\n    {file} -> {to}: {}", names.join(", ")));
            }
        }
    }
    text
}

/// The strongly connected components of more than one file, each sorted.
fn circles(edges: &Edges) -> Vec<Vec<&str>> {
    let reached: HashMap<&str, BTreeSet<&str>> =
        edges.keys().map(|file| (file.as_str(), reached_from(edges, file))).collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for file in edges.keys().map(String::as_str) {
        let both = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
        let circle: Vec<&str> = reached[file].iter().filter(both).copied().collect();
        if circle.len() > 1 && seen.insert(circle[0]) {
            found.push(circle);
        }
    }
    found
}

fn reached_from<'a>(edges: &'a Edges, file: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![file]);
    while let Some(file) = left.pop() {
        for to in edges.get(file).into_iter().flat_map(|to| to.keys()) {
            if reached.insert(to.as_str()) {
                left.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a crate with these files below `crates/x/src`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<_> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Tree::of(&files)).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_circle_is_found_through_re_exports() {
        let lib = "mod a; mod b; pub use a::A; pub use b::B;";
        let problems = found(&[
            ("lib.rs", lib),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() { drop(crate::A::new()); }"),
        ]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("crates/x/src/b.rs -> crates/x/src/a.rs: A"), "{}", problems[0]);
    }

    #[test]
    fn a_circle_is_found_through_macros_and_modules() {
        let problems = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b; pub fn f() { println!(\"{}\", b::g()); }"),
            ("b/mod.rs", "mod c; pub use c::g;"),
            ("b/c.rs", "use super::super::a::f; pub fn g() { f() }"),
        ]);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn a_module_and_its_children_may_name_each_other() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c; pub struct A; use b::B; use c::C;"),
            ("a/b.rs", "use super::{A, c::C}; pub struct B;"),
            ("a/c.rs", "use super::A; pub struct C;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn tests_and_the_crate_itself_make_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; use a::A;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
        let through_lib =
            [("lib.rs", "mod a; pub struct L; use a::A;"), ("a.rs", "use crate::L; pub struct A;")];
        assert_eq!(found(&through_lib).len(), 1);
    }

    #[test]
    fn layers_name_each_other_in_one_direction() {
        let files = |low: &'static str| {
            [
                ("crates/agent/src/lib.rs", "mod high; mod low; pub use low::a::A; pub use high::b::B;"),
                ("crates/agent/src/low/mod.rs", "pub mod a; mod c;"),
                ("crates/agent/src/low/a.rs", "pub struct A;"),
                ("crates/agent/src/low/c.rs", low),
                ("crates/agent/src/high/mod.rs", "pub mod b;"),
                ("crates/agent/src/high/b.rs", "use crate::A; pub struct B;"),
            ]
        };
        assert_eq!(check(&Tree::of(&files("use crate::A;"))), []);
        let problems = check(&Tree::of(&files("use crate::B;")));
        assert!(problems.len() == 1 && problems[0].message.contains("low -> high: B"), "{problems:?}");
    }

    #[test]
    fn methods_stand_with_their_type() {
        let lib = ("lib.rs", "mod a; mod b;");
        let a = ("a/mod.rs", "mod more; pub struct A;");
        let more = ("a/more.rs", "use super::A; impl A { fn f() {} }");
        assert_eq!(found(&[lib, a, more]), Vec::<String>::new());
        let problems = found(&[lib, a, more, ("b.rs", "use crate::a::A; impl A { fn g() {} }")]);
        assert!(problems.len() == 1 && problems[0].starts_with("`impl A` stands outside"), "{problems:?}");
    }
}

//! Glob patterns for paths.

use crate::{ToolError, tools::respell::folded};
use globset::{GlobBuilder, GlobMatcher};
use system::AbsPath;

/// The names of file types and their extensions. Any other name is taken as an extension.
const TYPES: &[(&[&str], &str)] = &[
    (&["rust"], "rs"),
    (&["python", "py"], "py,pyi"),
    (&["typescript", "ts"], "ts,tsx,mts,cts"),
    (&["javascript", "js"], "js,jsx,mjs,cjs"),
    (&["c"], "c,h"),
    (&["cpp", "c++", "cxx"], "cpp,cc,cxx,hpp,hh,hxx,h"),
    (&["csharp", "c#"], "cs"),
    (&["golang"], "go"),
    (&["ruby"], "rb"),
    (&["kotlin"], "kt,kts"),
    (&["markdown", "md"], "md,markdown"),
    (&["yaml", "yml"], "yaml,yml"),
    (&["html"], "html,htm"),
    (&["shell", "sh", "bash"], "sh,bash"),
];

/// A pattern for paths below a directory. `*` does not cross directories, `**` does. A pattern
/// without a slash matches file names at any depth.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The pattern, and the same with brackets as characters: names such as `[id]` are common in
    /// web projects.
    matchers: Vec<GlobMatcher>,
    by_name: bool,
    negated: bool,
    /// Whether the pattern names hidden or ignored files, so that the walk must include them.
    pub(super) include_ignored: bool,
}

impl Pattern {
    pub(super) fn new(given: &str) -> Result<Self, ToolError> {
        let (negated, pattern) = given.strip_prefix('!').map_or((false, given), |rest| (true, rest));
        let pattern = pattern.trim_start_matches("./");
        if pattern.trim().is_empty() {
            return Err(ToolError::message("pattern cannot be empty."));
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err(ToolError::message(format!(
                "Invalid glob '{given}': '..' is not matched; pass the folder as path."
            )));
        }
        let folded = folded(pattern);
        let build = |pattern: &str| GlobBuilder::new(pattern).literal_separator(true).build();
        let as_names = folded.contains(']').then(|| build(&with_brackets_as_names(&folded)).ok()).flatten();
        let glob = build(&folded)
            .map_err(|error| ToolError::message(format!("Invalid glob '{given}': {}", error.kind())));
        let matchers = match (glob, as_names) {
            (Err(error), None) => return Err(error),
            (glob, as_names) => glob.into_iter().chain(as_names).map(|glob| glob.compile_matcher()).collect(),
        };
        let include_ignored = pattern.split('/').any(|part| {
            (part.starts_with('.') && part.len() > 1) || ["node_modules", "vendor", "target"].contains(&part)
        });
        Ok(Self { matchers, by_name: !pattern.contains('/'), negated, include_ignored })
    }

    /// Creates a pattern for the files of a type: the name of a language or an extension.
    pub(super) fn of_type(given: &str) -> Result<Self, ToolError> {
        let name = given.trim().trim_start_matches('.').to_ascii_lowercase();
        let known = TYPES.iter().find(|(names, _)| names.contains(&name.as_str()));
        let extensions = known.map_or(name.as_str(), |(_, extensions)| extensions);
        Self::new(&format!("*.{{{extensions}}}"))
    }

    pub(super) fn matches(&self, path: &AbsPath, base: &AbsPath) -> bool {
        let subject = match self.by_name {
            true => path.file_name(),
            false => path.relative_to(base),
        };
        let is_match = |subject: &str| self.matchers.iter().any(|matcher| matcher.is_match(subject));
        let matches = |subject: &str| match subject.is_ascii() {
            true => is_match(subject),
            false => is_match(&folded(subject)),
        };
        subject.is_some_and(matches) != self.negated
    }
}

/// Returns a pattern in which brackets stand for themselves.
fn with_brackets_as_names(pattern: &str) -> String {
    let quoted = |c| match c {
        '[' => "[[]".to_owned(),
        ']' => "[]]".to_owned(),
        c => c.to_string(),
    };
    pattern.chars().map(quoted).collect()
}

/// Splits an absolute pattern into its literal directory and the rest; a relative pattern has no
/// such directory.
pub(super) fn split_absolute(given: &str) -> (Option<&str>, &str) {
    if !given.starts_with('/') {
        return (None, given);
    }
    let special = given.find(['*', '?', '[', '{']).unwrap_or(given.len());
    let slash = given[..special].rfind('/').unwrap_or(0);
    (Some(if slash == 0 { "/" } else { &given[..slash] }), &given[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_paths() {
        let base = AbsPath::new("/w").unwrap();
        for (pattern, file, expected) in [
            ("*.rs", "/w/a.rs", true),
            ("*.rs", "/w/src/a.rs", true),
            ("src/*.rs", "/w/src/a.rs", true),
            ("src/*.rs", "/w/src/b/a.rs", false),
            ("./src/**/*.rs", "/w/src/b/a.rs", true),
            ("**/*.{rs,toml}", "/w/Cargo.toml", true),
            ("**", "/w/a/b", true),
            ("!*.rs", "/w/a.rs", false),
            ("!*.rs", "/w/a.md", true),
            ("ü*", "/w/übung", true),
            ("[ab].txt", "/w/b.txt", true),
            ("app/[id]/page.tsx", "/w/app/[id]/page.tsx", true),
            ("app/[id]/page.tsx", "/w/app/i/page.tsx", true),
            ("app/[...slug]/*.tsx", "/w/app/[...slug]/page.tsx", true),
            ("app/[[...slug]]/*", "/w/app/[[...slug]]/page.tsx", true),
            ("caf\u{e9}*", "/w/cafe\u{301}.txt", true),
        ] {
            let pattern_built = Pattern::new(pattern).unwrap();
            assert_eq!(
                pattern_built.matches(&AbsPath::new(file).unwrap(), &base),
                expected,
                "{pattern} {file}"
            );
        }
        for (pattern, expected) in [
            ("", "pattern cannot be empty."),
            ("[a", "Invalid glob '[a': unclosed character class; missing ']'"),
            ("../x", "Invalid glob '../x': '..' is not matched; pass the folder as path."),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap_err().to_string(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_type_is_a_language_or_an_extension() {
        let base = AbsPath::new("/w").unwrap();
        for (kind, file, expected) in [
            ("rust", "a.rs", true),
            ("py", "src/a.pyi", true),
            ("ts", "a.tsx", true),
            ("ts", "a.js", false),
            ("zig", "a.zig", true),
            (".toml", "Cargo.toml", true),
        ] {
            let pattern = Pattern::of_type(kind).unwrap();
            assert_eq!(pattern.matches(&base.join(file), &base), expected, "{kind} {file}");
        }
    }

    #[test]
    fn splits_absolute_patterns() {
        for (given, expected) in [
            ("/w/src/**/*.rs", (Some("/w/src"), "**/*.rs")),
            ("/w/a.rs", (Some("/w"), "a.rs")),
            ("/*.rs", (Some("/"), "*.rs")),
            ("src/*.rs", (None, "src/*.rs")),
        ] {
            assert_eq!(split_absolute(given), expected, "{given}");
        }
    }
}

//! Compares names the way tolerant file systems do, which treat several spellings as the same name.

use crate::AbsPath;
use icu_normalizer::ComposingNormalizerBorrowed;
use std::borrow::Cow;

/// A path in every form that a pattern may refer to: its file name, the full path, and the path
/// relative to each of some directories. The file tools and the sandbox both compare with this
/// type, so that a pattern means the same to both.
#[derive(Debug, Clone)]
pub struct PathSpellings<'a>(Vec<Folded<'a>>);

impl<'a> PathSpellings<'a> {
    /// Creates all forms of a path, once for any number of patterns.
    pub fn of(path: &'a AbsPath, roots: &[AbsPath]) -> Self {
        let whole = Folded::of(path.as_str());
        let below = roots.iter().filter_map(|root| whole.below(&Folded::of(root.as_str())));
        let below: Vec<_> = below.collect();
        Self(below.into_iter().chain([whole]).chain(path.file_name().map(Folded::of)).collect())
    }

    /// Returns whether a pattern matches. A pattern that ends in `/` matches everything below that
    /// directory.
    pub fn matches(&self, pattern: &str) -> bool {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        self.0.iter().any(|text| match pattern.strip_suffix('/') {
            None => text.matches(pattern),
            Some(_) => text.matches(&format!("{pattern}*")),
        })
    }

    /// Returns whether a pattern matches, or the path is the directory that the pattern names.
    pub fn is_in(&self, pattern: &str) -> bool {
        let directory =
            pattern.strip_suffix('*').unwrap_or(pattern).strip_suffix('/').filter(|name| !name.is_empty());
        self.matches(pattern) || directory.is_some_and(|directory| self.matches(directory))
    }
}

/// Returns whether a pattern with `*` for any characters matches a text. Case, Unicode composition
/// and zero-width characters are ignored, as some file systems do. To match one text against many
/// patterns, see [`Folded`].
pub fn pattern_matches(pattern: &str, text: &str) -> bool {
    Folded::of(text).matches(pattern)
}

/// A text in the normalised form that patterns are matched against, computed once for any number of
/// patterns.
#[derive(Debug, Clone)]
pub struct Folded<'a>(Cow<'a, str>);

impl<'a> Folded<'a> {
    /// Normalises a text. Lower-case ASCII is not copied.
    pub fn of(text: &'a str) -> Self {
        Self(folded(text))
    }

    /// Returns a path relative to a directory: empty for the directory itself, `None` if the path
    /// does not lie below it.
    fn below(&self, directory: &Folded<'_>) -> Option<Folded<'a>> {
        let (path, directory) = (from_root(&self.0), from_root(&directory.0));
        let rest = path.strip_prefix(directory)?;
        let rest = match directory.ends_with('/') || rest.is_empty() {
            true => rest,
            false => rest.strip_prefix('/')?,
        };
        Some(Folded(Cow::Owned(rest.to_owned())))
    }

    /// Returns whether a pattern matches, as in [`pattern_matches`].
    pub fn matches(&self, pattern: &str) -> bool {
        let pattern = folded(pattern);
        let mut parts = pattern.split('*');
        let first = parts.next().expect("split yields at least one part");
        let Some(mut rest) = self.0.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // Compare the end first, before any search.
        if !rest.ends_with(last) {
            return false;
        }
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// Returns whether a path is `directory` or lies below it, in any spelling that a file system may
/// treat as the same: regardless of case, Unicode composition and zero-width characters, and
/// through the name of the macOS data volume. Every check that blocks access to a directory uses
/// this function. On a case-sensitive file system it returns `true` too often, so it must not be
/// used to grant access.
pub fn is_within(path: &AbsPath, directory: &AbsPath) -> bool {
    Folded::of(path.as_str()).below(&Folded::of(directory.as_str())).is_some()
}

/// The macOS data volume: what lies below `/` is reachable below this path too.
const DATA_VOLUME: &str = "/system/volumes/data";

/// Removes the data volume from a normalised path.
fn from_root(path: &str) -> &str {
    match path.strip_prefix(DATA_VOLUME) {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => path,
    }
}

/// Returns one spelling for all that some file system treats as the same name. Lower-case ASCII is
/// not copied.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    // HFS+ ignores these characters.
    let invisible = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let visible: String = text.chars().filter(|c| !invisible(c)).collect();
    // Composed before folding, because file systems treat marks in a different order as the same;
    // and again after it, because a capital letter may be precomposed where its small letter is
    // not.
    let composer = ComposingNormalizerBorrowed::new_nfc();
    // Upper case first, then lower case: on a case-folding file system the long s equals `s`, and
    // the Kelvin sign equals `k`.
    let lower = composer.normalize(&visible).to_uppercase().to_lowercase();
    Cow::Owned(composer.normalize(&lower).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_spellings_that_a_file_system_treats_as_one_name_match() {
        for (pattern, text, expected) in [
            (".git/*", ".GIT/Hooks", true),
            (".git/*", ".g\u{200c}it/hooks", true),
            ("*.key", "a.\u{212a}EY", true),
            ("*secret*", "\u{17f}ecret", true),
            ("gehe\u{ed}m/*", "gehei\u{301}m/x", true),
            ("gehei\u{301}m/*", "GEHE\u{cd}M/x", true),
            ("geheim/*", "gehe\u{ed}m/x", false),
            (".env", ".env\u{e9}", false),
            // Two marks on one letter, in either order.
            ("\u{3b1}\u{301}\u{345}", "\u{391}\u{345}\u{301}", true),
            ("stra\u{df}e", "STRASSE", true),
        ] {
            assert_eq!(pattern_matches(pattern, text), expected, "{pattern} {text}");
        }
    }
    #[test]
    fn a_directory_is_recognised_in_every_spelling_that_a_file_system_accepts() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        for (inner, directory, expected) in [
            ("/home/me/th/trust/x", "/home/me/th", true),
            ("/home/me/TH/trust/x", "/home/me/th", true),
            ("/HOME/Me/th", "/home/me/th", true),
            ("/home/me/than/x", "/home/me/th", false),
            ("/home/me", "/home/me/th", false),
            ("/home/me/Ge\u{301}m/x", "/home/me/g\u{e9}m", true),
            ("/home/me/g\u{e9}mm/x", "/home/me/ge\u{301}m", false),
            ("/home/me/t\u{200d}h/x", "/home/me/th", true),
            ("/home/me/\u{17f}ecret/x", "/home/me/Secret", true),
            ("/System/Volumes/Data/Users/me/th/x", "/Users/me/th", true),
            ("/Users/me/th/x", "/System/Volumes/Data/users/me/th", true),
            ("/System/Volumes/Database/Users/me", "/Users/me", false),
            ("/x", "/", true),
        ] {
            assert_eq!(is_within(&path(inner), &path(directory)), expected, "{inner} {directory}");
        }
    }

    #[test]
    fn a_pattern_is_relative_to_a_project_in_any_spelling_of_its_directory() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let (file, roots) = (path("/W/Proj/private/x"), [path("/w/proj")]);
        assert!(PathSpellings::of(&file, &roots).matches("private/*"));
        assert!(!PathSpellings::of(&path("/W/Project/private/x"), &roots).matches("private/*"));
    }
}

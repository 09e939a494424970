//! Names as the file systems compare them that take several spellings for one.

use crate::AbsPath;
use icu_normalizer::ComposingNormalizerBorrowed;
use std::borrow::Cow;

/// A path in all the ways that a pattern of paths may speak of it: its name, the whole of it, and
/// what it is below each of some folders. The file tools and the sandbox compare with this, so that
/// a pattern means the same to both.
#[derive(Debug, Clone)]
pub struct Spelled<'a>(Vec<Folded<'a>>);

impl<'a> Spelled<'a> {
    /// Takes a path apart, once for all patterns.
    pub fn of(path: &'a AbsPath, roots: &[AbsPath]) -> Self {
        let whole = Folded::of(path.as_str());
        let below = roots.iter().filter_map(|root| whole.below(&Folded::of(root.as_str())));
        let below: Vec<_> = below.collect();
        Self(below.into_iter().chain([whole]).chain(path.file_name().map(Folded::of)).collect())
    }

    /// Whether a pattern matches. One that ends in `/` is about all that lies below.
    pub fn matches(&self, pattern: &str) -> bool {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        self.0.iter().any(|text| match pattern.strip_suffix('/') {
            None => text.matches(pattern),
            Some(_) => text.matches(&format!("{pattern}*")),
        })
    }

    /// The same, and whether the path is the folder that a pattern is about.
    pub fn is_in(&self, pattern: &str) -> bool {
        let folder =
            pattern.strip_suffix('*').unwrap_or(pattern).strip_suffix('/').filter(|name| !name.is_empty());
        self.matches(pattern) || folder.is_some_and(|folder| self.matches(folder))
    }
}

/// Whether a pattern with `*` for any characters matches a text. Both are compared as a file system
/// might that takes two spellings for one name: without case, composed, and without characters that
/// have no width. One text and many patterns: see [`Folded`].
pub fn pattern_matches(pattern: &str, text: &str) -> bool {
    Folded::of(text).matches(pattern)
}

/// A text as patterns are compared with it, made once for all of them.
#[derive(Debug, Clone)]
pub struct Folded<'a>(Cow<'a, str>);

impl<'a> Folded<'a> {
    /// Makes it. What is plain and in lower case is not copied.
    pub fn of(text: &'a str) -> Self {
        Self(folded(text))
    }

    /// What a path is below a folder; empty for the folder itself, `None` for what does not lie
    /// there.
    fn below(&self, folder: &Folded<'_>) -> Option<Folded<'a>> {
        let (path, folder) = (from_root(&self.0), from_root(&folder.0));
        let rest = path.strip_prefix(folder)?;
        let rest = match folder.ends_with('/') || rest.is_empty() {
            true => rest,
            false => rest.strip_prefix('/')?,
        };
        Some(Folded(Cow::Owned(rest.to_owned())))
    }

    /// Whether a pattern matches it, as in [`pattern_matches`].
    pub fn matches(&self, pattern: &str) -> bool {
        let pattern = folded(pattern);
        let mut parts = pattern.split('*');
        let first = parts.next().expect("split yields at least one part");
        let Some(mut rest) = self.0.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // The end is compared before anything is looked for.
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

/// Whether a path is `folder` or lies below it, by any spelling that a file system may take for the
/// same: without case, composed or not, without characters that have no width, and through the name
/// that macOS has for the volume of its data. Every check that keeps something out of a folder
/// compares with this. On a file system that tells two such spellings apart it says yes too often,
/// so it must not be what lets something in.
pub fn is_within(path: &AbsPath, folder: &AbsPath) -> bool {
    Folded::of(path.as_str()).below(&Folded::of(folder.as_str())).is_some()
}

/// The volume on which macOS keeps all that is not its own: what lies below `/` lies here too.
const DATA_VOLUME: &str = "/system/volumes/data";

/// A folded path from the root that people know.
fn from_root(path: &str) -> &str {
    match path.strip_prefix(DATA_VOLUME) {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => path,
    }
}

/// One spelling for all that some file system takes for the same name. What is plain and in lower
/// case is not copied.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    // HFS+ passes over these.
    let invisible = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let visible: String = text.chars().filter(|c| !invisible(c)).collect();
    // Before, because marks in another order are the same to a file system; after, because a
    // capital may be composed where the small letter is not.
    let composer = ComposingNormalizerBorrowed::new_nfc();
    // Up and down again: a long s is an s, and a Kelvin sign a k, to a file system that folds case.
    let lower = composer.normalize(&visible).to_uppercase().to_lowercase();
    Cow::Owned(composer.normalize(&lower).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_spellings_that_a_file_system_takes_for_one_name_match() {
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
    fn a_folder_is_recognised_by_every_spelling_that_a_file_system_takes_for_it() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        for (inner, folder, expected) in [
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
            assert_eq!(is_within(&path(inner), &path(folder)), expected, "{inner} {folder}");
        }
    }

    #[test]
    fn a_pattern_is_relative_to_a_project_however_its_folder_is_spelled() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let (file, roots) = (path("/W/Proj/private/x"), [path("/w/proj")]);
        assert!(Spelled::of(&file, &roots).matches("private/*"));
        assert!(!Spelled::of(&path("/W/Project/private/x"), &roots).matches("private/*"));
    }
}

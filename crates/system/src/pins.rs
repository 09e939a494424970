//! The resolved paths that a permission decision about a tool call was based on.

use crate::{AbsPath, Sandbox};

/// Binds the reads and writes of one tool call to its permission decision: where its paths resolved
/// to, and which files it must not touch under any name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    /// Pairs of a path as the call declares it and its resolved target.
    pub places: Vec<(AbsPath, AbsPath)>,
    /// The sandbox whose hidden and secret files must not be reached under another name (hard
    /// links).
    pub secrets: Sandbox,
}

impl Pins {
    /// Returns where a path must lead, derived from the longest declared path that equals it or
    /// contains it. Returns `None` for a path that the decision did not cover.
    pub fn target(&self, path: &AbsPath) -> Option<AbsPath> {
        let holding =
            self.places.iter().filter_map(|(declared, target)| Some((path.relative_to(declared)?, target)));
        let (rest, target) = holding.min_by_key(|(rest, _)| rest.len())?;
        Some(if rest.is_empty() { target.clone() } else { target.join(rest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_pinned_path_determines_the_target() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let places = [("/w", "/w"), ("/w/link", "/real"), ("/w/file", "/w/other")];
        let places = places.map(|(declared, target)| (path(declared), path(target))).to_vec();
        let pins = Pins { places, ..Pins::default() };
        for (given, expected) in [
            ("/w/a/b", Some("/w/a/b")),
            ("/w/link/x", Some("/real/x")),
            ("/w/file", Some("/w/other")),
            ("/w-evil", None),
        ] {
            assert_eq!(pins.target(&path(given)), expected.map(path), "{given}");
        }
    }
}

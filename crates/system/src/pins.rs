//! What the files of a call were found to be when it was decided about.

use crate::{AbsPath, Sandbox};

/// Binds the reads and writes of a call to what was decided: where its paths led, and which files it must not touch under whatever name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    /// A path as the call declares it, and where it led with its links resolved.
    pub places: Vec<(AbsPath, AbsPath)>,
    /// Whose hidden and secret files are not to be had by another of their names either.
    pub secrets: Sandbox,
}

impl Pins {
    /// Where a path has to lead: that of the longest declared path that it is, or lies below. `None` for one that nothing was decided about.
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
    fn the_nearest_declared_path_tells_where_a_path_leads() {
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

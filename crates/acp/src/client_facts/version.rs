//! Client versions and version ranges.

/// A range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The inclusive lower bound; `None` for no bound.
    pub from: Option<&'static str>,
    /// The exclusive upper bound; `None` for no bound.
    pub until: Option<&'static str>,
}

impl Versions {
    /// Every version, including a missing one.
    pub const ALL: Self = Self { from: None, until: None };

    /// Returns whether a version is in the range. A version that is missing or starts with no
    /// number is only in [`Self::ALL`].
    pub fn contain(self, version: Option<&str>) -> bool {
        if self == Self::ALL {
            return true;
        }
        let Some(version) = version.and_then(numbers) else { return false };
        let bound = |bound: Option<&'static str>| bound.and_then(numbers);
        bound(self.from).is_none_or(|from| from <= version)
            && bound(self.until).is_none_or(|until| version < until)
    }
}

/// Parses the numbers of a version, without trailing zeros: `1.2.0` is `1.2`.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let version = version.trim().trim_start_matches(['v', 'V']);
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let numbers = version[..end].split('.').map_while(|number| number.parse().ok());
    let mut numbers: Vec<u64> = numbers.collect();
    if numbers.is_empty() {
        return None;
    }
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let range = Versions { from: Some("0.2"), until: Some("0.10.0") };
        for version in ["0.2", "v0.2.0", "0.2.0-beta.1", "0.9.17+build", " 0.2.1 ", "0.9"] {
            assert!(range.contain(Some(version)), "{version}");
        }
        for version in ["0.1.99", "0.10", "0.10.0-rc1", "1", "", "nightly", "v", "."] {
            assert!(!range.contain(Some(version)), "{version}");
        }
        assert!(!range.contain(None));
        assert!(Versions { from: None, until: Some("2") }.contain(Some("0")));
        assert!(Versions { from: Some("2"), until: None }.contain(Some("2.0.0.1")));
        assert!(!Versions { from: None, until: Some("2") }.contain(None));
    }

    #[test]
    fn a_range_without_bounds_holds_for_every_version() {
        for version in [None, Some(""), Some("nightly"), Some("99999999999999999999999.1")] {
            assert!(Versions::ALL.contain(version), "{version:?}");
        }
    }
}

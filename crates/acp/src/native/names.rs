//! Names of the native layer's methods and events.

/// The prefix of a method's or an event's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// `_tiller/`. The protocol reserves the underscore for extensions.
    Tiller,
    /// `kosmokrator/`.
    Kosmokrator,
    /// `kosmo/`, an alias.
    Kosmo,
    /// `_kosmokrator/`, an alias.
    ReservedKosmokrator,
}

impl Prefix {
    /// All prefixes.
    pub(crate) const ALL: [Self; 4] =
        [Self::Tiller, Self::Kosmokrator, Self::Kosmo, Self::ReservedKosmokrator];

    /// Returns the prefix, including the slash.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Tiller => "_tiller/",
            Self::Kosmokrator => "kosmokrator/",
            Self::Kosmo => "kosmo/",
            Self::ReservedKosmokrator => "_kosmokrator/",
        }
    }

    /// Splits a method into prefix and name; `None` if it is not a method of the native layer.
    pub(crate) fn split(method: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|prefix| Some((prefix, method.strip_prefix(prefix.text())?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_one_prefix() {
        for (method, expected) in [
            ("_tiller/doctor", Some((Prefix::Tiller, "doctor"))),
            ("kosmokrator/runtime/set", Some((Prefix::Kosmokrator, "runtime/set"))),
            ("kosmo/capabilities", Some((Prefix::Kosmo, "capabilities"))),
            ("_kosmokrator/x", Some((Prefix::ReservedKosmokrator, "x"))),
            ("tiller/x", None),
            ("session/new", None),
        ] {
            assert_eq!(Prefix::split(method), expected);
        }
    }
}

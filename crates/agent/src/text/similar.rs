//! Finds the name that a mistyped one was probably meant to be.

/// Returns the known item with the name that `given` was probably meant to be; `None` if no name is
/// close enough to suggest it.
///
/// Case, hyphens, dots and other signs do not count. Close is a name with one typing error, from
/// five characters on two, from ten on three; else one that begins with `given`, from three
/// characters on. Among equally close names the one of the most similar length wins.
pub fn closest<T>(given: &str, known: impl IntoIterator<Item = T>, name: impl Fn(&T) -> &str) -> Option<T> {
    let given = folded(given);
    let length = given.chars().count();
    let most = match length {
        0 => return None,
        1..5 => 1,
        5..10 => 2,
        _ => 3,
    };
    let rank = |known: &str| {
        let known = folded(known);
        let longer = known.chars().count().abs_diff(length);
        let distance = strsim::damerau_levenshtein(&known, &given);
        // One error in a word of one or two letters leaves nothing of it.
        if distance <= most && (distance == 0 || length > 2) {
            return Some((distance, longer));
        }
        (length > 2 && known.starts_with(&given)).then_some((usize::MAX, longer))
    };
    known
        .into_iter()
        .filter_map(|item| Some((rank(name(&item))?, item)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, item)| item)
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_suggested_for_typing_errors_other_signs_and_its_beginning() {
        let known =
            ["sessions", "settings", "setup", "get_sum", "ls", "agent.mode", "providers.custom.headers"];
        for (given, expected) in [
            ("sesions", Some("sessions")),
            ("Sessions", Some("sessions")),
            ("seting", Some("settings")),
            ("sess", Some("sessions")),
            ("set", Some("setup")),
            ("get-sum", Some("get_sum")),
            ("getSam", Some("get_sum")),
            ("agent.modle", Some("agent.mode")),
            ("provider.custm.header", Some("providers.custom.headers")),
            ("LS", Some("ls")),
            ("lx", None),
            ("se", None),
            ("abc", None),
            ("frobnicate", None),
            ("", None),
            ("--", None),
        ] {
            assert_eq!(closest(given, known, |name| name), expected, "{given}");
        }
    }
}

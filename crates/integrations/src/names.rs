//! What integrations and their functions are called.

use crate::limits::{FUNCTION_CHARS, NAME_CHARS, TOOL_CHARS};

/// What begins the name of a function in rules and for models: `integration__PROVIDER__FUNCTION`.
const PREFIX: &str = "integration__";

/// Names that settings of all integrations have.
const TAKEN: [&str; 3] = ["permissions_default", "native_tools", "default"];

/// A name for an integration: `a`-`z`, `0`-`9` and single underscores, a letter first. `None` where nothing of it can be one.
pub fn integration_name(given: &str) -> Option<String> {
    let name = snake(&given.to_lowercase(), NAME_CHARS);
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase()) && !TAKEN.contains(&name.as_str());
    fits.then_some(name)
}

/// What the gate and models call a function: `integration__PROVIDER__FUNCTION`. One that is too long ends in a hash, so that two never become one.
pub fn tool_name(provider: &str, function: &str) -> String {
    let name = format!("{PREFIX}{provider}__{function}");
    if name.len() <= TOOL_CHARS {
        return name;
    }
    let hash = &blake3::hash(function.as_bytes()).to_hex()[..8];
    format!("{}_{hash}", &name[..TOOL_CHARS - 9])
}

/// A function's name from an operation's: `issues/list-for-repo` and `issuesListForRepo` are `issues_list_for_repo`.
pub(crate) fn function_name(given: &str) -> String {
    let name = snake(given, FUNCTION_CHARS);
    match name.chars().next() {
        None => "call".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("call_{name}"),
        Some(_) => name,
    }
}

/// A function's name where the operation has none: from what it does to what.
pub(crate) fn name_of_path(method: &str, path: &str) -> String {
    let mut name = method.to_ascii_lowercase();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(given) => name.push_str(&format!("_by_{given}")),
            None => name.push_str(&format!("_{part}")),
        }
    }
    function_name(&name)
}

/// A parameter's name as every vendor takes it for a member of a schema.
pub(crate) fn parameter_key(given: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut key = String::new();
    for c in given.chars() {
        match plain(c) {
            true => key.push(c),
            false if key.ends_with('_') => {}
            false => key.push('_'),
        }
    }
    let key: String = key.trim_end_matches('_').chars().take(64).collect();
    if key.is_empty() { "value".to_owned() } else { key }
}

/// Whether two spellings are of one name: `workspace-slug`, `workspaceSlug` and `workspace_slug` are.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    let folded = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    folded(a) == folded(b)
}

/// Lower case, with one underscore where a word begins.
fn snake(given: &str, most: usize) -> String {
    let chars: Vec<char> = given.chars().collect();
    let mut name = String::new();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if (begins || !c.is_ascii_alphanumeric()) && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        }
    }
    name.truncate(most);
    name.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_become_names_of_one_kind() {
        for (given, name) in [
            ("issues/list-for-repo", "issues_list_for_repo"),
            ("listPets", "list_pets"),
            ("getHTTPStatus2xx", "get_http_status2xx"),
            ("GetUserByID", "get_user_by_id"),
            ("already_fine", "already_fine"),
            ("a..b--c", "a_b_c"),
            ("2fa.enable", "call_2fa_enable"),
            ("…", "call"),
        ] {
            assert_eq!(function_name(given), name, "{given}");
        }
        assert_eq!(name_of_path("GET", "/pets/{petId}/toys/"), "get_pets_by_pet_id_toys");
        assert_eq!(name_of_path("POST", "/"), "post");
    }

    #[test]
    fn an_integrations_name_is_a_word_of_settings() {
        for (given, name) in [
            ("GitHub", Some("github")),
            ("plane", Some("plane")),
            ("my-API v2", Some("my_api_v2")),
            ("a__b", Some("a_b")),
            ("9lives", None),
            ("", None),
            ("native_tools", None),
        ] {
            assert_eq!(integration_name(given).as_deref(), name, "{given}");
        }
    }

    #[test]
    fn two_functions_never_get_one_tool() {
        assert_eq!(tool_name("plane", "list_issues"), "integration__plane__list_issues");
        let (a, b) = (tool_name("p", &"x".repeat(63)), tool_name("p", &"x".repeat(64)));
        assert!(a.len() == 64 && b.len() == 64 && a != b, "{a} {b}");
    }

    #[test]
    fn parameters_are_members_that_vendors_take() {
        for (given, key) in
            [("per_page", "per_page"), ("filter[state]", "filter_state"), ("$top", "_top"), ("[]", "value")]
        {
            assert_eq!(parameter_key(given), key);
        }
        assert!(alike("workspace-slug", "workspaceSlug") && !alike("a", "ab"));
    }
}

//! The names of integrations, functions and parameters.

use crate::limits::{FUNCTION_CHARS, NAME_CHARS, TOOL_CHARS};

/// The prefix of function names in rules and for models: `integration__PROVIDER__FUNCTION`.
const PREFIX: &str = "integration__";

/// Reserved names: keys of the settings that apply to all integrations.
const TAKEN: [&str; 3] = ["permissions_default", "native_tools", "default"];

/// Converts a name to the form of an integration's name: `a`-`z`, `0`-`9` and single underscores,
/// beginning with a letter. Returns `None` if that is impossible or the name is reserved.
pub fn integration_name(given: &str) -> Option<String> {
    let name = snake(&given.to_lowercase(), NAME_CHARS);
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase()) && !TAKEN.contains(&name.as_str());
    fits.then_some(name)
}

/// Returns a function's name for models and the permission gate: `integration__PROVIDER__FUNCTION`.
/// A name that is too long ends in a hash, so that two functions never share a name.
pub fn tool_name(provider: &str, function: &str) -> String {
    let name = format!("{PREFIX}{provider}__{function}");
    if name.len() <= TOOL_CHARS {
        return name;
    }
    let hash = &blake3::hash(function.as_bytes()).to_hex()[..8];
    format!("{}_{hash}", &name[..TOOL_CHARS - 9])
}

/// Derives a function's name from an operation id: `issues/list-for-repo` and `issuesListForRepo`
/// become `issues_list_for_repo`.
pub(crate) fn function_name(given: &str) -> String {
    let name = snake(given, FUNCTION_CHARS);
    match name.chars().next() {
        None => "call".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("call_{name}"),
        Some(_) => name,
    }
}

/// Derives a function's name from method and path, for operations without an id.
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

/// Converts a parameter's name to a form that every vendor accepts as a schema property.
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

/// Returns the parameter names in a path, in order.
pub(crate) fn names_in(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        names.push(name.trim_start_matches('+').to_owned());
        rest = after;
    }
    names
}

/// Returns whether two names differ in spelling only: `workspace-slug`, `workspaceSlug` and
/// `workspace_slug` are alike.
pub(crate) fn is_same_name(a: &str, b: &str) -> bool {
    let folded = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    folded(a) == folded(b)
}

/// Converts to snake case, with at most `limit` characters.
fn snake(given: &str, limit: usize) -> String {
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
    name.truncate(limit);
    name.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_get_names_in_snake_case() {
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
    fn an_integrations_name_is_a_valid_settings_key() {
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
    fn parameter_keys_are_accepted_by_all_vendors() {
        for (given, key) in
            [("per_page", "per_page"), ("filter[state]", "filter_state"), ("$top", "_top"), ("[]", "value")]
        {
            assert_eq!(parameter_key(given), key);
        }
        assert!(is_same_name("workspace-slug", "workspaceSlug") && !is_same_name("a", "ab"));
    }
}

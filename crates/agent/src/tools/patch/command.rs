//! Extracts the patch from a shell command that calls `apply_patch`, as some models write it.

use serde_json::Value;

/// The names that such models use for the tool.
const NAMES: [&str; 2] = ["apply_patch", "applypatch"];

/// Returns the patch of a command that only applies one: `apply_patch <<'EOF' …`, `apply_patch
/// '…'`, `["apply_patch", "…"]`, or any of these within `bash -lc` or after a `cd` into a
/// directory. `None` if the command does anything else as well.
pub(crate) fn patch_of_command(command: &str) -> Option<String> {
    let command = command.trim();
    match serde_json::from_str::<Value>(command) {
        Ok(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            of_words(&words)
        }
        _ => of_script(command),
    }
}

fn of_words(words: &[&str]) -> Option<String> {
    match words {
        [name, patch] if NAMES.contains(name) => Some((*patch).to_owned()),
        [shell, "-c" | "-lc", script] if is_shell(shell) => of_script(script.trim()),
        _ => None,
    }
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "zsh"))
}

fn of_script(script: &str) -> Option<String> {
    if let Some((folder, rest)) = script.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        let folder = folder.trim().trim_matches(['\'', '"']);
        let is_plain = !folder.is_empty() && !folder.contains(['\n', '$', '~', '`', ';', '|', '*']);
        return of_script(rest.trim_start()).filter(|_| is_plain).map(|patch| in_folder(&patch, folder));
    }
    let rest = NAMES.iter().find_map(|name| script.strip_prefix(name))?;
    if !rest.starts_with([' ', '\t', '<', '\'', '"', '\n']) {
        return None;
    }
    let rest = rest.trim_start();
    match rest.strip_prefix("<<") {
        Some(document) => here_document(document),
        None => quoted(rest),
    }
}

/// Returns the body of a here-document that nothing follows.
fn here_document(document: &str) -> Option<String> {
    let document = document.strip_prefix('-').unwrap_or(document);
    let (word, body) = document.split_once('\n')?;
    let word = word.trim().trim_matches(['\'', '"']);
    let is_word = !word.is_empty() && word.chars().all(|char| char.is_alphanumeric() || char == '_');
    let (body, rest) = match body.lines().position(|line| line.trim() == word) {
        Some(end) => {
            let lines: Vec<&str> = body.lines().collect();
            (lines[..end].join("\n"), lines[end + 1..].concat())
        }
        // Without a closing word, the shell also ends the here-document at the end of its input.
        None => (body.to_owned(), String::new()),
    };
    (is_word && rest.trim().is_empty()).then_some(body)
}

/// Returns the single quoted word at the end of a command line.
fn quoted(word: &str) -> Option<String> {
    let quote = word.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let body = word[1..].trim_end().strip_suffix(quote)?;
    match quote {
        // `'\''` is an escaped quote in a single-quoted word.
        '\'' => {
            let body = body.replace("'\\''", "\u{0}");
            (!body.contains('\'')).then(|| body.replace('\u{0}', "'"))
        }
        _ => {
            let is_closed = body.match_indices('"').any(|(at, _)| !body[..at].ends_with('\\'));
            let body = ["\"", "$", "`"]
                .iter()
                .fold(body.to_owned(), |body, char| body.replace(&format!("\\{char}"), char));
            (!is_closed).then(|| body.replace("\\\\", "\\"))
        }
    }
}

/// Prefixes the patch's relative paths with a directory.
fn in_folder(patch: &str, folder: &str) -> String {
    const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
    let line = |line: &str| {
        let header =
            HEADERS.iter().find_map(|header| line.strip_prefix(header).map(|path| (header, path.trim())));
        match header {
            Some((header, path)) if !path.starts_with('/') => {
                format!("{header} {}/{path}", folder.trim_end_matches('/'))
            }
            _ => line.to_owned(),
        }
    };
    patch.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n@@\n-it's\n+\"b\"\n*** End Patch";

    #[test]
    fn finds_the_patch_of_a_command() {
        let single = PATCH.replace('\'', "'\\''");
        let double = PATCH.replace('"', "\\\"");
        let json = serde_json::json!(["apply_patch", PATCH]).to_string();
        let shell =
            serde_json::json!(["bash", "-lc", format!("apply_patch <<'EOF'\n{PATCH}\nEOF")]).to_string();
        for command in [
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF"),
            format!("  apply_patch << \"PATCH\"\n{PATCH}\nPATCH\n"),
            format!("applypatch <<EOF\n{PATCH}"),
            format!("apply_patch '{single}'"),
            format!("apply_patch \"{double}\""),
            json,
            shell,
        ] {
            assert_eq!(patch_of_command(&command).as_deref(), Some(PATCH), "{command}");
        }
        let moved = PATCH.replace("File: a", "File: sub/a");
        assert_eq!(patch_of_command(&format!("cd sub/ && apply_patch <<'EOF'\n{PATCH}\nEOF")), Some(moved));
    }

    #[test]
    fn other_commands_are_commands() {
        for command in [
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF\ncargo test"),
            format!("cat <<'EOF' > p\n{PATCH}\nEOF"),
            format!("apply_patch '{PATCH}' && ls"),
            format!("cd $DIR && apply_patch <<'EOF'\n{PATCH}\nEOF"),
            "apply_patch".to_owned(),
            "apply_patch p.diff".to_owned(),
            "apply_patches '*** Begin Patch'".to_owned(),
            "git apply p.diff".to_owned(),
            "[\"ls\", \"-la\"]".to_owned(),
            "[ -f a ]".to_owned(),
        ] {
            assert_eq!(patch_of_command(&command), None, "{command}");
        }
    }
}

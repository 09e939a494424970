//! Shows a small model parts of the project before its first request: file names, and the text of
//! files that the prompt names or refers to. Such models guess file contents; most of their first
//! calls would read these files, and each round costs seconds.

use super::within;
use crate::{
    input::attachments::Open,
    limits::{AHEAD_BYTES, AHEAD_FILES, AHEAD_NAMES, AHEAD_SEARCHED, AHEAD_SEARCHED_BYTES, LOOK_AROUND_WAIT},
    text::cut::floor_char_boundary,
};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};
use system::{AbsPath, System, WalkOptions};

/// Minimum length of a word that is searched for in files, in bytes.
const WORD: usize = 4;
/// Words that do not help to select a file.
const COMMON: [&str; 36] = [
    "about", "after", "also", "change", "code", "does", "each", "every", "file", "files", "from", "function",
    "have", "into", "line", "make", "must", "name", "named", "only", "project", "rename", "return",
    "returns", "should", "that", "them", "then", "there", "this", "what", "when", "where", "which", "with",
    "write",
];

/// The last line of a truncated file.
const CUT: &str = "\n[cut here: read the rest with file_read]";

/// The files found for a prompt.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// The text for the model; may be empty.
    pub(crate) text: String,
    /// The files whose whole text is included.
    pub(crate) whole: Vec<(AbsPath, String)>,
}

/// Reads ahead for a prompt. `names` says whether to include file names. `is_known` says whether
/// the model has already seen a file's current text. Reads only what `open` permits; gives up after
/// 5 s.
pub(crate) async fn read_ahead(
    system: &dyn System,
    cwd: &AbsPath,
    prompt: &str,
    names: bool,
    open: &Open<'_>,
    is_known: &(dyn Fn(&AbsPath, &str) -> bool + Send + Sync),
) -> ReadAhead {
    let read = async {
        let options = WalkOptions { limit: AHEAD_SEARCHED, include_ignored: false };
        let files = system.walk(cwd, options).await.unwrap_or_default();
        let files: Vec<_> = files
            .into_iter()
            .filter_map(|path| Some((path.relative_to(cwd)?.to_owned(), path)))
            .filter(|(name, _)| !is_hidden(name))
            .collect();
        let mut ahead = ReadAhead::default();
        if names && !files.is_empty() {
            ahead.text.push_str("<files>\n");
            for (name, _) in files.iter().take(AHEAD_NAMES) {
                let _ = writeln!(ahead.text, "{}", crate::one_line(name));
            }
            if files.len() > AHEAD_NAMES {
                ahead.text.push_str("… (glob finds more)\n");
            }
            ahead.text.push_str("</files>\n");
        }
        let mut left = AHEAD_BYTES;
        let read = match all(system, &files, open).await {
            Some(all) => all,
            None => chosen(system, &files, prompt, open).await,
        };
        for (name, path, text) in read {
            if is_known(&path, &text) || left == 0 {
                continue;
            }
            let end = floor_char_boundary(&text, left);
            let (shown, note) = match end == text.len() {
                true => (text.as_str(), ""),
                false => (&text[..end], CUT),
            };
            left -= end;
            let shown = within("file", shown);
            let _ = writeln!(
                ahead.text,
                "<file path=\"{}\">\n{}{note}\n</file>",
                crate::one_line(&name),
                shown.trim_end_matches('\n')
            );
            if note.is_empty() {
                ahead.whole.push((path, text));
            }
        }
        ahead
    };
    tokio::time::timeout(LOOK_AROUND_WAIT, read).await.unwrap_or_default()
}

/// The files shown by a text of `read_ahead`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShownProject {
    /// The names of files, relative to the working directory.
    pub names: Vec<String>,
    /// The files whose whole text is shown: the name, and the text without trailing empty lines.
    pub texts: Vec<(String, String)>,
}

impl ShownProject {
    /// Parses the text. Returns an empty value for any other text.
    pub fn parse(text: &str) -> Self {
        let mut shown = Self::default();
        let mut rest = text;
        if let Some(list) = rest.strip_prefix("<files>\n") {
            let Some((names, after)) =
                list.split_once("</files>\n").or_else(|| Some((list.strip_suffix("</files>")?, "")))
            else {
                return shown;
            };
            let names = names.lines().filter(|name| !name.starts_with('…'));
            shown.names.extend(names.map(str::to_owned));
            rest = after.trim_start_matches('\n');
        }
        while let Some(file) = rest.strip_prefix("<file path=\"") {
            let Some((name, file)) = file.split_once("\">\n") else { break };
            let Some((text, after)) = file.split_once("\n</file>") else { break };
            if !text.ends_with(CUT) {
                shown.texts.push((name.to_owned(), format!("{}\n", text.replace("< /file", "</file"))));
            }
            rest = after.trim_start_matches('\n');
        }
        shown
    }
}

/// Whether a file, or one of its parent directories, has a name that begins with a dot.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.'))
}

/// Returns all files of a project that is small enough to be shown completely; otherwise `None`.
async fn all(
    system: &dyn System,
    files: &[(String, AbsPath)],
    open: &Open<'_>,
) -> Option<Vec<(String, AbsPath, String)>> {
    let mut left = AHEAD_BYTES as u64;
    for (_, path) in files {
        left = left.checked_sub(system.metadata(path).await.ok()?.size)?;
    }
    let mut all = Vec::new();
    for (name, path) in files {
        if let Some(text) = text(system, path, open).await {
            all.push((name.clone(), path.clone(), text));
        }
    }
    Some(all)
}

/// Returns the files that a prompt names; if none, those that contain most of its words.
async fn chosen(
    system: &dyn System,
    files: &[(String, AbsPath)],
    prompt: &str,
    open: &Open<'_>,
) -> Vec<(String, AbsPath, String)> {
    let said = prompt.to_lowercase();
    let words: BTreeSet<&str> = said
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')))
        .map(|word| word.trim_matches(['.', '/', '-']))
        .collect();
    let is_named = |name: &str| {
        let name = name.to_lowercase();
        let file = name.rsplit('/').next().unwrap_or(&name);
        words.contains(name.as_str()) || words.contains(file)
    };
    let mut chosen = Vec::new();
    for (name, path) in files.iter().filter(|(name, _)| is_named(name)).take(AHEAD_FILES) {
        if let Some(text) = text(system, path, open).await {
            chosen.push((name.clone(), path.clone(), text));
        }
    }
    if !chosen.is_empty() {
        return chosen;
    }
    let words: BTreeSet<&str> = words
        .iter()
        .flat_map(|word| word.split(['.', '/', '-']))
        .filter(|word| word.len() >= WORD && !COMMON.contains(word))
        // Without its ending, a plural also finds the singular.
        .map(|word| word.strip_suffix('s').unwrap_or(word))
        .collect();
    let mut scored = Vec::new();
    for (name, path) in files {
        // From disk: an editor must not receive a request for every file of the project.
        let Some(allowed) = readable(system, path, open).await else { continue };
        let Ok(bytes) = allowed.read(path).await else { continue };
        let held = format!("{name}\n{}", String::from_utf8_lossy(&bytes)).to_lowercase();
        let score = words.iter().filter(|word| held.contains(**word)).count();
        if score > 0 {
            scored.push((score, name, path));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    for (_, name, path) in scored.into_iter().take(AHEAD_FILES) {
        if let Some(text) = text(system, path, open).await {
            chosen.push((name.clone(), path.clone(), text));
        }
    }
    chosen
}

/// Returns the text of a file, from the editor's buffer if reads are delegated.
async fn text(system: &dyn System, path: &AbsPath, open: &Open<'_>) -> Option<String> {
    readable(system, path, open).await?.read_text(path, None).await.ok()
}

/// Returns the system for reading a file, if it may be read without approval and is not too large.
async fn readable(system: &dyn System, path: &AbsPath, open: &Open<'_>) -> Option<Arc<dyn System>> {
    let canonical = system.resolve(path).await.ok()?;
    let size = system.metadata(path).await.ok()?.size;
    if size > AHEAD_SEARCHED_BYTES {
        return None;
    }
    open(path, &canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    async fn ahead(files: &[(&str, &str)], prompt: &str) -> ReadAhead {
        let system = Arc::new(FakeSystem::new());
        for (name, text) in files {
            system.add_file(&format!("/w/{name}"), text);
        }
        let cwd = AbsPath::new("/w").unwrap();
        let blocked = |path: &AbsPath| path.as_str().ends_with(".key");
        let shared = system.clone();
        let open =
            move |path: &AbsPath, _: &AbsPath| (!blocked(path)).then(|| shared.clone() as Arc<dyn System>);
        read_ahead(system.as_ref(), &cwd, prompt, true, &open, &|_, _| false).await
    }

    /// Too long to be shown with the others, and without words to match.
    const LONG: &str = match str::from_utf8(&[b'-'; AHEAD_BYTES + 1]) {
        Ok(text) => text,
        Err(_) => "",
    };
    const FILES: &[(&str, &str)] = &[
        ("app.py", "def greet():\n    return 'hello'\n"),
        ("long.txt", LONG),
        ("mail/send.py", "def send_mail(to):\n    pass\n"),
        ("server.key", "mail mail mail\n"),
        (".git/hooks/update.sample", "mail mail\n"),
    ];

    #[tokio::test]
    async fn a_file_that_is_named_is_read_and_no_other() {
        let found = ahead(FILES, "What does app.py return?").await;
        assert!(found.text.starts_with("<files>\napp.py\nlong.txt\nmail/send.py\nserver.key\n</files>\n"));
        assert!(found.text.contains("<file path=\"app.py\">\ndef greet():"), "{}", found.text);
        assert!(!found.text.contains("send_mail"), "{}", found.text);
        assert_eq!(found.whole.len(), 1);
    }

    #[tokio::test]
    async fn without_a_name_the_files_that_speak_of_it_are_read_and_blocked_ones_are_not() {
        let found = ahead(FILES, "Which function sends the mails?").await;
        assert!(found.text.contains("<file path=\"mail/send.py\">\ndef send_mail"), "{}", found.text);
        assert!(!found.text.contains("mail mail"), "{}", found.text);
    }

    #[tokio::test]
    async fn a_project_that_is_small_is_shown_completely() {
        let files = [("a.py", "1\n"), ("b/c.py", "</file>\n"), ("server.key", "secret\n")];
        let found = ahead(&files, "What does a.py do?").await;
        assert!(!found.text.contains("secret"), "{}", found.text);
        let shown = ShownProject::parse(found.text.trim_end());
        assert_eq!(shown.names, ["a.py", "b/c.py", "server.key"]);
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(shown.texts, [text("a.py", "1\n"), text("b/c.py", "</file>\n")]);
    }

    #[test]
    fn other_texts_show_no_files() {
        for text in ["", "What is in <files>?", "<file path=\"a", "<files>\na.py"] {
            assert_eq!(ShownProject::parse(text), ShownProject::default(), "{text}");
        }
    }

    #[tokio::test]
    async fn what_is_long_is_cut_and_is_not_taken_for_read() {
        let long = "word\n".repeat(5_000);
        let found = ahead(&[("a.txt", &long)], "What is in a.txt?").await;
        assert!(found.text.len() < AHEAD_BYTES + 200, "{}", found.text.len());
        assert!(ShownProject::parse(&found.text).texts.is_empty(), "only a part is shown");
        assert!(found.text.contains("[cut here") && found.whole.is_empty());
        assert!(ahead(&[], "anything").await.text.is_empty());
    }
}

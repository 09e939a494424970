//! Files that are dropped on the terminal: they arrive as pasted paths, in the spelling of the
//! terminal or of the desktop.

use super::{App, effect::Effect};
use crate::driver::request::Request;

impl App {
    /// Takes a pasted text that is one or several dropped files: images are attached, and an
    /// address of a file is pasted as its path. Returns `None` for any other text.
    pub(super) fn drop_files(&mut self, text: &str) -> Option<Vec<Effect>> {
        let paths = dropped(text.trim())?;
        let attach = |path: &String| {
            // What is no image after all is pasted: a single one as it came.
            let text = if paths.len() == 1 && !text.contains(SCHEME) { text } else { path };
            Effect::Request(Request::Dropped { path: path.clone(), text: text.to_owned() })
        };
        if paths.iter().all(|path| is_image(path)) {
            return Some(paths.iter().map(attach).collect());
        }
        text.contains(SCHEME).then(|| {
            self.composer.paste(&paths.join(" "));
            Vec::new()
        })
    }
}

/// The beginning of the address of a file.
const SCHEME: &str = "file://";

/// Returns the paths of dropped files: words of a shell, quoted or with backslashes, that are
/// paths; addresses of files, in which `%20` is a blank; or a whole line that is an absolute path
/// with blanks in it.
fn dropped(text: &str) -> Option<Vec<String>> {
    let lines_of_addresses = || text.lines().all(|line| line.starts_with(SCHEME));
    if text.is_empty() || (text.contains('\n') && !lines_of_addresses()) {
        return None;
    }
    let words = words(text).unwrap_or_default();
    if !words.is_empty() && words.iter().all(|word| is_path(word) || is_relative(word)) {
        return words.iter().map(|word| path(word)).collect();
    }
    let marks_blanks = text.contains(['\n', '\\']) || text.starts_with(['\'', '"']);
    (is_path(text) && !marks_blanks).then(|| path(text).map(|path| vec![path])).flatten()
}

/// Splits a text into words as a shell does; `None` if a quotation does not end.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().push(characters.next()?),
            (end, Some(begun)) if end == begun => quote = None,
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether a text begins as an absolute path does, or is the address of a file. A slash command,
/// such as `/image dot.png`, has no second slash in its first word.
fn is_path(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    first.starts_with(SCHEME) || first.strip_prefix(['/', '~']).is_some_and(|rest| rest.contains('/'))
}

fn is_relative(word: &str) -> bool {
    word.starts_with("./") || word.starts_with("../")
}

fn path(word: &str) -> Option<String> {
    if word.starts_with(SCHEME) { agent::file_uri_path(word) } else { Some(word.to_owned()) }
}

fn is_image(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".webp"].iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_files_are_recognised_in_every_spelling_and_other_texts_are_not() {
        for (text, paths) in [
            ("/a/b.png", Some(&["/a/b.png"][..])),
            ("'/a/my shot.png'", Some(&["/a/my shot.png"])),
            ("\"/a/my shot.png\"", Some(&["/a/my shot.png"])),
            ("/a/my\\ shot\\ \\(1\\).png", Some(&["/a/my shot (1).png"])),
            ("/a/my shot.png", Some(&["/a/my shot.png"])),
            ("/a/it's my shot.png", Some(&["/a/it's my shot.png"])),
            ("'/a/it'\\''s.png'", Some(&["/a/it's.png"])),
            ("~/my shot.png", Some(&["~/my shot.png"])),
            ("./shot.png", Some(&["./shot.png"])),
            ("file:///a/my%20shot.png", Some(&["/a/my shot.png"])),
            ("file://localhost/a/caf%C3%A9.png", Some(&["/a/café.png"])),
            ("file:///a/b.png\r\nfile:///a/c.png", Some(&["/a/b.png", "/a/c.png"])),
            ("'/a/b.png' '/a/c d.png'", Some(&["/a/b.png", "/a/c d.png"])),
            ("/a/b.png /a/c.png", Some(&["/a/b.png", "/a/c.png"])),
            ("file://elsewhere/a/b.png", None),
            ("file:///a/%zz.png", None),
            ("./my shot.png", None),
            ("/image dot.png", None),
            ("see /a/b.png", None),
            ("'/a/b.png", None),
            ("/a/b.png\n/a/c.png", None),
            ("", None),
        ] {
            let found = dropped(text);
            let found = found.as_ref().map(|paths| paths.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), paths, "{text:?}");
        }
    }
}

//! Search programs, whose words are checked as a whole because they may read files that no word
//! names.

use crate::policy::rules;

/// The allowed words of a search program, and those that restrict it to files without secrets.
struct Search {
    letters: &'static str,
    valued: &'static str,
    flags: &'static [&'static str],
    long: &'static [&'static str],
    /// Options that search a directory recursively.
    recursive: &'static [&'static str],
    /// Whether the program always searches recursively.
    always: bool,
    /// Options with a pattern of the only file names to search.
    only: &'static [&'static str],
    /// Options that suppress matching lines.
    quiet: &'static [&'static str],
}

const GREP: Search = Search {
    letters: "abcEFGHhiLlnoPqRrsTUVvwxZzy",
    valued: "ABCem",
    flags: &[
        "basic-regexp",
        "count",
        "extended-regexp",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "ignore-case",
        "invert-match",
        "line-number",
        "line-regexp",
        "no-filename",
        "no-ignore-case",
        "no-messages",
        "null",
        "only-matching",
        "perl-regexp",
        "quiet",
        "recursive",
        "silent",
        "text",
        "with-filename",
        "word-regexp",
    ],
    long: &[
        "after-context",
        "before-context",
        "context",
        "color?",
        "colour?",
        "exclude",
        "exclude-dir",
        "include",
        "max-count",
        "regexp",
    ],
    recursive: &["-r", "-R", "--recursive"],
    always: false,
    only: &["--include"],
    quiet: &[
        "-l",
        "-L",
        "-c",
        "-q",
        "--files-with-matches",
        "--files-without-match",
        "--count",
        "--quiet",
        "--silent",
    ],
};

const RG: Search = Search {
    letters: "abcFHhiIlLnNoPpqSsUvVwx",
    valued: "ABCegjmMtTr",
    flags: &[
        "count",
        "count-matches",
        "case-sensitive",
        "column",
        "files",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "heading",
        "ignore-case",
        "invert-match",
        "json",
        "line-number",
        "multiline",
        "no-filename",
        "no-heading",
        "no-line-number",
        "only-matching",
        "passthru",
        "pcre2",
        "quiet",
        "smart-case",
        "stats",
        "trim",
        "type-list",
        "vimgrep",
        "word-regexp",
    ],
    long: &[
        "after-context",
        "before-context",
        "color",
        "colors",
        "context",
        "glob",
        "iglob",
        "max-columns",
        "max-count",
        "max-depth",
        "regexp",
        "replace",
        "sort",
        "sortr",
        "threads",
        "type",
        "type-not",
    ],
    recursive: &[],
    always: true,
    only: &["-g", "--glob", "-t", "--type"],
    quiet: &[
        "-l",
        "-c",
        "-q",
        "--files",
        "--files-with-matches",
        "--files-without-match",
        "--count",
        "--count-matches",
        "--quiet",
        "--type-list",
    ],
};

pub(super) fn searches_narrowly_grep(words: &[&str]) -> bool {
    GREP.is_narrow(words)
}

pub(super) fn searches_narrowly_rg(words: &[&str]) -> bool {
    RG.is_narrow(words)
}

impl Search {
    /// Whether every word is known and no line of a possibly secret file is shown: a recursive
    /// search must restrict the file names or print no lines.
    fn is_narrow(&self, words: &[&str]) -> bool {
        let (mut recursive, mut narrow, mut operands) = (self.always, false, Vec::new());
        let mut words = words.iter();
        let mut pattern = false;
        while let Some(word) = words.next() {
            if *word == "--" {
                operands.extend(words.by_ref().copied());
                break;
            }
            if !word.starts_with('-') || *word == "-" {
                operands.push(*word);
                continue;
            }
            let mut take = |name: &str, value: Option<&str>| {
                pattern |= matches!(name, "-e" | "--regexp");
                recursive |= self.recursive.contains(&name);
                narrow |= self.quiet.contains(&name);
                narrow |= self.only.contains(&name)
                    && value.is_some_and(|value| {
                        !value.starts_with('!') && !rules::may_name_secret(value)
                            || name.ends_with('t')
                            || name == "--type"
                    });
            };
            if let Some(long) = word.strip_prefix("--") {
                let (name, attached) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let optional = self.long.iter().any(|own| own.strip_suffix('?') == Some(name));
                let valued = self.long.contains(&name);
                let value = match (attached, valued) {
                    (None, true) => match words.next() {
                        Some(value) => Some(*value),
                        None => return false,
                    },
                    (attached, _) => attached,
                };
                if !(valued || optional || (attached.is_none() && self.flags.contains(&name))) {
                    return false;
                }
                take(&format!("--{name}"), value);
                continue;
            }
            let letters = &word[1..];
            if letters.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            for (at, letter) in letters.char_indices() {
                let name = format!("-{letter}");
                if self.valued.contains(letter) {
                    let rest = &letters[at + letter.len_utf8()..];
                    let value = match rest {
                        "" => match words.next() {
                            Some(value) => *value,
                            None => return false,
                        },
                        rest => rest,
                    };
                    take(&name, Some(value));
                    break;
                }
                if !self.letters.contains(letter) {
                    return false;
                }
                take(&name, None);
            }
        }
        let files = operands.get(usize::from(!pattern)..).unwrap_or_default();
        let names_files = !files.is_empty()
            && files.iter().all(|file| {
                file.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.starts_with('.'))
            });
        !recursive || narrow || (self.always && names_files)
    }
}

//! Git's configuration files: their settings, the differences between two of them, and which
//! differences name no program.

use std::fmt;

/// A setting, with names in lower case where git does not distinguish case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    value: String,
}

impl Setting {
    fn is_same_name(&self, other: &Self) -> bool {
        (&self.section, &self.subsection, &self.name) == (&other.section, &other.subsection, &other.name)
    }

    /// Returns the name and the address of a remote repository, if it is the address of one.
    fn remote(&self) -> Option<(&str, &str)> {
        let is_address = match self.section.as_str() {
            "remote" => ["url", "pushurl"].contains(&self.name.as_str()),
            "submodule" => self.name == "url",
            _ => false,
        };
        self.subsection.as_deref().filter(|_| is_address).map(|name| (name, self.value.as_str()))
    }

    fn line(&self) -> String {
        format!("\t{} = {}\n", self.name, quoted(&self.value))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subsection {
            Some(subsection) => write!(f, "{}.{subsection}.{}", self.section, self.name),
            None => write!(f, "{}.{}", self.section, self.name),
        }
    }
}

/// A file as lines, each with the setting that it contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Config {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// The text with its line break; several lines where one continues.
    text: String,
    section: (String, Option<String>),
    setting: Option<Setting>,
}

/// What is different in a later version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Difference {
    pub(super) added: Vec<Setting>,
    pub(super) removed: Vec<Setting>,
}

impl Difference {
    /// Returns the addresses of remote repositories that are added.
    pub(super) fn remotes(&self) -> impl Iterator<Item = &str> {
        self.added.iter().filter_map(Setting::remote).map(|(_, url)| url)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Returns the names of the settings with their new values, if they have one.
    pub(super) fn named(&self) -> Vec<(String, Option<String>)> {
        let added = self.added.iter().map(|setting| (setting.to_string(), Some(setting.value.clone())));
        let is_replaced = |gone: &&Setting| self.added.iter().any(|added| added.is_same_name(gone));
        let removed = self.removed.iter().filter(|gone| !is_replaced(gone));
        added.chain(removed.map(|setting| (setting.to_string(), None))).collect()
    }
}

impl Config {
    /// Parses a file; `None` for what git may read differently than this parser.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = Vec::new();
        let mut section = (String::new(), None);
        let mut rest = text.split_inclusive('\n');
        while let Some(first) = rest.next() {
            let mut text = first.to_owned();
            while text.trim_end_matches(['\n', '\r']).ends_with('\\') {
                text.push_str(rest.next()?);
            }
            let trimmed = text.trim();
            let mut setting = None;
            if let Some(header) = trimmed.strip_prefix('[') {
                section = parse_section(header.strip_suffix(']')?)?;
            } else if !trimmed.is_empty() && !trimmed.starts_with(['#', ';']) {
                setting = Some(parse_setting(&section, trimmed)?);
            }
            lines.push(Line { text, section: section.clone(), setting });
        }
        Some(Self { lines })
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.as_str()).collect()
    }

    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.lines.iter().filter_map(|line| line.setting.as_ref())
    }

    /// Returns the section, the name and the value of each setting.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.settings()
            .map(|setting| (setting.section.as_str(), setting.name.as_str(), setting.value.as_str()))
    }

    /// Returns the names and the addresses of remote repositories, also of those for pushes and of
    /// submodules.
    pub(super) fn remotes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings().filter_map(Setting::remote)
    }

    /// Returns the value of `Authorization` that is sent to an address.
    pub(super) fn authorization(&self, url: &str) -> Option<&str> {
        let is_for = |setting: &&Setting| {
            let base = setting.subsection.as_deref();
            setting.section == "http"
                && setting.name == "extraheader"
                && base.is_none_or(|base| url.starts_with(base))
        };
        self.settings().filter(is_for).find_map(|setting| {
            let (name, value) = setting.value.split_once(':')?;
            name.trim().eq_ignore_ascii_case("authorization").then_some(value.trim())
        })
    }

    /// Returns what is different in `later`.
    pub(super) fn difference(&self, later: &Self) -> Difference {
        let mut removed: Vec<_> = self.settings().cloned().collect();
        let mut added = Vec::new();
        for setting in later.settings() {
            match removed.iter().position(|known| known == setting) {
                Some(at) => drop(removed.remove(at)),
                None => added.push(setting.clone()),
            }
        }
        Difference { added, removed }
    }

    /// Returns the file with the changes of a difference. What was removed before stays removed.
    pub(super) fn with(mut self, difference: &Difference) -> Self {
        let mut added: Vec<_> = difference.added.iter().collect();
        for gone in &difference.removed {
            let Some(at) = self.lines.iter().position(|line| line.setting.as_ref() == Some(gone)) else {
                continue;
            };
            if let Some(new) = added.iter().position(|new| new.is_same_name(gone)) {
                let new = added.remove(new);
                self.lines[at] =
                    Line { text: new.line(), setting: Some(new.clone()), ..self.lines[at].clone() };
                continue;
            }
            let section = self.lines.remove(at).section;
            let is_header = |line: &Line| line.section == section && line.text.trim_start().starts_with('[');
            if !self.lines.iter().any(|line| line.section == section && line.setting.is_some()) {
                self.lines.retain(|line| !is_header(line));
            }
        }
        for new in added {
            let section = (new.section.clone(), new.subsection.clone());
            if self.settings().any(|known| known == new) {
                continue;
            }
            let line = |text, setting| Line { text, section: section.clone(), setting };
            let setting = line(new.line(), Some(new.clone()));
            match self.lines.iter().rposition(|line| line.section == section) {
                Some(last) => {
                    end_line(&mut self.lines[last].text);
                    self.lines.insert(last + 1, setting);
                }
                None => {
                    if let Some(last) = self.lines.last_mut() {
                        end_line(&mut last.text);
                    }
                    let header = match &new.subsection {
                        Some(subsection) => format!("[{} {}]\n", new.section, quoted(subsection)),
                        None => format!("[{}]\n", new.section),
                    };
                    self.lines.extend([line(header, None), setting]);
                }
            }
        }
        self
    }

    /// Splits the changes from this file to `later` into those that name no program and lead git to
    /// no other repository than a new remote, and the others.
    pub(super) fn judge(&self, later: &Self) -> (Difference, Difference) {
        let has_url = |config: &Self, remote: &Setting| {
            let is_url = |known: &Setting| known.section == "remote" && known.name == "url";
            config.settings().any(|known| is_url(known) && known.subsection == remote.subsection)
        };
        let is_harmless_value = |value: &str| {
            !value.contains("::") && !value.starts_with('-') && !value.contains(|c: char| c.is_control())
        };
        let may_add = |setting: &Setting| match (setting.section.as_str(), setting.name.as_str()) {
            ("remote", "url") => !has_url(self, setting) && is_harmless_value(&setting.value),
            _ => is_harmless(setting) && is_harmless_value(&setting.value),
        };
        let may_remove = |setting: &Setting| match (setting.section.as_str(), setting.name.as_str()) {
            ("remote", "url") => !has_url(later, setting),
            _ => is_harmless(setting),
        };
        let all = self.difference(later);
        let (added, not_added) = all.added.into_iter().partition(may_add);
        let (removed, not_removed) = all.removed.into_iter().partition(may_remove);
        (Difference { added, removed }, Difference { added: not_added, removed: not_removed })
    }
}

/// Settings that name no program, by section and name.
const HARMLESS: [(&str, &[&str]); 17] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "quotepath",
            "abbrev",
        ],
    ),
    ("extensions", &["objectformat", "refstorage", "partialclone", "worktreeconfig"]),
    ("remote", &["url", "fetch", "tagopt", "promisor", "partialclonefilter", "prune", "skipfetchall"]),
    ("branch", &["remote", "merge", "rebase", "description", "pushremote", "vscode-merge-base"]),
    ("submodule", &["active", "url", "branch", "ignore", "recurse"]),
    ("user", &["name", "email"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("gc", &["auto"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("merge", &["conflictstyle", "ff"]),
    ("rebase", &["autosquash", "autostash", "updaterefs"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("advice", &["detachedhead", "addignoredfile", "skippedcherrypicks", "statushints"]),
];

fn is_harmless(setting: &Setting) -> bool {
    HARMLESS
        .iter()
        .any(|(section, names)| *section == setting.section && names.contains(&setting.name.as_str()))
}

/// Returns whether all settings of a file are known to name no program.
pub(in crate::local) fn all_harmless(text: &str) -> bool {
    let Some(config) = Config::parse(text) else { return false };
    let (_, others) = Config::default().judge(&config);
    others.is_empty()
}

fn parse_section(header: &str) -> Option<(String, Option<String>)> {
    let is_name =
        |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !name.is_empty();
    match header.split_once(['"', ' ', '\t']) {
        None => is_name(header).then(|| (header.to_ascii_lowercase(), None)),
        Some((name, _)) => {
            let quoted = header[name.len()..].trim_start().strip_prefix('"')?.strip_suffix('"')?;
            // A subsection with escapes is not one that git writes for a usual name.
            let is_plain = !quoted.contains(['"', '\\', '\n']);
            (is_name(name) && is_plain).then(|| (name.to_ascii_lowercase(), Some(quoted.to_owned())))
        }
    }
}

fn parse_setting((section, subsection): &(String, Option<String>), text: &str) -> Option<Setting> {
    let (name, value) = text.split_once('=').unwrap_or((text, "true"));
    let name = name.trim();
    let is_name = !section.is_empty()
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let setting = Setting {
        section: section.clone(),
        subsection: subsection.clone(),
        name: name.to_ascii_lowercase(),
        value: parse_value(value.trim())?,
    };
    is_name.then_some(setting)
}

/// Returns a value without quotes, escapes and comment.
fn parse_value(text: &str) -> Option<String> {
    let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'b' => value.push('\u{8}'),
                plain @ ('"' | '\\') => value.push(plain),
                '\n' => continue,
                _ => return None,
            },
            plain => value.push(plain),
        }
        if is_quoted || !c.is_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    (!is_quoted).then_some(value)
}

/// Returns a text in quotes where git's syntax needs them.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

fn end_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text).expect(text)
    }

    const BASE: &str = "# mine\n[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://h/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n";

    #[test]
    fn a_parsed_file_is_the_same_text() {
        for text in [BASE, "", "[a]\n\tb = c \\\n d\n", "[a \"b c\"]\n\td = \"e # f\" # g\n\th\n"] {
            assert_eq!(config(text).text(), text);
        }
        for odd in [
            "a = b\n",
            "[a\n",
            "[a] b = c\n",
            "[a \"b\\\"c\"]\n",
            "[a]\n\tb = \"c\n",
            "[a]\n\tb = \\x\n",
            "[a]\n\t1b = c\n",
        ] {
            assert!(Config::parse(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (text, value) in [
            ("a b ; c", "a b"),
            ("\"a b \" # c", "a b "),
            ("\"a;b\"c", "a;bc"),
            ("a\\n\\\"b", "a\n\"b"),
            ("", ""),
            ("a  b  ", "a  b"),
        ] {
            assert_eq!(parse_value(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn usual_changes_are_carried_over() {
        let base = config(BASE);
        for (text, expected) in [
            (
                format!("{BASE}[branch \"b\"]\n\tremote = origin\n\tmerge = refs/heads/b\n"),
                format!("{BASE}[branch \"b\"]\n\tremote = \"origin\"\n\tmerge = \"refs/heads/b\"\n"),
            ),
            (
                format!("{BASE}[remote \"up\"]\n\turl = git@h:y.git\n"),
                format!("{BASE}[remote \"up\"]\n\turl = \"git@h:y.git\"\n"),
            ),
            (
                BASE.replace("[branch \"main\"]\n\tremote = origin\n", ""),
                BASE.replace("[branch \"main\"]\n\tremote = origin\n", ""),
            ),
            (BASE.replace("bare = false", "bare = true"), BASE.replace("bare = false", "bare = \"true\"")),
        ] {
            let later = config(&text);
            let (harmless, others) = base.judge(&later);
            assert!(others.is_empty(), "{others:?}");
            assert_eq!(base.clone().with(&harmless).text(), expected);
        }
        let renamed = config(&BASE.replace("\"origin\"", "\"up\"").replace("origin", "up"));
        let (harmless, others) = base.judge(&renamed);
        assert!(others.is_empty() && !base.clone().with(&harmless).text().contains("origin"));
    }

    #[test]
    fn settings_that_run_programs_are_not_carried_over() {
        let base = config(BASE);
        for text in [
            "[core]\n\tfsmonitor = x\n",
            "[core]\n\thooksPath = x\n",
            "[CORE]\n\tFSMonitor = x\n",
            "[alias]\n\tst = !x\n",
            "[include]\n\tpath = x\n",
            "[filter \"f\"]\n\tclean = x\n",
            "[remote \"origin\"]\n\tpushurl = x\n",
            "[remote \"origin\"]\n\turl = https://evil/\n",
            "[remote \"new\"]\n\turl = ext::sh -c x\n",
            "[remote \"new\"]\n\turl = --upload-pack=x\n",
            "[url \"https://evil/\"]\n\tinsteadOf = https://h/\n",
            "[core]\n\tworktree = /\n",
        ] {
            let later = config(&format!("{BASE}{text}"));
            let (harmless, others) = base.judge(&later);
            assert!(harmless.is_empty() && others.added.len() == 1, "{text}: {harmless:?}");
            assert!(!all_harmless(text) || text.contains("https://evil/"), "{text}");
        }
        let redirected = config(&BASE.replace("https://h/x.git", "https://evil/"));
        let (harmless, others) = base.judge(&redirected);
        assert!(harmless.is_empty() && others.added.len() == 1 && others.removed.len() == 1);
        assert!(all_harmless(BASE));
    }

    #[test]
    fn a_change_applies_to_a_file_that_changed_meanwhile() {
        let base = config(BASE);
        let ours = config(&format!("{BASE}[branch \"b\"]\n\tremote = origin\n"));
        let theirs = config(&format!("{BASE}[alias]\n\tst = status"));
        let (harmless, _) = base.judge(&ours);
        let merged = theirs.with(&harmless).text();
        assert_eq!(merged, format!("{BASE}[alias]\n\tst = status\n[branch \"b\"]\n\tremote = \"origin\"\n"));
        assert_eq!(config(&merged).with(&harmless).text(), merged, "it applies once");
    }
}

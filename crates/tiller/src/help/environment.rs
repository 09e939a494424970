//! The topic `environment`: the variables that Tiller reads.

use crate::config::{OLLAMA_HOST, VARIABLES};
use crate::layout::{definitions, paragraph};
use integrations::SearchProvider;
use providers::KNOWN_PROVIDERS;

/// Variables with what they do, under a heading.
struct Group {
    heading: &'static str,
    variables: &'static [(&'static str, &'static str)],
}

/// The variables that set no setting and hold no key.
const GROUPS: &[Group] = &[
    Group {
        heading: "Tiller's own",
        variables: &[
            ("TILLER_HOME", "the directory of settings, sessions and cache, instead of the usual ones"),
            (
                "TILLER_LOG",
                "what is logged on standard error: a level (debug), or levels by crate (acp=trace,warn)",
            ),
            ("TILLER_TOKEN", "the token with which `tiller connect` signs in to a server"),
            ("TILLER_KEYRING", "off stores secrets in the file only, and never asks the desktop's keyring"),
            (
                "TILLER_MCP_ALLOWED_ENV",
                "variables that the MCP servers of a project may refer to, separated by commas, beside those that \
                 begin with TILLER_MCP_",
            ),
        ],
    },
    Group {
        heading: "Output and the interface",
        variables: &[
            ("NO_COLOR", "any value: no colours"),
            ("CLICOLOR_FORCE, FORCE_COLOR", "any value but 0: colours in files and pipes too"),
            ("ACCESSIBLE", "any value but 0: the interface prints lines only, for screen readers"),
            ("TERM", "dumb: no colours, and lines only"),
            ("COLORTERM, TERM_PROGRAM", "what the terminal can do"),
            ("TMUX, STY, ZELLIJ", "the multiplexer around the terminal"),
            (
                "VTE_VERSION, KITTY_WINDOW_ID, ALACRITTY_WINDOW_ID, KONSOLE_VERSION, WEZTERM_PANE, \
                 ITERM_SESSION_ID, WT_SESSION, XTERM_VERSION",
                "the terminal, where its name does not say how it wraps lines",
            ),
            ("LC_ALL, LC_CTYPE, LANG", "the locale; `tiller doctor` warns if it is not UTF-8"),
            ("VISUAL, EDITOR", "your text editor, for `settings edit`, `memory edit` and ctrl+g"),
        ],
    },
    Group {
        heading: "This machine",
        variables: &[
            ("HOME", "your home directory"),
            (
                "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME",
                "where the directories of Tiller and of editors are",
            ),
            ("TMPDIR", "the directory of temporary files"),
            ("PATH", "where programs are found"),
            (
                "SHELL",
                "the login shell that is asked for variables if an editor without a terminal started Tiller",
            ),
            ("CARGO_HOME", "tells `tiller update` that Cargo installed it"),
            (
                "DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, XDG_RUNTIME_DIR, WSL_DISTRO_NAME",
                "the desktop: its browser and its clipboard",
            ),
            ("DBUS_SESSION_BUS_ADDRESS", "the desktop session, whose keyring is used"),
            ("SSH_CONNECTION, SSH_TTY", "set in a remote session, which has no browser and no clipboard"),
            ("USER", "your name, for the programs of the keyring and of the clipboard"),
            ("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "the proxy of requests to other machines"),
        ],
    },
    Group {
        heading: "Traces of a server built with `otel`",
        variables: &[
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "the OpenTelemetry collector, where serve.otel.endpoint names none; the other variables of OTLP \
                 exporters count too",
            ),
            ("OTEL_SERVICE_NAME", "the name of the service in traces, instead of tiller"),
        ],
    },
    Group {
        heading: "Set by Tiller",
        variables: &[
            (
                "TILLER_RESOLVING_ENVIRONMENT",
                "1 while your login shell is asked, so that its files can skip slow parts",
            ),
            ("TILLER_MCP_SERVING", "set for what `tiller mcp serve` starts, so that it never serves itself"),
        ],
    },
    Group {
        heading: "Of the legacy dialect",
        variables: &[("CODEEP_DEBUG", "1: the same as TILLER_LOG=debug for Tiller's own crates")],
    },
];

/// Returns the text.
pub(super) fn text() -> String {
    let before = "An empty variable counts as unset. `tiller settings list --set --show-origin` shows which variables \
                  have an effect.";
    let mut text = paragraph(before);
    for Group { heading, variables } in GROUPS {
        text += &format!("\n{heading}:\n{}", definitions(variables));
    }
    text += "\nIn place of settings:\n";
    let of_settings: Vec<_> =
        VARIABLES.iter().copied().chain([(OLLAMA_HOST, "providers.local.ollama")]).collect();
    text += &definitions(&of_settings);
    text += "\nKeys, if the settings name no other variable:\n";
    text += &definitions(&keys());
    text
}

/// The variables of keys, with what each is for.
fn keys() -> Vec<(&'static str, String)> {
    let mut all: Vec<_> =
        KNOWN_PROVIDERS.iter().map(|known| (known.key_variable, known.label.to_owned())).collect();
    all.push(("GOOGLE_API_KEY", "Google Gemini, if GEMINI_API_KEY is not set".to_owned()));
    let of_search = SearchProvider::ALL
        .into_iter()
        .filter_map(|(id, provider)| Some((provider.key_variable()?, format!("web search by {id}"))));
    all.extend(of_search);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, path::Path};

    /// Adds the names in quotes that follow one of `calls` in the sources below a directory.
    #[expect(clippy::disallowed_methods, reason = "reads the source tree")]
    fn asked(directory: &Path, calls: &[&str], found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                asked(&path, calls, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // What tests set is no variable of the program.
                let text = text.split("#[cfg(test)]").next().unwrap_or_default();
                for call in calls {
                    let after = text.match_indices(call).map(|(at, _)| &text[at + call.len()..]);
                    found.extend(after.filter_map(name_in_quotes));
                }
            }
        }
    }

    fn name_in_quotes(text: &str) -> Option<String> {
        let (name, _) = text.split_once('"')?;
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        (name.len() > 1 && name.chars().all(is_name)).then(|| name.to_owned())
    }

    #[test]
    fn every_variable_that_the_code_asks_for_is_explained() {
        let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let mut names = BTreeSet::new();
        let calls = ["get(\"", "set(\"", "text(\"", "forced(\"", "absolute(\"", "\"TILLER_"];
        asked(sources, &calls, &mut names);
        for crate_name in ["mcp", "system", "store", "providers", "integrations", "agent", "tui", "acp"] {
            let directory = sources.join(format!("../../{crate_name}/src"));
            asked(&directory, &["\"TILLER_"], &mut names);
        }
        let text = text();
        // Of a name after "TILLER_" only the rest is found.
        let words: BTreeSet<_> = text
            .split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .flat_map(|word| [word, word.strip_prefix("TILLER_").unwrap_or(word)])
            .collect();
        // Of tests.
        let others = ["RENEW", "A", "EDITS", "EDITS_SEED", "EDITS_SHOW", "LEASES", "TEST_HELPER"];
        let missing: Vec<_> = names
            .iter()
            .filter(|name| !words.contains(name.as_str()) && !others.contains(&name.as_str()))
            .collect();
        assert!(names.contains("HOME") && names.contains("KEYRING") && names.contains("MODEL"), "{names:?}");
        assert!(missing.is_empty(), "not in the topic `environment`: {missing:?}");
    }
}

//! The network of sandboxed commands, and rules as they are written.

use agent::{NetworkRule, PermissionRule, PermissionRules, SignCommits};
use std::str::FromStr;
use system::{AbsPath, Network};

/// The words for the network of commands in settings.
pub(crate) const NETWORKS: [(&str, Network); 3] =
    [("off", Network::Off), ("on", Network::Open), ("allow-list", Network::Session)];

/// The words for signatures in settings.
pub(crate) const SIGN_COMMITS: [(&str, SignCommits); 3] =
    [("ask", SignCommits::Ask), ("always", SignCommits::Always), ("never", SignCommits::Never)];

/// Returns the word for a network.
pub(crate) fn network_word(network: Network) -> &'static str {
    NETWORKS.iter().find(|(_, known)| *known == network).map_or("", |(word, _)| word)
}

/// A rule of the settings or of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rule {
    /// For calls of tools.
    Call(PermissionRule),
    /// For the network of commands.
    Network(NetworkRule),
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.starts_with(NetworkRule::PREFIX) {
            true => text.parse().map(Self::Network),
            false => text.parse().map(Self::Call),
        }
    }
}

impl Rule {
    /// Parses a word that names hosts.
    pub(crate) fn host(word: &str) -> Result<Self, String> {
        NetworkRule::of_word(word).map(Self::Network)
    }

    /// Checks that the rule names a known tool.
    ///
    /// # Errors
    /// Fails for an unknown tool, with the nearest known name.
    pub(crate) fn check_tool(&self) -> Result<(), String> {
        match self {
            Self::Call(rule) => rule.check_tool(),
            Self::Network(_) => Ok(()),
        }
    }

    /// Returns why the rule must not allow anything, if it must not.
    pub(crate) fn too_wide_to_allow(&self) -> Option<&'static str> {
        match self {
            Self::Call(rule) => rule.too_wide_to_allow(),
            Self::Network(_) => None,
        }
    }

    /// Expands a leading `~/` of a pattern to the home directory.
    pub(crate) fn at_home(self, home: &AbsPath) -> Self {
        match self {
            Self::Call(rule) => Self::Call(rule.at_home(home)),
            Self::Network(_) => self,
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Call(rule) => rule.fmt(f),
            Self::Network(rule) => rule.fmt(f),
        }
    }
}

/// The lists of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleList {
    Deny,
    Ask,
    Allow,
}

impl RuleList {
    /// Adds rules to this list of a set.
    pub(crate) fn extend(self, all: &mut PermissionRules, rules: impl IntoIterator<Item = Rule>) {
        let (calls, network) = match self {
            Self::Deny => (&mut all.deny, &mut all.network.deny),
            Self::Ask => (&mut all.ask, &mut all.network.ask),
            Self::Allow => (&mut all.allow, &mut all.network.allow),
        };
        for rule in rules {
            match rule {
                Rule::Call(rule) => calls.push(rule),
                Rule::Network(rule) => network.push(rule),
            }
        }
    }
}

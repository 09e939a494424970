//! Third-party clients from registries, and stand-ins for those that no registry has.

use super::super::client::{Client, PYTHON, TYPESCRIPT, venv};
use crate::process::{command, root};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// All of them, in the order in which they are played.
pub(super) const OTHERS: [Client; 9] =
    [ACPX, FACTORY, AI_SDK, HARBOR, TOAD, CODECOMPANION, AVANTE, AGENT_SHELL, VSCODE_ACP];

/// The rows of the table: the client's name, the row's label, and the source of its version.
pub(super) const LABELS: [(&str, &str, Version); 11] = [
    ("python client", "Python SDK", Version::Pinned("agent-client-protocol")),
    ("typescript client", "TypeScript SDK", Version::Locked("@agentclientprotocol/sdk")),
    ("acpx", "acpx", Version::Locked("acpx")),
    ("acp-factory", "acp-factory", Version::Locked("acp-factory")),
    ("AI SDK provider", "AI SDK provider", Version::Locked("@mcpc-tech/acp-ai-provider")),
    ("harbor", "harbor's runner", Version::Pinned("harbor")),
    ("Toad", "Toad", Version::Pinned("batrachian-toad")),
    ("codecompanion", "CodeCompanion.nvim (stand-in)", Version::Played("19.22.0")),
    ("avante", "avante.nvim (stand-in)", Version::Played("0.2")),
    ("agent-shell", "agent-shell (stand-in)", Version::Played("0.48.1")),
    ("vscode-acp", "vscode-acp (stand-in)", Version::Played("0.2.0")),
];

/// The source of a client's version.
pub(super) enum Version {
    /// The version of this package in the lock file.
    Locked(&'static str),
    /// The version of this package in the requirements.
    Pinned(&'static str),
    /// The version that a stand-in imitates.
    Played(&'static str),
}

impl Version {
    /// Returns the client's version.
    ///
    /// # Errors
    ///
    /// Fails if the client's pins do not name the package.
    pub(super) fn of(&self, client: &Client) -> Result<String> {
        let pins = || fs::read_to_string(root().join(client.source).join(client.pins));
        match self {
            Version::Locked(package) => {
                let lock: Value = serde_json::from_str(&pins()?)?;
                let version = &lock["packages"][format!("node_modules/{package}")]["version"];
                version
                    .as_str()
                    .map(str::to_owned)
                    .with_context(|| format!("{package} is not in the lock file"))
            }
            Version::Pinned(package) => {
                let start = format!("{package}==");
                let pins = pins()?;
                let line = pins.lines().find_map(|line| line.strip_prefix(&start));
                line.map(|version| version.trim().to_owned())
                    .with_context(|| format!("{package} is not pinned"))
            }
            Version::Played(version) => Ok((*version).to_owned()),
        }
    }
}

/// Clients whose own code sometimes loses a race (a stream that ends before its last message). A
/// failed run of theirs is repeated once.
pub(super) const RETRIED: [&str; 5] = ["acpx", "acp-factory", "AI SDK provider", "harbor", "Toad"];

const ACPX: Client = Client {
    name: "acpx",
    source: "tests/clients/others",
    directory: "others",
    start: |directory, _| node(directory, "acpx.mjs"),
    ..TYPESCRIPT
};

const FACTORY: Client =
    Client { name: "acp-factory", start: |directory, _| node(directory, "factory.mjs"), ..ACPX };

const AI_SDK: Client =
    Client { name: "AI SDK provider", start: |directory, _| node(directory, "ai-sdk.mjs"), ..ACPX };

/// The script that harbor copies beside an agent. Harbor's package requires a newer Python than the
/// script does.
const HARBOR: Client = Client {
    name: "harbor",
    source: "tests/clients/harbor",
    directory: "harbor",
    oldest: (3, 11, 0),
    install: |directory, source| venv("python3", directory, source, &["--ignore-requires-python"]),
    ..PYTHON
};

const TOAD: Client = Client {
    name: "Toad",
    source: "tests/clients/toad",
    directory: "toad",
    runtime: "python3.14",
    oldest: (3, 14, 0),
    install: |directory, source| venv("python3.14", directory, source, &[]),
    ..PYTHON
};

const CODECOMPANION: Client = Client {
    name: "codecompanion",
    source: "tests/clients/standins",
    directory: "standins",
    pins: "package.json",
    install: |_, _| Vec::new(),
    start: |directory, _| node(directory, "codecompanion.mjs"),
    ..TYPESCRIPT
};

const AVANTE: Client =
    Client { name: "avante", start: |directory, _| node(directory, "avante.mjs"), ..CODECOMPANION };

const AGENT_SHELL: Client =
    Client { name: "agent-shell", start: |directory, _| node(directory, "agent-shell.mjs"), ..CODECOMPANION };

const VSCODE_ACP: Client =
    Client { name: "vscode-acp", start: |directory, _| node(directory, "vscode-acp.mjs"), ..CODECOMPANION };

fn node(directory: &Path, script: &str) -> Command {
    let mut node = command("node");
    node.arg(directory.join(script));
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_client_has_its_pins_and_its_script() {
        for client in OTHERS {
            let source = root().join(client.source);
            assert!(source.join(client.pins).is_file(), "{}", client.name);
            let start = (client.start)(&source, &source);
            let script = start.get_args().last().unwrap();
            assert!(Path::new(script).is_file(), "{}", client.name);
        }
    }

    #[test]
    fn every_client_of_others_has_a_row() {
        for client in OTHERS {
            assert!(LABELS.iter().any(|(name, ..)| *name == client.name), "{}", client.name);
        }
    }
}

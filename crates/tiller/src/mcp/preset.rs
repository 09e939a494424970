//! Configurations of well-known servers.

use super::{
    CommandContext, file,
    rows::{OnePreset, PresetList, PresetRow},
};
use crate::answer::{Answer, Failure, Kind};
use crate::args::{PresetCommand, Scope};
use ::mcp::server_name;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A well-known server.
struct Preset {
    name: &'static str,
    about: &'static str,
    how: PresetKind,
    /// What must be installed, or done, before it works.
    needs: &'static str,
}

enum PresetKind {
    /// A package from a registry, started by the registry's runner.
    Run(&'static [&'static str]),
    /// A URL with sign-in.
    SignIn(&'static str),
    /// A URL without credentials.
    Open(&'static str),
    /// A URL with a token, which is stored as this secret.
    Token(&'static str, &'static str),
}

const NODE: &str = "Node.js (npx)";
const UV: &str = "uv (uvx)";

/// All presets, as their publishers documented them in November 2026.
const PRESETS: [Preset; 13] = [
    Preset {
        name: "context7",
        about: "Documentation of libraries, by version",
        how: PresetKind::Open("https://mcp.context7.com/mcp"),
        needs: "nothing",
    },
    Preset {
        name: "everything",
        about: "The protocol's own test server: one of everything",
        how: PresetKind::Run(&["npx", "-y", "@modelcontextprotocol/server-everything"]),
        needs: NODE,
    },
    Preset {
        name: "fetch",
        about: "Pages of the web, as text",
        how: PresetKind::Run(&["uvx", "mcp-server-fetch"]),
        needs: UV,
    },
    Preset {
        name: "filesystem",
        about: "Files below the folder it is started in",
        how: PresetKind::Run(&["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]),
        needs: NODE,
    },
    Preset {
        name: "git",
        about: "Reads, searches and changes Git repositories",
        how: PresetKind::Run(&["uvx", "mcp-server-git"]),
        needs: UV,
    },
    Preset {
        name: "github",
        about: "Repositories, issues and pull requests of GitHub",
        how: PresetKind::Token("https://api.githubcopilot.com/mcp/", "mcp.github.token"),
        needs: "a token: tiller mcp secret set mcp.github.token",
    },
    Preset {
        name: "linear",
        about: "Issues and projects of Linear",
        how: PresetKind::SignIn("https://mcp.linear.app/mcp"),
        needs: "signing in: tiller mcp login linear",
    },
    Preset {
        name: "memory",
        about: "A graph of things to remember",
        how: PresetKind::Run(&["npx", "-y", "@modelcontextprotocol/server-memory"]),
        needs: NODE,
    },
    Preset {
        name: "notion",
        about: "Pages and databases of Notion",
        how: PresetKind::SignIn("https://mcp.notion.com/mcp"),
        needs: "signing in: tiller mcp login notion",
    },
    Preset {
        name: "playwright",
        about: "A browser to be driven",
        how: PresetKind::Run(&["npx", "-y", "@playwright/mcp"]),
        needs: NODE,
    },
    Preset {
        name: "sentry",
        about: "Errors and performance as Sentry sees them",
        how: PresetKind::SignIn("https://mcp.sentry.dev/mcp"),
        needs: "signing in: tiller mcp login sentry",
    },
    Preset {
        name: "sequential_thinking",
        about: "A tool to think step by step",
        how: PresetKind::Run(&["npx", "-y", "@modelcontextprotocol/server-sequential-thinking"]),
        needs: NODE,
    },
    Preset {
        name: "time",
        about: "Times and time zones",
        how: PresetKind::Run(&["uvx", "mcp-server-time"]),
        needs: UV,
    },
];

impl Preset {
    /// Returns the configuration as in a file.
    fn config(&self) -> Value {
        match self.how {
            PresetKind::Run([command, args @ ..]) => json!({ "command": command, "args": args }),
            PresetKind::Run([]) => json!({}),
            PresetKind::SignIn(url) | PresetKind::Open(url) => json!({ "type": "http", "url": url }),
            PresetKind::Token(url, secret) => {
                let token = format!("Bearer @secret:{secret}");
                json!({ "type": "http", "url": url, "headers": { "Authorization": token } })
            }
        }
    }

    fn row(&self) -> PresetRow {
        PresetRow { name: self.name, description: self.about, needs: self.needs, server: self.config() }
    }
}

impl CommandContext<'_> {
    pub(super) async fn preset(&self, command: PresetCommand) -> Result<Answer> {
        match command {
            PresetCommand::List => {
                let mut text = String::new();
                for Preset { name, about, needs, .. } in &PRESETS {
                    let _ = writeln!(text, "{name:<20} {about} (needs {needs})");
                }
                let presets = PRESETS.iter().map(Preset::row).collect();
                Ok(Answer::new(PresetList { presets }, text))
            }
            PresetCommand::Show { preset } => {
                let preset = find(&preset)?;
                let text = format!("{}\nneeds: {}\n{:#}\n", preset.about, preset.needs, preset.config());
                Ok(Answer::new(OnePreset { preset: preset.row() }, text))
            }
            PresetCommand::Add { preset, name, scope: Scope { project } } => {
                let preset = find(&preset)?;
                let name = name.map_or_else(|| preset.name.to_owned(), |name| server_name(&name));
                file::change(self.system.as_ref(), &self.file(project), |servers| {
                    if let Some(known) = file::key(servers, &name) {
                        bail!("there is a server '{known}' already; remove it first, or add this one --as another");
                    }
                    servers.insert(name.clone(), preset.config());
                    Ok(())
                })
                .await?;
                let (mut change, mut text) = self.change(project, &name, "added").await;
                change.needs = Some(preset.needs);
                let _ = writeln!(text, "It needs {}.", preset.needs);
                Ok(Answer::new(change, text))
            }
        }
    }
}

fn find(name: &str) -> Result<&'static Preset> {
    let wanted = server_name(name);
    PRESETS.iter().find(|preset| preset.name == wanted).ok_or_else(|| {
        let nearest = agent::closest(&wanted, &PRESETS, |preset| preset.name);
        Failure::new(Kind::NotFound, format!("no preset is called '{wanted}'"))
            .meant(nearest.map(|preset| preset.name))
            .next("tiller mcp preset list")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::mcp::Origin;

    #[test]
    fn every_preset_is_a_valid_server_configuration() {
        for preset in &PRESETS {
            let file = json!({ "mcpServers": { preset.name: preset.config() } }).to_string();
            let (name, server) = ::mcp::parse(&file, &Origin::User).unwrap().remove(0);
            assert_eq!(name, preset.name);
            assert!(server.unwrap().enabled);
            assert_eq!(find(preset.name).unwrap().name, preset.name);
        }
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(find("none").is_err());
    }
}

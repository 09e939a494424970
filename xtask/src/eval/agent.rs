//! The evaluated agents: Tiller, those described in `eval/peers`, or any command.

use super::run_directory::RunDirectory;
use crate::process::{command_line, root, target_dir};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The API key for servers that need none.
const KEY: &str = "not-needed";

/// The installation, configuration and start of an agent. Placeholders in each text: `@FOLDER@` is
/// the installation directory, `@HOME@` the run's home directory, `@ORIGIN@` the model server's URL
/// without a path, and `@MODEL@` the model.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    /// The name in the results.
    #[serde(skip)]
    pub(super) name: String,
    /// A description, with the version.
    #[serde(default, rename = "about")]
    _about: String,
    /// The commands that install it, run in its directory.
    #[serde(default)]
    install: Vec<Vec<String>>,
    /// The program and its arguments.
    command: Vec<String>,
    /// The authentication method, if the agent requires one.
    pub(super) authenticate: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files below the home directory.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Agent {
    /// Returns the agent with this name, or with this command line. `binary` is Tiller's own.
    pub(super) fn named(name: Option<&str>, binary: &Path, model: &str) -> Result<Self> {
        let Some(name) = name else { return Ok(tiller(binary, model)) };
        let described = root().join("eval/peers").join(format!("{name}.toml"));
        if described.is_file() {
            let text = std::fs::read_to_string(&described)?;
            let agent: Self = toml::from_str(&text).with_context(|| described.display().to_string())?;
            return Ok(Self { name: name.to_owned(), ..agent });
        }
        let command: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
        let Some(program) = command.first() else { bail!("--agent needs a name or a command") };
        let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let env = [("OPENAI_BASE_URL", "@ORIGIN@/v1"), ("OPENAI_API_KEY", KEY), ("OPENAI_MODEL", "@MODEL@")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Ok(Self { name, command, env, ..Self::default() })
    }

    /// Returns its installation directory, below the target directory, which git ignores.
    fn directory(&self) -> PathBuf {
        target_dir().join("eval/peers").join(&self.name)
    }

    /// Installs it, unless that was done already.
    pub(super) fn install(&self) -> Result<()> {
        let directory = self.directory();
        let done = directory.join("installed");
        let wanted = format!("{:?}", self.install);
        if self.install.is_empty() || std::fs::read_to_string(&done).is_ok_and(|was| was == wanted) {
            return Ok(());
        }
        std::fs::create_dir_all(&directory)?;
        for words in &self.install {
            let [program, args @ ..] = words.as_slice() else { continue };
            let mut command = Command::new(program);
            command.args(args).current_dir(&directory);
            println!("eval: {}: {}", self.name, command_line(&command));
            if !command.status().with_context(|| program.clone())?.success() {
                bail!("{} could not be installed: `{}` failed", self.name, command_line(&command));
            }
        }
        Ok(std::fs::write(done, wanted)?)
    }

    /// Writes its files into the run's home directory; returns the command that starts it.
    pub(super) fn prepare(&self, run_directory: &RunDirectory, origin: &str, model: &str) -> Result<Command> {
        let fill = |text: &str| {
            text.replace("@FOLDER@", &self.directory().to_string_lossy())
                .replace("@HOME@", &run_directory.home().to_string_lossy())
                .replace("@ORIGIN@", origin)
                .replace("@MODEL@", model)
        };
        for (path, text) in &self.files {
            let path = run_directory.home().join(path);
            std::fs::create_dir_all(path.parent().context("a file without a directory")?)?;
            std::fs::write(path, fill(text))?;
        }
        let [program, args @ ..] = self.command.as_slice() else { bail!("{} has no command", self.name) };
        let mut command = run_directory.command(fill(program));
        command.args(args.iter().map(|arg| fill(arg)));
        command.envs(self.env.iter().map(|(name, value)| (name, fill(value))));
        Ok(command)
    }
}

/// Strips the provider prefix that Tiller uses, which leaves the server's name of the model.
pub(super) fn bare(model: &str) -> &str {
    let providers = ["local/", "openai/", "anthropic/"];
    providers.iter().find_map(|provider| model.strip_prefix(provider)).unwrap_or(model)
}

/// Returns Tiller itself. A model of `local/` is only searched at the proxy; one without a provider
/// uses OpenAI's wire format.
fn tiller(binary: &Path, model: &str) -> Agent {
    let chosen = if bare(model) == model { format!("openai/{model}") } else { model.to_owned() };
    let mut env = vec![("TILLER_HOME", "@HOME@/tiller"), ("TILLER_MODEL", chosen.as_str())];
    let mut files = BTreeMap::new();
    if model.starts_with("local/") {
        let settings = "[providers.local]\ndiscover = false\nurls = [\"@ORIGIN@\"]\n";
        files.insert("tiller/config.toml".to_owned(), settings.to_owned());
    } else {
        env.extend([("OPENAI_BASE_URL", "@ORIGIN@/v1"), ("OPENAI_API_KEY", KEY)]);
        env.extend([("ANTHROPIC_BASE_URL", "@ORIGIN@"), ("ANTHROPIC_API_KEY", KEY)]);
    }
    let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let command = vec![binary.to_string_lossy().into_owned(), "acp".to_owned()];
    Agent { name: "tiller".to_owned(), command, env, files, ..Agent::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_described_as_it_should_be() {
        for entry in std::fs::read_dir(root().join("eval/peers")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let agent = Agent::named(Some(&name), Path::new("tiller"), "m").unwrap();
            assert!(!agent.install.is_empty(), "{name}");
            let all = format!("{agent:?}");
            assert!(all.contains("@ORIGIN@") && all.contains("@MODEL@"), "{name} is not told of the model");
        }
    }

    #[test]
    fn a_local_model_is_discovered_at_the_proxy_only() {
        let agent = Agent::named(None, Path::new("/bin/tiller"), "local/m").unwrap();
        assert!(agent.files["tiller/config.toml"].contains("discover = false"));
        assert!(!agent.env.contains_key("OPENAI_BASE_URL"));
        assert_eq!(
            Agent::named(None, Path::new("/bin/tiller"), "m").unwrap().env["TILLER_MODEL"],
            "openai/m"
        );
    }

    #[test]
    fn all_agents_get_the_servers_own_name_of_the_model() {
        let names = ["local/qwen3:8b", "qwen3:8b", "org/model"].map(bare);
        assert_eq!(names, ["qwen3:8b", "qwen3:8b", "org/model"]);
    }

    #[test]
    fn any_command_is_an_agent() {
        let agent = Agent::named(Some("/opt/other/agent --acp"), Path::new("tiller"), "m").unwrap();
        assert_eq!((agent.name.as_str(), agent.command.len()), ("agent", 2));
    }
}

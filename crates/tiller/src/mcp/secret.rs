//! `tiller mcp secret`: the secrets that configurations refer to.

use super::{
    CommandContext, Values,
    rows::{SecretKeys, SecretState},
};
use crate::{
    answer::{Answer, Failure, Kind},
    args::SecretCommand,
    failure::usage,
};
use anyhow::{Context as _, Result};
use std::io::Read as _;

impl CommandContext<'_> {
    pub(super) async fn secret(&self, command: SecretCommand) -> Result<Answer> {
        let values = Values::new(self.environment.clone(), self.system.clone(), &self.options.directories);
        let mut secrets = values.secrets().await?;
        match command {
            SecretCommand::Set { key } => {
                let mut value = String::new();
                std::io::stdin()
                    .lock()
                    .read_to_string(&mut value)
                    .context("the secret is read from stdin")?;
                let value = value.trim_end_matches(['\n', '\r']).to_owned();
                if value.is_empty() {
                    return Err(usage("the secret on stdin is empty"));
                }
                secrets.insert(key.clone(), value);
                values.store(&secrets).await?;
                let text = format!("{key} is set\n");
                Ok(Answer::new(SecretState { key, configured: true }, text))
            }
            SecretCommand::List => {
                let keys: Vec<_> = secrets.into_keys().collect();
                let text = keys.iter().map(|key| format!("{key}\n")).collect::<String>();
                Ok(Answer::new(SecretKeys { keys }, text))
            }
            SecretCommand::Unset { key } => {
                if secrets.remove(&key).is_none() {
                    return Err(Failure::new(Kind::NotFound, format!("no secret is called {key:?}"))
                        .meant(agent::closest(&key, secrets.keys(), |known| known))
                        .next("tiller mcp secret list")
                        .into());
                }
                values.store(&secrets).await?;
                let text = format!("{key} is forgotten\n");
                Ok(Answer::new(SecretState { key, configured: false }, text))
            }
        }
    }
}

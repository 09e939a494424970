//! Resolves references to variables and secrets in server configurations, and stores OAuth grants.

use crate::secrets::Values;
use async_trait::async_trait;
use std::time::{SystemTime, UNIX_EPOCH};

#[async_trait]
impl ::mcp::Values for Values {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    async fn secret(&self, key: &str) -> Option<String> {
        match self.secrets().await {
            Ok(mut secrets) => secrets.remove(key),
            Err(error) => {
                tracing::warn!("the secrets cannot be read: {error:#}");
                None
            }
        }
    }
}

/// The key of a server's grant among the secrets.
fn grant_key(server: &str) -> String {
    format!("mcp.{server}.oauth")
}

#[async_trait]
impl ::mcp::Grants for Values {
    async fn load(&self, server: &str) -> Option<String> {
        ::mcp::Values::secret(self, &grant_key(server)).await
    }

    async fn keep(&self, server: &str, grant: Option<String>) -> Result<(), String> {
        let kept = async {
            let mut secrets = self.secrets().await?;
            match grant {
                Some(grant) => secrets.insert(grant_key(server), grant),
                None => secrets.remove(&grant_key(server)),
            };
            self.store(&secrets).await
        };
        kept.await.map_err(|error| format!("{error:#}"))
    }

    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

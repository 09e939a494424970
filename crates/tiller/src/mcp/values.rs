//! Resolves references to variables and secrets in server configurations, and stores OAuth grants.

use crate::secrets::{Values, Wanted};
use async_trait::async_trait;
use std::time::{SystemTime, UNIX_EPOCH};

#[async_trait]
impl ::mcp::Values for Values {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    async fn secret(&self, key: &str) -> Option<String> {
        match self.secret_named(key).await {
            Ok(secret) => secret,
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
            match grant {
                Some(grant) => self.set(&grant_key(server), &grant, Wanted::Auto).await.map(drop),
                None => self.remove(&grant_key(server)).await.map(drop),
            }
        };
        kept.await.map_err(|error| format!("{error:#}"))
    }

    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

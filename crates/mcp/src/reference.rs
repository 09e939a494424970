//! References in server descriptions to environment variables and secrets.

use crate::config::{Origin, ServerConfig, ServerTransport};
use async_trait::async_trait;
use system::is_secret_name;

/// The source of the values behind references.
#[async_trait]
pub trait Values: Send + Sync {
    /// Returns a variable of this process.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns a secret that the user has stored.
    async fn secret(&self, key: &str) -> Option<String>;
}

/// The prefix of variables that a project's files may always use.
const OWN: &str = "TILLER_MCP_";
/// A variable that lists further permitted names, separated by commas.
const ALLOWED: &str = "TILLER_MCP_ALLOWED_ENV";

/// A server's transport with references resolved, and its secrets.
pub(crate) struct Resolved {
    pub(crate) transport: ServerTransport,
    pub(crate) secrets: Vec<String>,
}

/// Replaces references by their values. The error names what is missing, and contains no value.
pub(crate) async fn resolve(server: &ServerConfig, values: &dyn Values) -> Result<Resolved, String> {
    let mut resolver = Resolver { server, values, secrets: Vec::new() };
    let transport = match &server.transport {
        ServerTransport::Stdio { command, args, env } => {
            let mut given = Vec::with_capacity(args.len());
            for arg in args {
                given.push(resolver.value(arg).await?);
            }
            ServerTransport::Stdio { command: command.clone(), args: given, env: resolver.pairs(env).await? }
        }
        ServerTransport::Http { url, headers, sse } => {
            let resolved = resolver.value(url).await?;
            if resolved.contains('?') {
                resolver.secrets.push(resolved.clone());
                resolver.secrets.extend(resolved.split_once('?').map(|(_, query)| query.to_owned()));
            }
            ServerTransport::Http { url: resolved, headers: resolver.pairs(headers).await?, sse: *sse }
        }
    };
    Ok(Resolved { transport, secrets: resolver.secrets })
}

struct Resolver<'a> {
    server: &'a ServerConfig,
    values: &'a dyn Values,
    secrets: Vec<String>,
}

impl Resolver<'_> {
    async fn pairs(&mut self, pairs: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
        let mut resolved = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let value = self.value(value).await?;
            if is_secret_name(name) || name.eq_ignore_ascii_case("authorization") {
                let token = value.strip_prefix("Bearer ").unwrap_or(&value);
                self.secrets.push(token.to_owned());
            }
            resolved.push((name.clone(), value));
        }
        Ok(resolved)
    }

    /// Resolves a whole value, or the part after `Bearer `. Values of a client's server are
    /// literal.
    async fn value(&mut self, text: &str) -> Result<String, String> {
        if self.server.origin == Origin::Client {
            return Ok(text.to_owned());
        }
        let (before, reference) = match text.strip_prefix("Bearer ") {
            Some(rest) => ("Bearer ", rest),
            None => ("", text),
        };
        let braced = reference.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let secret = reference
            .strip_prefix("@secret:")
            .or_else(|| braced.and_then(|inner| inner.strip_prefix("TILLER_SECRET:")));
        if let Some(key) = secret {
            let found = self.values.secret(key).await;
            let found = found.ok_or_else(|| {
                format!("the secret '{key}' is not set; set it with `tiller mcp secret set {key}`")
            })?;
            self.secrets.push(found.clone());
            return Ok(format!("{before}{found}"));
        }
        let bare = || reference.strip_prefix('$').filter(|name| is_name(name));
        let Some(name) = braced.or_else(bare) else { return Ok(text.to_owned()) };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        if !is_name(name) {
            return Ok(text.to_owned());
        }
        self.may_use(name)?;
        match (self.values.variable(name), default) {
            (Some(value), _) => {
                // Most variables are no secrets, and redacting a harmless value would garble every
                // log.
                self.secrets.extend(is_secret_name(name).then(|| value.clone()));
                Ok(format!("{before}{value}"))
            }
            (None, Some(default)) => Ok(format!("{before}{default}")),
            (None, None) => Err(format!("the variable {name} is not set")),
        }
    }

    /// Checks that a project may use a variable; only the user can permit further ones.
    fn may_use(&self, name: &str) -> Result<(), String> {
        let listed = || {
            let listed = self.values.variable(ALLOWED).unwrap_or_default();
            listed.split(',').any(|allowed| allowed.trim() == name)
        };
        match self.server.origin {
            Origin::Project(_) if !name.starts_with(OWN) && !listed() => Err(format!(
                "MCP env reference '{name}' is not allowed: a project may use variables that begin with {OWN} or that {ALLOWED} names"
            )),
            _ => Ok(()),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    struct FakeValues;

    #[async_trait]
    impl Values for FakeValues {
        fn variable(&self, name: &str) -> Option<String> {
            let known = [("TILLER_MCP_A", "va"), ("HOST", "h"), ("OPEN", "o"), (ALLOWED, "OTHER, OPEN")];
            known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }

        async fn secret(&self, key: &str) -> Option<String> {
            (key == "mcp.s.key").then(|| "canary".to_owned())
        }
    }

    async fn value(text: &str, origin: &Origin) -> Result<String, String> {
        let file = serde_json::json!({ "servers": { "s": { "command": "x", "env": { "V": text } } } });
        let server = parse(&file.to_string(), origin).unwrap().remove(0).1.unwrap();
        let resolved = resolve(&server, &FakeValues).await?;
        if text.contains("ecret:") {
            assert_eq!(resolved.secrets, ["canary"], "it is known to be secret");
        }
        let ServerTransport::Stdio { env, .. } = resolved.transport else { panic!("a program") };
        Ok(env[0].1.clone())
    }

    #[tokio::test]
    async fn only_a_whole_value_is_a_reference() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${env:TILLER_MCP_A}", "va"),
            ("${HOST}", "h"),
            ("$HOST", "h"),
            ("Bearer ${HOST}", "Bearer h"),
            ("${NONE:-d}", "d"),
            ("${HOST:-d}", "h"),
            ("a$HOST", "a$HOST"),
            ("$5", "$5"),
            ("@secret:mcp.s.key", "canary"),
            ("Bearer ${TILLER_SECRET:mcp.s.key}", "Bearer canary"),
        ] {
            assert_eq!(value(text, &Origin::User).await.as_deref(), Ok(expected), "{text}");
        }
        let missing = value("${NONE}", &Origin::User).await.unwrap_err();
        assert!(missing.contains("NONE is not set"), "{missing}");
        let missing = value("@secret:none", &Origin::User).await.unwrap_err();
        assert!(missing.contains("`tiller mcp secret set none`"), "{missing}");
    }

    #[tokio::test]
    async fn a_project_gets_only_the_variables_that_the_user_permits() {
        let project = Origin::Project(".mcp.json");
        assert_eq!(value("$TILLER_MCP_A", &project).await.as_deref(), Ok("va"));
        assert_eq!(value("$OPEN", &project).await.as_deref(), Ok("o"));
        assert!(value("$HOST", &project).await.unwrap_err().contains("'HOST' is not allowed"));
    }
}

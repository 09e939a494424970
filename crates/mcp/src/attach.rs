//! Prompts and resources of a server, as content of a user's message.

use crate::{
    content,
    limits::{MENTION, RESTART_WAIT},
    prompts::PromptDefinition,
    server::Server,
};
use agent::{Content, Redactor};
use std::sync::Arc;

/// Returns the content of one of the server's prompts, filled in.
pub(crate) async fn prompt_content(
    server: &Server,
    command: &str,
    arguments: &str,
    redactor: &Redactor,
) -> Result<Vec<Content>, String> {
    let client = server.ready(RESTART_WAIT).await?;
    let known =
        |prompts: &[Arc<PromptDefinition>]| prompts.iter().find(|prompt| prompt.command == command).cloned();
    let prompt = match known(&server.prompts.all()) {
        Some(prompt) => prompt,
        // Tools are listed first, so the prompts may not have arrived yet.
        None => {
            let given = client.prompts().await?;
            let all: Vec<_> = given
                .iter()
                .map(|prompt| Arc::new(PromptDefinition::new(&server.config.name, prompt)))
                .collect();
            known(&all).ok_or_else(|| format!("it has no prompt for /{command}"))?
        }
    };
    let filled = client.prompt(&prompt.name, prompt.arguments(arguments)?).await?;
    let content = content::prompt_content(filled, redactor);
    if content.is_empty() { Err("the prompt is empty".to_owned()) } else { Ok(content) }
}

/// Returns whether a resource belongs to this server: it lists the resource, or one with the
/// same scheme.
pub(crate) async fn has_resource(server: &Server, uri: &str) -> bool {
    let Ok(client) = server.ready(RESTART_WAIT).await else { return false };
    if !client.has("resources") {
        return false;
    }
    let Ok(Ok(resources)) = tokio::time::timeout(MENTION, client.resources()).await else { return false };
    let scheme = |uri: &str| uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    resources.iter().any(|resource| resource.uri == uri || scheme(&resource.uri) == scheme(uri))
}

/// Reads a resource, to be attached to a prompt.
pub(crate) async fn resource_content(
    server: &Server,
    uri: &str,
    redactor: &Redactor,
) -> Result<Vec<Content>, String> {
    let client = server.ready(RESTART_WAIT).await?;
    let read = tokio::time::timeout(MENTION, client.read(uri)).await;
    let read = read.unwrap_or_else(|_| Err(format!("timed out after {}s.", MENTION.as_secs())))?;
    Ok(content::attachments(read, redactor))
}

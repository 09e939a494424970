//! Finds model servers on this machine.

use crate::{
    http::{Http, is_loopback},
    limits::{MAX_LIST_BYTES, PROBE_TIMEOUT},
};
use reqwest::Url;
use serde::Deserialize;
use tokio::net::TcpStream;

/// A server that may be there.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// What people call it.
    name: String,
    /// Its address without a path.
    base: Url,
    /// Where it lists its models.
    list: &'static str,
}

/// A model on a server of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalModel {
    /// Its name at the server.
    pub(crate) model: String,
    /// What people call the server.
    pub(crate) server: String,
    /// The base URL of the server's Chat Completions.
    pub(crate) base_url: String,
    /// Tokens of context, where the server tells.
    pub(crate) context_size: Option<u64>,
}

/// The servers to look at: the usual ones when `discover`, then `urls`. Addresses beyond loopback are passed over with a warning:
/// nothing is sent to another machine unasked.
pub(crate) fn candidates(discover: bool, urls: &[String]) -> Vec<Candidate> {
    let usual = [
        ("Ollama", "http://127.0.0.1:11434", "/api/tags"),
        ("llama.cpp", "http://127.0.0.1:8080", "/v1/models"),
        ("LM Studio", "http://127.0.0.1:1234", "/v1/models"),
    ];
    let usual = usual.into_iter().filter(|_| discover).filter_map(|(name, base, list)| {
        Some(Candidate { name: name.to_owned(), base: Url::parse(base).ok()?, list })
    });
    let named = urls.iter().filter_map(|url| match Url::parse(url) {
        Ok(base) if base.scheme() == "http" && is_loopback(&base) => {
            Some(Candidate { name: host_and_port(&base), base, list: "/v1/models" })
        }
        _ => {
            tracing::warn!("passed over a local model server that is no http:// address on this machine; configure it as a provider instead");
            None
        }
    });
    usual.chain(named).collect()
}

fn host_and_port(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

/// The models of all servers that answer in time, in the order of the candidates; of two models of one name the first counts.
pub(crate) async fn probe(candidates: &[Candidate], http: &Http) -> Vec<LocalModel> {
    let answers = candidates.iter().map(|candidate| async {
        tokio::time::timeout(PROBE_TIMEOUT, ask(candidate, http)).await.ok().flatten().unwrap_or_default()
    });
    let mut found: Vec<LocalModel> = Vec::new();
    for model in futures::future::join_all(answers).await.into_iter().flatten() {
        if !found.iter().any(|known| known.model == model.model) {
            found.push(model);
        }
    }
    found
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at a port of loopback, before there is a client for it"
)]
async fn ask(candidate: &Candidate, http: &Http) -> Option<Vec<LocalModel>> {
    let port = candidate.base.port_or_known_default()?;
    let host = candidate.base.host_str()?.trim_start_matches('[').trim_end_matches(']');
    // A refused connection is the usual answer and costs next to nothing; no HTTP client is built for it.
    let connection = TcpStream::connect((host, port)).await.ok()?;
    if !connection.peer_addr().ok()?.ip().is_loopback() {
        return None;
    }
    drop(connection);
    let url = candidate.base.join(candidate.list).ok()?;
    let mut response = http.client(&url).ok()?.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LIST_BYTES {
            return None;
        }
    }
    Some(read(candidate, &body))
}

/// Reads either list. What cannot be talked to (models for embeddings) is left out by its name, all that lists tell.
fn read(candidate: &Candidate, body: &[u8]) -> Vec<LocalModel> {
    let list: List = serde_json::from_slice(body).unwrap_or_default();
    let entries = list.data.into_iter().chain(list.models);
    let base_url = candidate.base.join("/v1").map(String::from).unwrap_or_default();
    let mut models: Vec<LocalModel> = Vec::new();
    for entry in entries {
        let Some(model) = entry.id.or(entry.name).filter(|model| !model.is_empty()) else { continue };
        if model.to_lowercase().contains("embed") || models.iter().any(|known| known.model == model) {
            continue;
        }
        models.push(LocalModel {
            model,
            server: candidate.name.clone(),
            base_url: base_url.clone(),
            context_size: entry.meta.and_then(|meta| meta.n_ctx).or(entry.max_context_length),
        });
    }
    models
}

/// `{"data": [{"id": …}]}` as OpenAI has it, `{"models": [{"name": …}]}` as Ollama has it; llama.cpp sends both.
#[derive(Deserialize, Default)]
struct List {
    #[serde(default)]
    data: Vec<Entry>,
    #[serde(default)]
    models: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: Option<String>,
    name: Option<String>,
    meta: Option<Meta>,
    max_context_length: Option<u64>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_looked_at() {
        let urls =
            ["http://127.0.0.1:1", "http://[::1]:2/", "http://10.0.0.1:3", "https://example.org", "nonsense"];
        let found = candidates(false, &urls.map(str::to_owned));
        let names: Vec<_> = found.iter().map(|candidate| candidate.name.as_str()).collect();
        assert_eq!(names, ["127.0.0.1:1", "[::1]:2"]);
        assert_eq!(candidates(true, &[]).len(), 3);
        assert!(candidates(true, &[]).iter().all(|candidate| is_loopback(&candidate.base)));
    }

    #[test]
    fn both_lists_are_read() {
        let candidate = &candidates(true, &[])[0];
        let names = |body: &str| -> Vec<_> {
            read(candidate, body.as_bytes())
                .into_iter()
                .map(|model| (model.model, model.context_size))
                .collect()
        };
        let ollama = r#"{"models":[{"name":"qwen3:8b","size":1},{"name":"nomic-embed-text:latest"}]}"#;
        assert_eq!(names(ollama), [("qwen3:8b".to_owned(), None)]);
        let llama = r#"{"models":[{"name":"m.gguf"}],"data":[{"id":"m.gguf","meta":{"n_ctx":4096}}]}"#;
        assert_eq!(names(llama), [("m.gguf".to_owned(), Some(4096))]);
        assert_eq!(names("<html>"), []);
    }
}

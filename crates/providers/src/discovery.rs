//! Discovers model servers on this machine, and asks servers at user-configured addresses for their
//! models.

mod address;
mod answers;

pub use address::ollama_address;
pub(crate) use answers::{Kind, ReportedModel};

use crate::{
    http::{Http, is_loopback},
    limits::{DETAILED_MODELS, DETAILS_TIMEOUT, LIST_TIMEOUT, LISTED_MODELS, MAX_LIST_BYTES, PROBE_TIMEOUT},
    options::LocalOptions,
};
use futures::future::join_all;
use reqwest::{Url, header::HeaderMap};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};

/// A server that may exist.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Its display name.
    name: String,
    /// The base URL of its Chat Completions API, with a path.
    base: Url,
    /// The program, as far as its port indicates.
    kind: Option<Kind>,
    /// The headers, including credentials.
    headers: HeaderMap,
    /// The timeout for listing its models.
    wait: Duration,
    /// Whether requests may leave this machine.
    is_remote: bool,
}

/// A model at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalModel {
    pub(crate) server: Server,
    pub(crate) reported: ReportedModel,
}

/// A server that has listed its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// Its display name.
    pub(crate) name: String,
    /// The base URL of its Chat Completions API.
    pub(crate) base_url: String,
    /// The program, if known.
    pub(crate) kind: Option<Kind>,
}

/// Returns the servers to probe: the default ones if `discover` is set (with Ollama at `ollama` if
/// given, on any machine), then `urls`. Of `urls`, addresses beyond loopback are skipped with a
/// warning: nothing is sent to another machine without an explicit setting.
pub(crate) fn candidates(discover: bool, ollama: Option<&str>, urls: &[String]) -> Vec<Candidate> {
    let usual = [
        (Kind::Ollama, ollama.unwrap_or("http://127.0.0.1:11434")),
        (Kind::LlamaCpp, "http://127.0.0.1:8080"),
        (Kind::LmStudio, "http://127.0.0.1:1234"),
        (Kind::Vllm, "http://127.0.0.1:8000"),
    ];
    let usual = usual.into_iter().filter(|_| discover).filter_map(|(kind, base)| {
        let base = Url::parse(base).ok()?;
        let is_remote = kind == Kind::Ollama && ollama.is_some();
        let name = if is_loopback(&base) { kind.name().to_owned() } else { host_and_port(&base) };
        Some(Candidate { kind: Some(kind), is_remote, ..Candidate::local(name, &base) })
    });
    let named = urls.iter().filter_map(|url| match Url::parse(url) {
        Ok(base) if base.scheme() == "http" && is_loopback(&base) => {
            Some(Candidate::local(host_and_port(&base), &base))
        }
        _ => {
            tracing::warn!("skipped a local model server whose address is not http:// on this machine; configure it as a provider instead");
            None
        }
    });
    usual.chain(named).collect()
}

/// Returns the addresses of the servers that are probed with these options.
pub fn local_addresses(options: &LocalOptions) -> Vec<String> {
    let candidates = candidates(options.discover, options.ollama.as_deref(), &options.urls);
    candidates.into_iter().map(|candidate| candidate.base.to_string()).collect()
}

fn host_and_port(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

impl Candidate {
    /// Creates a candidate without a key, at an address with or without a path. The path may be
    /// that of Chat Completions.
    fn local(name: String, address: &Url) -> Self {
        let mut base = address.clone();
        let path = address.path().trim_end_matches('/').trim_end_matches("/chat/completions");
        base.set_path(&format!("{}/v1", path.trim_end_matches("/v1")));
        let wait = if is_loopback(&base) { PROBE_TIMEOUT } else { LIST_TIMEOUT };
        Self { name, base, kind: None, headers: HeaderMap::new(), wait, is_remote: false }
    }

    /// Creates a candidate at a user-configured address, whose list of models is at `list`.
    pub(crate) fn named(name: &str, list: &Url, headers: HeaderMap) -> Option<Self> {
        let mut base = list.clone();
        base.set_path(list.path().strip_suffix("/models")?);
        Some(Self { name: name.to_owned(), base, kind: None, headers, wait: LIST_TIMEOUT, is_remote: true })
    }

    /// Returns the address of a resource next to the Chat Completions API.
    fn beside(&self, resource: &str) -> Url {
        let mut url = self.base.clone();
        let root = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        url.set_path(&format!("{root}/{resource}"));
        url
    }

    /// Returns the address of its list of models.
    fn list(&self) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/models", self.base.path().trim_end_matches('/')));
        url
    }

    /// Returns its models; `None` if it does not answer with a list in time.
    pub(crate) async fn models(&self, http: &Http) -> Option<Vec<LocalModel>> {
        let (mut models, kind) = timeout(self.wait, self.ask(http)).await.ok().flatten()?;
        models.truncate(LISTED_MODELS);
        let mut detailed = models.clone();
        // If the details time out, the values of the list are used.
        if timeout(DETAILS_TIMEOUT, self.detail(kind, &mut detailed, http)).await.is_ok() {
            models = detailed;
        }
        models.retain(|model| model.is_for_chat);
        let program = kind.filter(|_| self.kind.is_none() && !self.is_remote).map(Kind::name);
        let name = program.map_or_else(|| self.name.clone(), str::to_owned);
        let server = Server { name, base_url: self.base.to_string(), kind };
        let at_server = |reported| LocalModel { server: server.clone(), reported };
        Some(models.into_iter().map(at_server).collect())
    }

    async fn ask(&self, http: &Http) -> Option<(Vec<ReportedModel>, Option<Kind>)> {
        if !self.is_remote && !is_listening(&self.base).await {
            return None;
        }
        let own = |(models, kind): (Vec<ReportedModel>, Option<Kind>)| (models, kind.or(self.kind));
        let tags = async || answers::list(&self.get(self.beside("api/tags"), http).await?);
        if self.kind == Some(Kind::Ollama)
            && let Some((models, _)) = tags().await
        {
            return Some((models, Some(Kind::Ollama)));
        }
        match self.get(self.list(), http).await {
            Some(body) => answers::list(&body).map(own),
            // Old versions of Ollama support only their own list.
            None if self.kind.is_none() => tags().await.map(|(models, _)| (models, Some(Kind::Ollama))),
            None => None,
        }
    }

    /// Queries details that the list does not contain.
    async fn detail(&self, kind: Option<Kind>, models: &mut [ReportedModel], http: &Http) {
        match kind {
            Some(Kind::Ollama) => {
                let few = models.iter_mut().take(DETAILED_MODELS);
                join_all(few.map(async |model| {
                    let asked = json!({ "model": model.name });
                    if let Some(answer) = self.post(self.beside("api/show"), &asked, http).await {
                        answers::show(model, &answer);
                    }
                }))
                .await;
            }
            Some(Kind::LmStudio) => {
                let Some(body) = self.get(self.beside("api/v0/models"), http).await else { return };
                let Some((listed, _)) = answers::list(&body) else { return };
                for model in models.iter_mut() {
                    // Its own list marks the embedding models.
                    let Some(more) = listed.iter().find(|more| more.name == model.name) else {
                        model.is_for_chat = listed.is_empty();
                        continue;
                    };
                    model.max_context = more.max_context;
                    model.images = more.images;
                }
            }
            Some(Kind::LlamaCpp | Kind::Vllm) | None => {}
        }
        self.with_current_context(kind, models, http).await;
    }

    /// Queries the context size of loaded models.
    async fn with_current_context(&self, kind: Option<Kind>, models: &mut [ReportedModel], http: &Http) {
        match kind {
            Some(Kind::Ollama) => {
                let Some(body) = self.get(self.beside("api/ps"), http).await else { return };
                let loaded = answers::loaded(&serde_json::from_slice(&body).unwrap_or_default());
                for (name, size) in loaded {
                    let untagged = |model: &ReportedModel| name.strip_suffix(":latest") == Some(&model.name);
                    let model = models.iter_mut().find(|model| model.name == name || untagged(model));
                    if let Some(model) = model {
                        model.context_size = Some(size);
                    }
                }
            }
            Some(Kind::LlamaCpp) => {
                let Some(body) = self.get(self.beside("props"), http).await else { return };
                let (size, images) = answers::props(&serde_json::from_slice(&body).unwrap_or_default());
                // A server that switches between models does not report for a particular one.
                if let [model] = models {
                    model.context_size = size.or(model.context_size);
                    model.images |= images;
                }
            }
            Some(Kind::LmStudio) => {
                let Some(body) = self.get(self.beside("api/v0/models"), http).await else { return };
                let listed = answers::list(&body).map(|(listed, _)| listed).unwrap_or_default();
                for model in models.iter_mut() {
                    let more = listed.iter().find(|more| more.name == model.name);
                    model.context_size = more.and_then(|more| more.context_size).or(model.context_size);
                }
            }
            Some(Kind::Vllm) | None => {}
        }
    }

    async fn get(&self, url: Url, http: &Http) -> Option<Vec<u8>> {
        let request = http.client(&url).ok()?.get(url).headers(self.headers.clone());
        body(request).await
    }

    async fn post(&self, url: Url, asked: &Value, http: &Http) -> Option<Value> {
        let request = http.client(&url).ok()?.post(url).headers(self.headers.clone());
        let request =
            request.header(reqwest::header::CONTENT_TYPE, "application/json").body(asked.to_string());
        serde_json::from_slice(&body(request).await?).ok()
    }
}

/// Returns the number of models in the body of a list; `None` if it is not a list.
pub(crate) fn list_length(body: &[u8]) -> Option<usize> {
    Some(answers::list(body)?.0.len())
}

/// Returns the body of a successful response, if it is within [`MAX_LIST_BYTES`].
async fn body(request: reqwest::RequestBuilder) -> Option<Vec<u8>> {
    let mut response = request.send().await.ok()?;
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
    Some(body)
}

/// Returns whether a server listens on loopback. Usually the connection is refused, which costs
/// next to nothing; no HTTP client is built for it.
#[expect(
    clippy::disallowed_methods,
    reason = "a look at a port of loopback, before there is a client for it"
)]
async fn is_listening(url: &Url) -> bool {
    let Some(port) = url.port_or_known_default() else { return false };
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let Ok(connection) = TcpStream::connect((host, port)).await else { return false };
    connection.peer_addr().is_ok_and(|peer| peer.ip().is_loopback())
}

/// Returns the models of all servers that answer in time, in the order of the candidates. Of models
/// with the same name, the first one counts.
pub(crate) async fn probe(candidates: &[Candidate], http: &Http) -> Vec<LocalModel> {
    let answers = candidates.iter().map(|candidate| candidate.models(http));
    let mut found: Vec<LocalModel> = Vec::new();
    for model in join_all(answers).await.into_iter().flatten().flatten() {
        if !found.iter().any(|known| known.reported.name == model.reported.name) {
            found.push(model);
        }
    }
    found
}

/// Updates a model with its current context size, since servers load and unload models and restart.
pub(crate) async fn with_current_context(model: &LocalModel, http: &Http) -> LocalModel {
    let LocalModel { server, reported } = model;
    let mut now = [reported.clone()];
    if let Ok(base) = Url::parse(&server.base_url) {
        let candidate = Candidate { is_remote: true, ..Candidate::local(server.name.clone(), &base) };
        let _ = timeout(PROBE_TIMEOUT, candidate.with_current_context(server.kind, &mut now, http)).await;
    }
    let [reported] = now;
    LocalModel { server: server.clone(), reported }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_user_named_addresses_are_probed() {
        let urls =
            ["http://127.0.0.1:1", "http://[::1]:2/", "http://10.0.0.1:3", "https://example.org", "nonsense"];
        let found = candidates(false, None, &urls.map(str::to_owned));
        let names: Vec<_> = found.iter().map(|candidate| candidate.name.as_str()).collect();
        assert_eq!(names, ["127.0.0.1:1", "[::1]:2"]);
        let resource = candidates(false, None, &["http://127.0.0.1:1/v1/chat/completions".to_owned()]);
        assert_eq!(resource[0].list().as_str(), "http://127.0.0.1:1/v1/models");
        let usual = candidates(true, None, &[]);
        let lists: Vec<_> = usual.iter().map(|candidate| candidate.list().to_string()).collect();
        let ports = [11434, 8080, 1234, 8000].map(|port| format!("http://127.0.0.1:{port}/v1/models"));
        assert_eq!(lists, ports);
        assert!(usual.iter().all(|candidate| !candidate.is_remote && is_loopback(&candidate.base)));
        let named = candidates(true, Some("http://gpu-box:11434"), &[]);
        assert_eq!((named.len(), named[0].name.as_str(), named[0].is_remote), (4, "gpu-box:11434", true));
        assert!(candidates(false, Some("http://gpu-box:11434"), &[]).is_empty(), "looking is switched off");
    }

    #[test]
    fn every_format_of_model_list_is_parsed() {
        let names = |body: &str| -> Option<Vec<_>> {
            let (models, _) = answers::list(body.as_bytes())?;
            Some(models.into_iter().map(|model| (model.name, model.context_size)).collect())
        };
        let one = |name: &str, size| Some(vec![(name.to_owned(), size)]);
        let ollama = r#"{"models":[{"name":"qwen3:8b","size":1},{"name":"nomic-embed-text:latest"}]}"#;
        assert_eq!(names(ollama), one("qwen3:8b", None));
        let llama = r#"{"models":[{"name":"m.gguf"}],"data":[{"id":"m.gguf","meta":{"n_ctx":4096}}]}"#;
        assert_eq!(names(llama), one("m.gguf", Some(4096)));
        assert_eq!(names(r#"{"data":[{"id":"m","max_model_len":9000}]}"#), one("m", Some(9000)));
        assert_eq!(names(r#"[{"id":"m","context_length":5}]"#), one("m", Some(5)));
        let gemini = r#"{"models":[
            {"name":"models/gemini-3-pro","inputTokenLimit":1000,"outputTokenLimit":64,
             "supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/gemini-vectors","inputTokenLimit":10,"supportedGenerationMethods":["embedContent"]}]}"#;
        assert_eq!(names(gemini), one("gemini-3-pro", Some(1000)));
        assert_eq!(names(r#"{"data":[]}"#), Some(Vec::new()));
        assert_eq!(names(r#"{"data":[{"id":"a\u001b[2Jb"}]}"#), Some(Vec::new()));
        for none in ["<html>", "{}", r#"{"error":"no"}"#, "[1]"] {
            assert_eq!(names(none), None, "{none}");
        }
    }
}

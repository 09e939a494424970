//! Parses what model servers report of their models, each in its own format.

use crate::model_table::size;
use serde::Deserialize;
use serde_json::Value;

/// A program that serves models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// <https://docs.ollama.com/api>
    Ollama,
    /// <https://github.com/ggml-org/llama.cpp/tree/master/tools/server>
    LlamaCpp,
    /// <https://lmstudio.ai/docs/developer/rest>
    LmStudio,
    /// <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html>
    Vllm,
}

impl Kind {
    /// Identifies the program by the owner that it reports for its models.
    fn of_owner(owner: &str) -> Option<Self> {
        Some(match owner {
            "library" => Self::Ollama,
            "llamacpp" => Self::LlamaCpp,
            "organization_owner" => Self::LmStudio,
            "vllm" => Self::Vllm,
            _ => return None,
        })
    }

    /// Returns its display name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
        }
    }
}

/// What a server reports of one of its models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReportedModel {
    /// Its name at the server.
    pub(crate) name: String,
    /// The context size in effect for requests, in tokens, if reported.
    pub(crate) context_size: Option<u64>,
    /// The largest context size that the model supports, in tokens, if reported.
    pub(crate) max_context: Option<u64>,
    /// The longest answer, in tokens, if reported.
    pub(crate) max_output: Option<u64>,
    /// The number of parameters, if reported.
    pub(crate) parameters: Option<u64>,
    /// Whether it is known to accept images.
    pub(crate) images: bool,
    /// Whether it generates text; embedding models do not.
    pub(crate) is_for_chat: bool,
}

/// `{"data": [{"id": …}]}` from OpenAI, `{"models": [{"name": …}]}` from Ollama and Google;
/// llama.cpp sends both, and some servers send a bare array.
#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    Named {
        #[serde(default)]
        data: Option<Vec<Entry>>,
        #[serde(default)]
        models: Option<Vec<Entry>>,
    },
    Bare(Vec<Entry>),
}

#[derive(Deserialize)]
struct Entry {
    id: Option<String>,
    name: Option<String>,
    owned_by: Option<String>,
    /// llama.cpp.
    meta: Option<Meta>,
    /// Ollama.
    details: Option<Details>,
    /// LM Studio: `llm`, `vlm` or `embeddings`.
    #[serde(rename = "type")]
    kind: Option<String>,
    max_context_length: Option<u64>,
    loaded_context_length: Option<u64>,
    /// vLLM, and servers based on it.
    max_model_len: Option<u64>,
    /// OpenRouter, and others.
    context_length: Option<u64>,
    /// Google, whose names begin with `models/`: <https://ai.google.dev/api/models>
    #[serde(rename = "inputTokenLimit")]
    input_token_limit: Option<u64>,
    #[serde(rename = "outputTokenLimit")]
    output_token_limit: Option<u64>,
    #[serde(rename = "supportedGenerationMethods")]
    methods: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
    n_params: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    parameter_size: Option<String>,
}

/// Parses a list of models, and identifies the program that wrote it, if possible. Returns `None`
/// if it is not a list of models. Models that generate no text are left out.
pub(super) fn list(body: &[u8]) -> Option<(Vec<ReportedModel>, Option<Kind>)> {
    let entries: Vec<Entry> = match serde_json::from_slice(body).ok()? {
        List::Bare(entries) => entries,
        List::Named { data: None, models: None } => return None,
        List::Named { data, models } => data.into_iter().chain(models).flatten().collect(),
    };
    let kind = entries.iter().find_map(Entry::server);
    let mut models: Vec<ReportedModel> = Vec::new();
    for model in entries.iter().filter_map(Entry::model) {
        if !models.iter().any(|known| known.name == model.name) {
            models.push(model);
        }
    }
    Some((models, kind))
}

impl Entry {
    /// Returns the model, if its name is valid and it generates text.
    fn model(&self) -> Option<ReportedModel> {
        let name = self.name()?;
        (is_name(name) && self.is_for_chat(name)).then(|| ReportedModel {
            name: name.to_owned(),
            context_size: self.context_size(),
            max_context: self.max_context_length.or(self.meta.as_ref().and_then(|meta| meta.n_ctx_train)),
            max_output: self.output_token_limit.filter(|size| *size > 0),
            parameters: self.parameters(),
            images: self.kind.as_deref() == Some("vlm"),
            is_for_chat: true,
        })
    }

    fn name(&self) -> Option<&str> {
        let name = self.id.as_deref().or(self.name.as_deref())?;
        match self.methods {
            Some(_) => Some(name.strip_prefix("models/").unwrap_or(name)),
            None => Some(name),
        }
    }

    fn is_for_chat(&self, name: &str) -> bool {
        let generates =
            self.methods.as_ref().is_none_or(|all| all.iter().any(|method| method == "generateContent"));
        generates && self.kind.as_deref() != Some("embeddings") && !name.to_lowercase().contains("embed")
    }

    /// Identifies the program that wrote the entry.
    fn server(&self) -> Option<Kind> {
        let by_owner = self.owned_by.as_deref().and_then(Kind::of_owner);
        by_owner.or(self.meta.is_some().then_some(Kind::LlamaCpp))
    }

    /// Returns the context size in effect for requests, in tokens.
    fn context_size(&self) -> Option<u64> {
        let meta = self.meta.as_ref().and_then(|meta| meta.n_ctx);
        let sizes = [
            meta,
            self.loaded_context_length,
            self.max_model_len,
            self.context_length,
            self.input_token_limit,
        ];
        sizes.into_iter().flatten().find(|size| *size > 0)
    }

    fn parameters(&self) -> Option<u64> {
        let size = self.details.as_ref().and_then(|details| details.parameter_size.as_deref());
        self.meta.as_ref().and_then(|meta| meta.n_params).or_else(|| size::parameters(size?))
    }
}

/// Returns whether a name can be displayed and sent.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 500 && !name.chars().any(char::is_control)
}

/// Parses llama.cpp's answer to `/props`: the context size of each slot, and whether it accepts
/// images.
pub(super) fn props(answer: &Value) -> (Option<u64>, bool) {
    let context = answer.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64);
    let images = answer.pointer("/modalities/vision").and_then(Value::as_bool).unwrap_or(false);
    (context.filter(|size| *size > 0), images)
}

/// Parses Ollama's answer to `/api/ps`: each loaded model with the context size in effect.
pub(super) fn loaded(answer: &Value) -> Vec<(String, u64)> {
    let models = answer.get("models").and_then(Value::as_array).into_iter().flatten();
    let loaded = |model: &Value| {
        let name = model.get("name").or_else(|| model.get("model"))?.as_str()?;
        Some((name.to_owned(), model.get("context_length")?.as_u64().filter(|size| *size > 0)?))
    };
    models.filter_map(loaded).collect()
}

/// Updates a model with Ollama's answer to `/api/show`.
pub(super) fn show(model: &mut ReportedModel, answer: &Value) {
    let info = answer.get("model_info").and_then(Value::as_object);
    let number = |ending: &str| {
        let field = info?.iter().find(|(name, _)| name.ends_with(ending))?;
        field.1.as_u64().filter(|number| *number > 0)
    };
    model.max_context = number(".context_length").or(model.max_context);
    model.parameters = number("general.parameter_count").or(model.parameters);
    let parameters = answer.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let given = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"));
    model.context_size = given.and_then(|size| size.trim().parse().ok()).or(model.context_size);
    let abilities = answer.get("capabilities").and_then(Value::as_array);
    let can = |ability: &str| abilities.is_some_and(|all| all.iter().any(|known| known == ability));
    model.images |= can("vision");
    // Older servers report no capabilities; newer ones list `completion` or `embedding`.
    model.is_for_chat = abilities.is_none() || can("completion");
}

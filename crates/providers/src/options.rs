//! The options of this crate, resolved by the binary from configuration files, environment and flags.

use crate::{Secret, limits};
use agent::ToolProfile;
use std::{collections::BTreeMap, time::Duration};
use system::AbsPath;

/// Everything that decides which models there are and how they are reached.
#[derive(Debug, Clone)]
pub struct ProvidersOptions {
    /// `openai/…`. Configured when it has a key, or a base URL other than OpenAI's own.
    pub openai: VendorOptions,
    /// `anthropic/…`. Configured when it has a key, or a base URL other than Anthropic's own.
    pub anthropic: VendorOptions,
    /// `gemini/…`. Configured when it has a key, or a base URL other than Google's own.
    pub gemini: VendorOptions,
    /// Further providers by name, for `NAME/…`. Each needs a base URL. The built-in names cannot be replaced.
    pub custom: BTreeMap<String, VendorOptions>,
    /// `local/…`: servers on this machine.
    pub local: LocalOptions,
    /// The id of the model for sessions that name none; chosen by what is configured when `None`.
    pub default_model: Option<String>,
    /// The file that all model traffic is recorded to, replaced on the first request.
    pub record_to: Option<AbsPath>,
    /// Takes secrets out of what is recorded.
    pub redactor: agent::Redactor,
    /// What the relative file names of `replay/FILE` are relative to; only absolute ones work when `None`.
    pub replay_base: Option<AbsPath>,
    /// How long a server may send nothing before the request is given up, where its own options say
    /// nothing; [`limits::SILENCE`] or [`limits::SILENCE_NEAR`] when `None`.
    pub silence: Option<Duration>,
    /// The file that a newer catalogue of vendors' models is kept in; the built-in one is used when `None`.
    pub catalogue_file: Option<AbsPath>,
    /// How many tools models get; decided by each model's size when `None`.
    pub tool_profile: Option<ToolProfile>,
    /// How often a request is tried in all; at least 1.
    pub tries: u32,
    /// The wait before the second try; it doubles for each further one.
    pub retry_delay: Duration,
}

impl Default for ProvidersOptions {
    fn default() -> Self {
        Self {
            openai: VendorOptions::default(),
            anthropic: VendorOptions::default(),
            gemini: VendorOptions::default(),
            custom: BTreeMap::new(),
            local: LocalOptions::default(),
            default_model: None,
            record_to: None,
            redactor: agent::Redactor::default(),
            replay_base: None,
            silence: None,
            catalogue_file: None,
            tool_profile: None,
            tries: limits::TRIES,
            retry_delay: limits::RETRY_DELAY,
        }
    }
}

/// How one vendor is reached.
#[derive(Debug, Clone, Default)]
pub struct VendorOptions {
    /// The key; none is sent when `None`.
    pub api_key: Option<Secret>,
    /// Where its API is, with or without a path (`http://host:1` means `http://host:1/v1`); the vendor's own address when `None`.
    pub base_url: Option<String>,
    /// What it speaks.
    pub wire: Wire,
    /// How long it may send nothing before a request is given up.
    pub silence: Option<Duration>,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wire {
    /// Chosen by provider, address and model, and changed where the server sends us to another: Responses at api.openai.com and
    /// for models that take tools over nothing else, Messages for `anthropic`, `generateContent` for `gemini`, Chat Completions
    /// everywhere else.
    #[default]
    Auto,
    /// OpenAI Chat Completions, `/chat/completions`.
    Chat,
    /// OpenAI Responses, `/responses`.
    Responses,
    /// Anthropic Messages, `/v1/messages`.
    Anthropic,
    /// Google's Gemini API, `/v1beta/models/MODEL:streamGenerateContent`.
    Gemini,
}

/// Model servers on this machine.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Whether the usual ports of Ollama, llama.cpp, LM Studio and vLLM are looked at.
    pub discover: bool,
    /// The address of Ollama where it is not the usual one, on this machine or beyond; see
    /// [`ollama_address`](crate::ollama_address).
    pub ollama: Option<String>,
    /// Further servers that speak Chat Completions, such as `http://127.0.0.1:9000`. Addresses beyond loopback are refused; they
    /// belong to [`ProvidersOptions::custom`].
    pub urls: Vec<String>,
    /// How long any of them may send nothing before a request is given up.
    pub silence: Option<Duration>,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self { discover: true, ollama: None, urls: Vec::new(), silence: None }
    }
}

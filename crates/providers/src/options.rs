//! The options of this crate, resolved by the binary from configuration files, environment and
//! flags.

use crate::{Secret, limits};
use agent::ToolProfile;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use system::AbsPath;

/// All options: which models exist and how they are reached.
#[derive(Debug, Clone, Default)]
pub struct ProvidersOptions {
    /// The providers beyond this machine.
    pub vendors: VendorsOptions,
    /// `local/…`: servers on this machine.
    pub local: LocalOptions,
    /// The model id for sessions that name none. When `None`, chosen from the configured providers.
    pub default_model: Option<String>,
    /// How many tools a model is offered; chosen by each model's size when `None`.
    pub tool_profile: Option<ToolProfile>,
    /// The file that holds a refreshed catalogue of vendors' models; when `None`, the built-in
    /// catalogue is used.
    pub catalogue_file: Option<AbsPath>,
    /// The file that keeps which options servers have refused, for later processes; when `None`,
    /// each process learns it again.
    pub refusals_file: Option<AbsPath>,
    /// How model traffic is recorded and replayed.
    pub recording: RecordingOptions,
    /// How long a request waits for its server, and how often it is attempted.
    pub attempts: AttemptOptions,
    /// Whether the models are for a user of a server, who cannot change its settings. Errors then
    /// name what such a user can do.
    pub is_served: bool,
}

/// The providers beyond this machine.
#[derive(Debug, Clone, Default)]
pub struct VendorsOptions {
    /// `openai/…`. Configured when it has a key, or a base URL other than OpenAI's own.
    pub openai: VendorOptions,
    /// `anthropic/…`. Configured when it has a key, or a base URL other than Anthropic's own.
    pub anthropic: VendorOptions,
    /// `gemini/…`. Configured when it has a key, or a base URL other than Google's own.
    pub gemini: VendorOptions,
    /// Additional providers by name, for `NAME/…`. Each needs a base URL. The built-in names cannot
    /// be overridden.
    pub custom: BTreeMap<String, VendorOptions>,
    /// Whether models may use the web search that their vendor hosts, where the wire has one.
    pub hosted_search: bool,
}

/// How model traffic is recorded and replayed.
#[derive(Debug, Clone, Default)]
pub struct RecordingOptions {
    /// The file that all model traffic is recorded to. Overwritten when the first answer is
    /// complete.
    pub record_to: Option<AbsPath>,
    /// Removes secrets from recordings.
    pub redactor: agent::Redactor,
    /// The base directory for relative file names in `replay/FILE`; when `None`, only absolute
    /// names work.
    pub replay_base: Option<AbsPath>,
}

/// How long a request waits for its server, and how often it is attempted.
#[derive(Debug, Clone)]
pub struct AttemptOptions {
    /// How long a server may send nothing before the request fails. Applies where the server's own
    /// options set no value; [`limits::SILENCE`] or [`limits::SILENCE_NEAR`] when `None`.
    pub silence: Option<Duration>,
    /// The maximum number of attempts for a request, including the first; at least 1.
    pub tries: u32,
    /// The delay before the second attempt; it doubles for each further attempt.
    pub retry_delay: Duration,
}

impl Default for AttemptOptions {
    fn default() -> Self {
        Self { silence: None, tries: limits::TRIES, retry_delay: limits::RETRY_DELAY }
    }
}

/// How one vendor is reached.
#[derive(Debug, Clone, Default)]
pub struct VendorOptions {
    /// The API key; when `None`, requests carry no key.
    pub api_key: Option<Secret>,
    /// The key to use once the vendor has refused the first one.
    pub spare_key: Option<Secret>,
    /// The address of the API, with or without a path (`http://host:1` means `http://host:1/v1`);
    /// the vendor's own address when `None`.
    pub base_url: Option<String>,
    /// The wire format.
    pub wire: Wire,
    /// How long the server may send nothing before the request fails.
    pub silence: Option<Duration>,
}

impl VendorOptions {
    /// Returns whether the vendor can be used: with a key, or at the address of a server that may
    /// need none.
    pub(crate) fn is_configured(&self) -> bool {
        self.api_key.is_some() || self.base_url.is_some()
    }

    /// Returns the key for requests: the spare one if the vendor has refused the first one only.
    pub(crate) fn key(&self) -> Option<&Secret> {
        let (first, spare) = (self.api_key.as_ref(), self.spare_key.as_ref());
        if Secret::wants_spare(first, spare) { spare } else { first }
    }
}

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Chosen from provider, address and model, and changed when the server's refusal names another
    /// one: Responses at OpenAI's own addresses and for models that support tools over nothing
    /// else, Messages for `anthropic`, `generateContent` for `gemini`, Chat Completions everywhere
    /// else.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalOptions {
    /// Whether to probe the default ports of Ollama, llama.cpp, LM Studio and vLLM.
    pub discover: bool,
    /// The address of Ollama if it is not the default one, on this machine or another; see
    /// [`ollama_address`](crate::ollama_address).
    pub ollama: Option<String>,
    /// Additional servers that speak Chat Completions, such as `http://127.0.0.1:9000`. Addresses
    /// beyond loopback are rejected; they belong in [`VendorsOptions::custom`].
    pub urls: Vec<String>,
    /// How long any of these servers may send nothing before the request fails.
    pub silence: Option<Duration>,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self { discover: true, ollama: None, urls: Vec::new(), silence: None }
    }
}

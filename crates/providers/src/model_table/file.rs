//! The file format of a catalogue: the schema of models.dev's `api.json`, reduced to what is used
//! here.
//!
//! - `https://models.dev/api.json` is `{VENDOR: {"models": {ID: MODEL}}}`.
//! - Our own file is `{"date", "source", "providers": {VENDOR: [MODEL]}}`, where the order is that
//!   of lists.
//!
//! The retained members of a model have the same names in both. Prices are in US dollars per
//! million tokens, limits in tokens.

use agent::{LongPrompt, Price, Rates};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The vendors of models.dev that are retained, by its names.
pub(super) const VENDORS: [&str; 14] = [
    "openai",
    "anthropic",
    "google",
    "deepseek",
    "mistral",
    "xai",
    "zai",
    "zhipuai",
    "moonshotai",
    "alibaba",
    "minimax",
    "openrouter",
    "groq",
    "cerebras",
];

/// The maximum number of models per vendor; the rest is left out.
const MAX_MODELS: usize = 1_000;
/// The longest id or name, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// A catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct File {
    /// The day it was made, `YYYY-MM-DD`.
    pub(crate) date: String,
    /// Its origin: `models.dev`, an address or a path.
    pub(crate) source: String,
    /// The models of each vendor, in the order of lists.
    pub(super) providers: BTreeMap<String, Vec<Model>>,
}

/// A model that supports tools and answers with text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Model {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) limit: Limit,
    pub(super) modalities: Modalities,
    #[serde(default)]
    tool_call: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    reasoning: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasoning_options: Vec<ReasoningOption>,
    /// `true`, or `{"field": NAME}`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    interleaved: Value,
    /// `YYYY-MM-DD`, or a prefix of it.
    #[serde(default)]
    pub(super) release_date: String,
    #[serde(default, skip_serializing)]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Limit {
    pub(super) context: u64,
    #[serde(default)]
    pub(super) output: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Modalities {
    pub(super) input: Vec<String>,
    pub(super) output: Vec<String>,
}

/// `{"type": "effort", "values": [ID]}`; the values of other types are not used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ReasoningOption {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cost {
    #[serde(flatten)]
    rates: Charge,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<CostTier>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Charge {
    input: f64,
    output: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_read: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CostTier {
    #[serde(flatten)]
    rates: Charge,
    tier: Tier,
}

/// `{"type": "context", "size": TOKENS}`: the prompt size above which the rates apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tier {
    #[serde(rename = "type")]
    kind: String,
    size: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Parses a file of our own. The error states what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<File, String> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| format!("is not a catalogue: {error}"))?;
    if !is_date(&file.date) {
        return Err(format!("has no date such as 2026-10-26, but {:?}", file.date));
    }
    if !is_plain(&file.source) {
        return Err("names a source that is too long or not plain text".to_owned());
    }
    match file.providers.values().flatten().find(|model| !model.is_plausible()) {
        Some(model) => Err(format!("has a model with impossible values, {:?}", model.id)),
        None if file.providers.values().all(Vec::is_empty) => Err("has no models".to_owned()),
        None => Ok(file),
    }
}

/// Parses an `api.json` of models.dev, reduced to what is used here, or a file of our own. Models
/// with missing or impossible values are left out; a file without any valid model is an error.
pub(super) fn reduce(bytes: &[u8], date: &str, source: &str) -> Result<File, String> {
    let whole: Value = serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))?;
    if whole.get("providers").is_some() {
        return Ok(File { source: source.to_owned(), ..parse(bytes)? });
    }
    let mut providers = BTreeMap::new();
    for vendor in VENDORS {
        let Some(Value::Object(described)) = whole.get(vendor).and_then(|vendor| vendor.get("models")) else {
            continue;
        };
        let read =
            |model: &Value| Model::deserialize(model).ok().filter(Model::is_usable).map(Model::reduced);
        let mut models: Vec<Model> = described.values().filter_map(read).collect();
        models.sort_by(|a, b| (&b.release_date, &a.id).cmp(&(&a.release_date, &b.id)));
        models.truncate(MAX_MODELS);
        if !models.is_empty() {
            providers.insert(vendor.to_owned(), models);
        }
    }
    if providers.is_empty() {
        return Err(format!(
            "has no models of {} that take tools; give the `api.json` of models.dev",
            VENDORS.join(", ")
        ));
    }
    Ok(File { date: date.to_owned(), source: source.to_owned(), providers })
}

/// Serialises a catalogue as a file of our own, one model per line.
pub(super) fn render(file: &File) -> Vec<u8> {
    let vendors = file.providers.iter().map(|(vendor, models)| {
        let models: Vec<String> = models.iter().map(json).collect();
        format!("{}: [\n{}\n]", json(vendor), models.join(",\n"))
    });
    let (date, source) = (json(&file.date), json(&file.source));
    let vendors = vendors.collect::<Vec<_>>().join(",\n");
    format!("{{\n\"date\": {date},\n\"source\": {source},\n\"providers\": {{\n{vendors}\n}}\n}}\n")
        .into_bytes()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and lists always become JSON")
}

impl Model {
    /// Returns whether an agent can use the model, and its values are plausible.
    fn is_usable(&self) -> bool {
        let text = |kinds: &[String]| kinds.iter().any(|kind| kind == "text");
        self.tool_call
            && self.status.as_deref() != Some("deprecated")
            && text(&self.modalities.input)
            && self.modalities.output == ["text"]
            && self.is_plausible()
    }

    /// Returns whether its values are possible.
    fn is_plausible(&self) -> bool {
        let charges = self
            .cost
            .iter()
            .flat_map(|cost| std::iter::once(cost.rates).chain(cost.tiers.iter().map(|tier| tier.rates)));
        let mut rates = charges.flat_map(|charge| {
            [Some(charge.input), Some(charge.output), charge.cache_read, charge.cache_write]
                .into_iter()
                .flatten()
        });
        let whole_tokens = 1..=1_000_000_000;
        is_plain(&self.id)
            && is_plain(&self.name)
            && whole_tokens.contains(&self.limit.context)
            && (whole_tokens.contains(&self.limit.output) || self.limit.output == 0)
            && rates.all(|rate| (0.0..=1_000_000.0).contains(&rate))
    }

    /// Removes values that are never used.
    fn reduced(mut self) -> Self {
        self.modalities.input.retain(|kind| kind == "text" || kind == "image");
        self.reasoning_options.retain(|option| option.kind == "effort");
        if self.interleaved.get("field").is_none() {
            self.interleaved = Value::Null;
        }
        self
    }

    /// Returns the effort levels that it supports.
    pub(super) fn efforts(&self) -> Vec<String> {
        let effort = self.reasoning_options.iter().find(|option| option.kind == "effort");
        let ids = effort.into_iter().flat_map(|option| &option.values).filter_map(Value::as_str);
        ids.map(str::to_owned).collect()
    }

    /// Returns the message field that contains its reasoning.
    pub(super) fn reasoning_field(&self) -> Option<String> {
        self.interleaved.get("field")?.as_str().map(str::to_owned)
    }

    pub(super) fn takes_images(&self) -> bool {
        self.modalities.input.iter().any(|kind| kind == "image")
    }

    pub(super) fn price(&self) -> Option<Price> {
        let cost = self.cost.as_ref()?;
        let long =
            cost.tiers.iter().filter(|tier| tier.tier.kind == "context").min_by_key(|tier| tier.tier.size);
        Some(Price {
            rates: cost.rates.into(),
            long: long.map(|tier| LongPrompt { above: tier.tier.size, rates: tier.rates.into() }),
        })
    }
}

impl From<Charge> for Rates {
    fn from(charge: Charge) -> Self {
        // Price lists with a cache write price of zero do not state the price.
        let cache_write = charge.cache_write.filter(|rate| *rate > 0.0);
        Self { input: charge.input, output: charge.output, cache_read: charge.cache_read, cache_write }
    }
}

/// Returns whether a text may be printed to a terminal and shown in a list.
fn is_plain(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control)
}

fn is_date(text: &str) -> bool {
    text.len() == "YYYY-MM-DD".len() && Date::strptime("%Y-%m-%d", text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(id: &str) -> Value {
        json!({
            "id": id, "name": id, "tool_call": true, "release_date": "2026-01-02", "knowledge": "2025",
            "limit": { "context": 1000, "input": 900, "output": 100 },
            "modalities": { "input": ["text", "image", "pdf"], "output": ["text"] },
            "reasoning": true,
            "reasoning_options": [{ "type": "toggle" }, { "type": "effort", "values": ["low", "max"] }],
            "interleaved": { "field": "reasoning_content" },
            "cost": {
                "input": 1.5, "output": 3, "cache_read": 0.1, "cache_write": 0,
                "tiers": [{ "input": 3, "output": 6, "tier": { "type": "context", "size": 500 } }],
            },
        })
    }

    fn with(mut model: Value, key: &str, value: Value) -> Value {
        model[key] = value;
        model
    }

    #[test]
    fn a_models_dev_file_is_reduced_and_round_trips() {
        let described = json!({
            "deepseek": { "id": "deepseek", "models": {
                "good": model("good"),
                "newer": with(model("newer"), "release_date", json!("2026-02-02")),
                "no-tools": with(model("no-tools"), "tool_call", json!(false)),
                "draws": with(model("draws"), "modalities", json!({"input": ["text"], "output": ["text", "image"]})),
                "old": with(model("old"), "status", json!("deprecated")),
                "odd": with(model("odd"), "limit", json!({"context": "much"})),
                "free?": with(model("free?"), "cost", json!({"input": -1, "output": 0})),
                "escape": with(model("escape"), "name", json!("\u{1b}[2J")),
            } },
            "some-gateway": { "models": { "good": model("good") } },
        });
        let file = reduce(described.to_string().as_bytes(), "2026-11-01", "models.dev").unwrap();
        let file = parse(&render(&file)).unwrap();
        assert_eq!((file.date.as_str(), file.source.as_str()), ("2026-11-01", "models.dev"));
        let ids: Vec<_> = file.providers["deepseek"].iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["newer", "good"]);
        assert_eq!(file.providers.len(), 1);
        let good = &file.providers["deepseek"][1];
        assert_eq!(good.efforts(), ["low", "max"]);
        assert_eq!(good.reasoning_field().as_deref(), Some("reasoning_content"));
        let price = good.price().unwrap();
        assert_eq!((price.rates.cache_read, price.rates.cache_write), (Some(0.1), None));
        assert_eq!(price.long.map(|long| (long.above, long.rates.output)), Some((500, 6.0)));
    }

    #[test]
    fn an_invalid_catalogue_is_refused_with_the_reason() {
        for (text, expected) in [
            ("<html>", "is not JSON"),
            ("{}", "has no models of openai"),
            (r#"{"openai":{"models":{}}}"#, "has no models of openai"),
            (r#"{"providers":{}}"#, "is not a catalogue: missing field `date`"),
            (r#"{"date":"x","source":"s","providers":{}}"#, "has no date such as"),
            (r#"{"date":"2026-01-01","source":"s","providers":{}}"#, "has no models"),
            (
                r#"{"date":"2026-01-01","source":"s","providers":{"openai":[{"id":"a","name":"a","limit":{"context":0},"modalities":{"input":[],"output":[]}}]}}"#,
                "impossible values, \"a\"",
            ),
        ] {
            let problem = reduce(text.as_bytes(), "2026-01-01", "s").unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}

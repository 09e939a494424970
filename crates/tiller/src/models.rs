//! `tiller models` and `providers models`: the available models; `tiller models refresh` updates
//! limits and prices.

use crate::{
    answer::{Answer, Console},
    exit::Exit,
    failure::{Failure, Kind},
    table::Table,
};
use ::providers::{Catalog, CatalogueSource, KNOWN_PROVIDERS, Listing};
use agent::{Credentials, ModelInfo, Models as _};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use system::AbsPath;

/// The answer of `tiller models`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelList {
    /// The models, the default first.
    models: Vec<ModelRow>,
    /// The catalogue of vendors' models.
    catalogue: CatalogueRow,
    /// What the list does not show, and why.
    notes: Vec<String>,
}

/// A model. Prices are in US dollars per million tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelRow {
    /// The id, `PROVIDER/NAME`.
    id: String,
    /// The name for people.
    name: String,
    /// Whether new sessions use it.
    default: bool,
    /// Whether its provider has a key, or needs none.
    usable: bool,
    /// Where the model is known from: catalogue, server, or `built_in`.
    source: &'static str,
    /// The size of its context in tokens.
    context: u64,
    /// The longest answer in tokens.
    max_output: u64,
    /// The price of a request's tokens; null if it is unknown.
    input_price: Option<f64>,
    /// The price of an answer's tokens.
    output_price: Option<f64>,
    /// The price of tokens read from a cache.
    cache_read_price: Option<f64>,
    /// The price of tokens written to a cache.
    cache_write_price: Option<f64>,
    /// Whether it takes images.
    images: bool,
    /// Whether it thinks before it answers.
    thinking: bool,
    /// The efforts that can be chosen.
    efforts: Vec<String>,
    /// The number of its parameters, if it is known.
    parameters: Option<u64>,
    /// Which tools it gets: full, small or guided.
    tools: &'static str,
}

/// The catalogue of vendors' models.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueRow {
    /// The day it was made.
    date: String,
    /// Its origin: an address or a path.
    source: String,
    /// Whether it came with the program.
    built_in: bool,
}

/// The answer of `tiller models refresh`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Refreshed {
    /// The number of models in the new catalogue.
    models: usize,
    /// The day it was made.
    date: String,
    /// Its origin.
    source: String,
}

/// Downloads the model catalogue.
pub(crate) async fn refresh(console: &Console, catalog: &Catalog, cwd: &AbsPath, from: &str) -> Result<Exit> {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let CatalogueSource { date, source, models, .. } = catalog.refresh(from, cwd, &today).await?;
    let text = format!("{models} models, catalogue of {date} from {source}\n");
    console.print(Answer::new(Refreshed { models, date, source }, text))
}

/// Prints the models of a provider, or of all that can be used, with the default marked, and notes
/// about what is missing. `ask` allows requests to servers on other machines.
pub(crate) async fn list(
    console: &Console,
    catalog: &Catalog,
    provider: Option<&str>,
    ask: bool,
) -> Result<Exit> {
    match ask {
        true => catalog.discover().await,
        false => catalog.discover_here().await,
    }
    let provider = provider.map(|name| if name == "google" { "gemini" } else { name });
    let default = catalog.default_now();
    let source = catalog.catalogue_source().await;
    let mut notes = notes(catalog, default.as_deref(), &source, ask).await;
    let mut models: Vec<_> = catalog.list();
    if let Some(name) = provider {
        let prefix = format!("{name}/");
        models.retain(|model| model.id.starts_with(&prefix));
        notes.retain(|note| note.starts_with(&format!("{name}:")));
        if models.is_empty() && notes.is_empty() {
            let nearest = agent::closest(name, KNOWN_PROVIDERS, |known| known.name);
            return Err(Failure::new(Kind::NotFound, format!("no models of {name:?} are known"))
                .hint("set the provider up first, or ask its server with --refresh")
                .meant(nearest.map(|known| known.name).filter(|known| *known != name))
                .next(format!("tiller setup --provider {name}"))
                .into());
        }
    }
    let rows: Vec<_> = models.iter().map(|model| row(catalog, model, default.as_deref())).collect();
    let mut table = Table::plain();
    for (row, model) in rows.iter().zip(&models) {
        let mark = if row.default { "*" } else { " " };
        let about = match &model.description {
            _ if !row.usable => "has no key: run `tiller setup`",
            Some(description) => description,
            None => &model.name,
        };
        table.row([format!("{mark} {}", row.id), about.to_owned()]);
    }
    let mut text = table.text();
    let place = if source.built_in { "built in" } else { source.source.as_str() };
    text += &format!(
        "\nLimits and prices are of {} ({place}); `tiller models refresh` gets newer ones.\n",
        source.date
    );
    let catalogue =
        CatalogueRow { date: source.date.clone(), source: source.source.clone(), built_in: source.built_in };
    let code = console.print(Answer::new(ModelList { models: rows, catalogue, notes: notes.clone() }, text));
    if !console.is_json() {
        notes.iter().for_each(|note| console.note(note));
    }
    code
}

fn row(catalog: &Catalog, info: &ModelInfo, default: Option<&str>) -> ModelRow {
    let rates = info.price.map(|price| price.rates);
    let usable = catalog.credentials(&info.id) != Credentials::Missing;
    let provider = info.id.split('/').next().unwrap_or_default();
    let listed = catalog
        .listings()
        .into_iter()
        .any(|listing| listing.provider == provider && listing.address.is_some() && listing.models.is_some());
    ModelRow {
        id: info.id.clone(),
        name: info.name.clone(),
        default: default == Some(&info.id) && usable,
        usable,
        source: match provider {
            "offline" => "built_in",
            "local" => "server",
            _ if listed => "server",
            _ => "catalogue",
        },
        context: info.limits.context_size,
        max_output: info.limits.max_output,
        input_price: rates.map(|rates| rates.input),
        output_price: rates.map(|rates| rates.output),
        cache_read_price: rates.and_then(|rates| rates.cache_read),
        cache_write_price: rates.and_then(|rates| rates.cache_write),
        images: info.abilities.images,
        thinking: !info.abilities.efforts.is_empty(),
        efforts: info.abilities.efforts.iter().map(ToString::to_string).collect(),
        parameters: info.abilities.parameters,
        tools: info.abilities.profile.id(),
    }
}

/// Returns notes about what the list does not show: servers without models, a default model
/// without a key, a broken catalogue.
async fn notes(
    catalog: &Catalog,
    default: Option<&str>,
    source: &CatalogueSource,
    asked: bool,
) -> Vec<String> {
    let listings = catalog.listings();
    let mut notes: Vec<String> =
        listings.iter().filter_map(|listing| missing_models_note(listing, asked)).collect();
    match default {
        Some(default) if catalog.credentials(default) == Credentials::Missing => notes.push(format!(
            "the default model {default} has no key: run `tiller setup`, or choose another as agent.default_model"
        )),
        Some(_) => {}
        None => notes.push(
            "no model is set up, and no server on this machine has one: run `tiller setup`, or start Ollama, \
             llama.cpp, LM Studio or vLLM with a model"
                .to_owned(),
        ),
    }
    notes.extend(source.problem.clone());
    notes
}

/// Returns a note about a provider whose server did not answer, lists no models or was not asked.
fn missing_models_note(listing: &Listing, asked: bool) -> Option<String> {
    let Listing { provider, address, models } = listing;
    let address = address.as_deref()?;
    match models {
        None if !asked && !is_here(address) => Some(format!(
            "{provider}: {address} was not asked, because it is another machine: tiller models {provider} --refresh"
        )),
        None => Some(format!(
            "{provider}: {address} does not answer with a list of models; start the server or check the address, \
             or name a model that it has: --model {provider}/MODEL"
        )),
        Some(0) => Some(format!(
            "{provider}: {address} lists no models; load one there, then run `tiller models` again"
        )),
        Some(_) => None,
    }
}

/// Whether an address is on this machine.
fn is_here(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|here| host.starts_with(here))
}

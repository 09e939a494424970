//! `tiller models`: lists the available models; `tiller models refresh` updates limits and prices.

use crate::{
    answer::Console,
    args::{ModelsArgs, ModelsCommand},
    exit::Exit,
    screen,
};
use agent::{Credentials, ModelInfo, Models};
use anyhow::Result;
use providers::{Catalog, CatalogueSource, Listing};
use serde_json::{Value, json};
use std::io::Write;
use system::AbsPath;

pub(crate) async fn run(
    console: &Console,
    catalog: &Catalog,
    cwd: &AbsPath,
    args: &ModelsArgs,
) -> Result<Exit> {
    match &args.command {
        Some(ModelsCommand::Refresh { from }) => refresh(catalog, cwd, from).await,
        None => list(console, catalog).await,
    }
}

/// Downloads the model catalogue.
async fn refresh(catalog: &Catalog, cwd: &AbsPath, from: &str) -> Result<Exit> {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let got = catalog.refresh(from, cwd, &today).await?;
    let CatalogueSource { date, source, models, .. } = got;
    writeln!(screen::stdout(), "{models} models, catalogue of {date} from {source}")?;
    Ok(Exit::Ok)
}

/// Prints the models with the default marked, and notes about what is missing.
async fn list(console: &Console, catalog: &Catalog) -> Result<Exit> {
    catalog.discover().await;
    let default = catalog.default_id().await;
    let source = catalog.catalogue_source().await;
    let has_key = |id: &str| catalog.credentials(id) != Credentials::Missing;
    let notes = notes(catalog, &default, &source).await;
    let mut stdout = screen::stdout();
    if console.is_json() {
        let model =
            |info: &ModelInfo| model_row(info, info.id == default && has_key(&info.id), has_key(&info.id));
        let whole = json!({
            "v": 1,
            "success": true,
            "models": catalog.list().iter().map(model).collect::<Vec<_>>(),
            "catalogue": { "date": source.date, "source": source.source, "built_in": source.built_in },
            "notes": notes,
        });
        writeln!(stdout, "{}", agent::escaped_json(&whole.to_string()))?;
        return Ok(Exit::Ok);
    }
    for model in catalog.list() {
        let usable = has_key(&model.id);
        let mark = if model.id == default && usable { "*" } else { " " };
        let about = match &model.description {
            _ if !usable => "has no key: run `tiller setup`",
            Some(description) => description,
            None => &model.name,
        };
        if writeln!(stdout, "{mark} {:<40} {about}", model.id).is_err() {
            return Ok(Exit::Ok);
        }
    }
    let place = if source.built_in { "built in" } else { source.source.as_str() };
    let date = &source.date;
    // A closed stdout is not an error here: the reader has taken as much as it wanted.
    let _ = writeln!(
        stdout,
        "\nLimits and prices are of {date} ({place}); `tiller models refresh` gets newer ones."
    );
    for note in notes {
        console.note(&note);
    }
    Ok(Exit::Ok)
}

/// Describes a model as JSON. Prices are in US dollars per million tokens.
fn model_row(info: &ModelInfo, is_default: bool, usable: bool) -> Value {
    let rates = info.price.map(|price| price.rates);
    json!({
        "id": info.id,
        "name": info.name,
        "default": is_default,
        "usable": usable,
        "context": info.limits.context_size,
        "max_output": info.limits.max_output,
        "input_price": rates.map(|rates| rates.input),
        "output_price": rates.map(|rates| rates.output),
        "cache_read_price": rates.and_then(|rates| rates.cache_read),
        "cache_write_price": rates.and_then(|rates| rates.cache_write),
        "images": info.abilities.images,
        "efforts": info.abilities.efforts,
        "parameters": info.abilities.parameters,
        "tools": info.abilities.profile.id(),
    })
}

/// Returns notes about what the list does not show: servers without models, a default model
/// without a key, a broken catalogue.
async fn notes(catalog: &Catalog, default: &str, source: &CatalogueSource) -> Vec<String> {
    let mut notes: Vec<String> = catalog.listings().iter().filter_map(missing_models_note).collect();
    if catalog.credentials(default) == Credentials::Missing {
        notes.push(format!(
            "the default model {default} has no key: run `tiller setup`, or choose another as agent.default_model"
        ));
    }
    if catalog.is_unconfigured().await {
        notes.push(
            "no model is set up, and no server on this machine has one: run `tiller setup`, or start Ollama, \
             llama.cpp, LM Studio or vLLM with a model"
                .to_owned(),
        );
    }
    notes.extend(source.problem.clone());
    notes
}

/// Returns a note about a provider whose server did not answer or lists no models.
fn missing_models_note(listing: &Listing) -> Option<String> {
    let Listing { provider, address, models } = listing;
    let address = address.as_deref()?;
    match models {
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

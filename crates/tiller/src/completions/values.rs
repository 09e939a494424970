//! The values of `tiller __complete`: from files, without the network, and without starting
//! anything.

use crate::{
    args::CompletedKind as Kind,
    config::{Item, KEYS, Takes, description},
    directories::sessions_file,
    environment::Environment,
    integrations::Integrations,
    limits::COMPLETIONS,
    mcp::mcp_options,
    options::Options,
    wiring,
};
use agent::{ListQuery, Models as _, SessionStore as _, one_line};
use store::SqliteStore;
use system::AbsPath;

/// Where values come from.
pub(crate) struct Sources<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
}

/// Returns the values that begin with a prefix, one a line, each with a tab and its description
/// where it has one. `setting` is the setting whose values are asked for.
pub(crate) async fn lines(sources: &Sources<'_>, kind: Kind, setting: Option<&str>, prefix: &str) -> String {
    let values = match kind {
        Kind::Models => models(sources),
        Kind::Sessions => sessions(sources).await,
        Kind::Settings => KEYS.iter().map(|key| (key.name.to_owned(), String::new())).collect(),
        Kind::Values => setting.map(choices).unwrap_or_default(),
        Kind::Servers => servers(sources).await,
        Kind::Integrations => integrations(sources).await,
        Kind::Functions => functions(sources).await,
    };
    let mut lines = String::new();
    // A control character could leave the line of the shell.
    let fits = |value: &String| value.starts_with(prefix) && !value.contains(char::is_control);
    for (value, about) in values.into_iter().filter(|(value, _)| fits(value)).take(COMPLETIONS) {
        lines += &value;
        if !about.is_empty() {
            lines += &format!("\t{}", one_line(&about));
        }
        lines.push('\n');
    }
    lines
}

type Described = Vec<(String, String)>;

/// The models that are known without asking a server.
fn models(sources: &Sources<'_>) -> Described {
    let catalog = wiring::catalog(sources.options, sources.environment.redactor(), sources.cwd);
    catalog.list().into_iter().map(|info| (info.id, info.name)).collect()
}

/// The sessions that were used last, those of this directory first.
async fn sessions(sources: &Sources<'_>) -> Described {
    let file = sessions_file(&sources.options.directories.data);
    let system = wiring::local_system(sources.options);
    // Opening a store would create its file.
    if system.metadata(&file).await.is_err() {
        return Vec::new();
    }
    let Ok(store) = SqliteStore::open(file.as_std()) else { return Vec::new() };
    let query = ListQuery { limit: COMPLETIONS, ..ListQuery::default() };
    let mut found = store.list(query).await.map(|page| page.sessions).unwrap_or_default();
    found.sort_by_key(|record| record.cwd != *sources.cwd);
    found.into_iter().map(|record| (record.id.to_string(), record.title.unwrap_or_default())).collect()
}

fn choices(setting: &str) -> Described {
    let Some(key) = KEYS.iter().find(|key| key.name == setting) else { return Vec::new() };
    let words: &[&str] = match description(key).takes {
        Takes::Flag => &["true", "false"],
        Takes::Word(words) | Takes::List(Item::Word(words)) => words,
        _ => &[],
    };
    words.iter().map(|word| ((*word).to_owned(), String::new())).collect()
}

async fn servers(sources: &Sources<'_>) -> Described {
    let options = mcp_options(sources.options, sources.environment);
    let found = ::mcp::find(options.system.as_ref(), &options.files, sources.cwd).await;
    let all = found.servers.into_iter().chain(found.untrusted);
    all.map(|config| (config.name.to_string(), String::new())).collect()
}

async fn integrations(sources: &Sources<'_>) -> Described {
    let catalogue = Integrations::new(sources.options, sources.environment).catalogue().await;
    catalogue.all().map(|found| (found.name.clone(), found.title.clone())).collect()
}

async fn functions(sources: &Sources<'_>) -> Described {
    let catalogue = Integrations::new(sources.options, sources.environment).catalogue().await;
    let functions = catalogue.all().flat_map(|found| {
        let named = |function: &::integrations::Function| format!("{}.{}", found.name, function.name);
        found.functions.values().map(move |function| (named(function), function.description.clone()))
    });
    functions.collect()
}

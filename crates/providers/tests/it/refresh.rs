//! The catalogue of vendors' models: fetched from an address or a file, stored, and used if it is
//! valid.

use crate::{
    lister::Lister,
    support::{Files, Pilot, options},
};
use agent::{Models, Usage};
use providers::{Catalog, CatalogueSource, RefreshError, Secret};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, System};

const TODAY: &str = "2027-02-03";

fn catalogue_path() -> AbsPath {
    AbsPath::new("/cache/models.json").unwrap()
}

/// Returns a catalogue in the format of models.dev, with a different price for a vendor's default
/// model.
fn api(input: f64) -> Value {
    json!({ "openai": { "models": { "gpt-5.6-sol": {
        "id": "gpt-5.6-sol", "name": "Sol", "tool_call": true, "release_date": "2026-07-09",
        "limit": { "context": 2_000_000, "output": 64_000 },
        "modalities": { "input": ["text"], "output": ["text"] },
        "cost": { "input": input, "output": 1.0 },
    } } } })
}

fn on(files: &Arc<Files>) -> Catalog {
    let mut options = options();
    options.vendors.openai.api_key = Some(Secret::new("k"));
    options.catalogue_file = Some(catalogue_path());
    Catalog::new(options, files.clone(), Arc::new(Pilot::new()))
}

async fn refresh(files: &Arc<Files>, from: &str) -> Result<CatalogueSource, RefreshError> {
    on(files).refresh(from, &AbsPath::new("/w").unwrap(), TODAY).await
}

/// Returns the price of a million input tokens.
async fn price(catalog: &Catalog) -> Option<f64> {
    let model = catalog.get("openai/gpt-5.6-sol").await.unwrap();
    let used = Usage { input: 100_000, ..Usage::default() };
    used.priced(model.info().price.as_ref()).cost.map(|cost| cost.dollars() * 10.0)
}

#[tokio::test]
async fn a_downloaded_catalogue_is_stored_and_used_by_later_catalogs() {
    let server = Lister::start(&[("GET /api.json", api(7.0))]).await;
    let files = Arc::new(Files::default());
    let before = on(&files);
    let built_in = before.catalogue_source().await;
    assert!(built_in.built_in && built_in.problem.is_none() && built_in.models > 100, "{built_in:?}");
    assert_eq!(price(&before).await, Some(4.0));

    let got = refresh(&files, &format!("{}/api.json?token=secret", server.url)).await;
    assert!(got.is_err(), "the path with its query is another one: {got:?}");
    let got = refresh(&files, &format!("{}/api.json", server.url)).await.unwrap();
    assert_eq!((got.date.as_str(), got.models, got.built_in), (TODAY, 1, false));
    assert_eq!(got.source, format!("{}/api.json", server.url));

    let after = on(&files);
    assert_eq!(after.catalogue_source().await, got);
    assert_eq!(price(&after).await, Some(7.0));
    let model = after.get("openai/gpt-5.6-sol").await.unwrap();
    assert_eq!((model.info().limits.context_size, model.info().abilities.images), (2_000_000, false));
}

#[tokio::test]
async fn a_catalogue_can_be_read_from_a_file_and_our_own_format_keeps_its_date() {
    let files = Arc::new(Files::default());
    files.write(&AbsPath::new("/w/api.json").unwrap(), api(8.0).to_string().as_bytes()).await.unwrap();
    let got = refresh(&files, "api.json").await.unwrap();
    assert_eq!((got.date.as_str(), got.source.as_str()), (TODAY, "/w/api.json"));
    // The stored file can be passed on.
    let handed = files.read(&catalogue_path()).await.unwrap();
    files.write(&AbsPath::new("/w/handed.json").unwrap(), &handed).await.unwrap();
    assert_eq!(refresh(&files, "/w/handed.json").await.unwrap().date, TODAY);
    assert_eq!(price(&on(&files)).await, Some(8.0));
}

#[tokio::test]
async fn an_invalid_catalogue_changes_nothing_and_is_reported() {
    let server = Lister::start(&[("GET /page", json!("hello")), ("GET /empty", json!({}))]).await;
    let files = Arc::new(Files::default());
    files.write(&AbsPath::new("/w/good.json").unwrap(), api(9.0).to_string().as_bytes()).await.unwrap();
    refresh(&files, "good.json").await.unwrap();
    for (from, expected) in [
        (format!("{}/none", server.url), "it answered 404"),
        (format!("{}/page", server.url), "has no models of openai"),
        (format!("{}/empty", server.url), "has no models of openai"),
        ("http://127.0.0.1:1/api.json".to_owned(), "give `--from FILE`"),
        ("missing.json".to_owned(), "not found: /w/missing.json"),
    ] {
        let problem = refresh(&files, &from).await.unwrap_err().to_string();
        assert!(problem.contains(expected), "{from}: {problem}");
    }
    assert_eq!(price(&on(&files)).await, Some(9.0));
}

#[tokio::test]
async fn a_broken_stored_catalogue_is_reported_and_the_built_in_one_is_used() {
    for broken in
        [&b"{"[..], b"", b"\xff\xfe", b"{\"date\":\"2027-01-01\",\"source\":\"s\",\"providers\":{}}"]
    {
        let files = Arc::new(Files::default());
        files.write(&catalogue_path(), broken).await.unwrap();
        let catalog = on(&files);
        let source = catalog.catalogue_source().await;
        let problem = source.problem.unwrap();
        assert!(source.built_in && problem.contains("/cache/models.json"), "{problem}");
        assert!(problem.contains("run `tiller models refresh`"), "{problem}");
        assert_eq!(price(&catalog).await, Some(4.0));
    }
}

#[tokio::test]
async fn a_stored_catalogue_older_than_the_built_in_one_is_ignored() {
    let files = Arc::new(Files::default());
    let mut old = json!({ "date": "2025-01-01", "source": "s", "providers": {} });
    old["providers"]["openai"] = json!([api(1.0)["openai"]["models"]["gpt-5.6-sol"]]);
    files.write(&catalogue_path(), old.to_string().as_bytes()).await.unwrap();
    assert!(on(&files).catalogue_source().await.built_in);
}

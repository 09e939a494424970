//! Model servers on this machine and at user-configured addresses: the models they report are
//! listed.

use crate::{
    lister::Lister,
    support::{KEY, catalog, ids, options, vendor},
};
use agent::{ModelInfo, Models, ToolProfile};
use providers::{Catalog, Listing, ProvidersOptions, VendorOptions, Wire, ollama_address};
use serde_json::{Value, json};

fn listed(catalog: &Catalog, id: &str) -> ModelInfo {
    catalog.list().into_iter().find(|info| info.id == id).unwrap()
}

fn models(ids: &[&str]) -> Value {
    let entry = |id: &&str| json!({ "id": id, "object": "model" });
    json!({ "object": "list", "data": ids.iter().map(entry).collect::<Vec<_>>() })
}

/// Returns a catalog with servers on this machine that the settings name.
async fn local(urls: Vec<String>) -> Catalog {
    let mut options = options();
    options.local.urls = urls;
    let catalog = catalog(options);
    catalog.discover().await;
    catalog
}

#[tokio::test]
async fn servers_on_this_machine_are_found_without_waiting_for_dead_ones() {
    let server =
        Lister::start(&[("GET /v1/models", models(&["qwen3:8b", "nomic-embed-text", "llama"]))]).await;
    let (_silent, silent) = Lister::silent().await;
    let mut options = options();
    options.local.urls =
        vec!["http://127.0.0.1:1".into(), silent, "http://192.0.2.1:1".into(), server.url.clone()];
    let catalog = catalog(options);
    assert_eq!(ids(&catalog), ["offline/pilot"], "a list never waits");
    assert_eq!(catalog.default_id().await, "local/qwen3:8b");
    assert_eq!(ids(&catalog), ["local/qwen3:8b", "local/llama", "offline/pilot"]);
    assert_eq!(server.seen(), ["GET /v1/models"], "without a key");
}

#[tokio::test]
async fn a_server_started_later_is_found_on_request() {
    let server = Lister::start(&[("GET /v1/models", models(&[]))]).await;
    let catalog = local(vec![server.url.clone()]).await;
    assert_eq!(ids(&catalog), ["offline/pilot"]);
    server.answer("GET /v1/models", &models(&["late"]));
    assert_eq!(catalog.get("local/late").await.unwrap().info().id, "local/late");
}

#[tokio::test]
async fn a_server_started_or_ended_later_is_noticed_when_the_catalogue_looks_again() {
    let server = Lister::start(&[("GET /v1/models", models(&[]))]).await;
    let mut options = options();
    options.local.urls = vec![server.url.clone()];
    let elsewhere =
        VendorOptions { base_url: Some("http://192.0.2.1/v1".to_owned()), ..VendorOptions::default() };
    options.vendors.custom.insert("far".to_owned(), elsewhere);
    let catalog = catalog(options);
    catalog.look_again().await;
    assert_eq!(ids(&catalog), ["offline/pilot"]);
    server.answer("GET /v1/models", &models(&["late"]));
    assert_eq!(ids(&catalog), ["offline/pilot"], "a list never waits");
    let begun = std::time::Instant::now();
    catalog.look_again().await;
    assert_eq!(ids(&catalog), ["local/late", "offline/pilot"]);
    assert!(begun.elapsed().as_secs() < 2, "another machine was asked");
    drop(server);
    catalog.look_again().await;
    assert_eq!(ids(&catalog), ["offline/pilot"]);
}

#[tokio::test]
async fn vendors_without_a_key_are_named_by_their_first_model() {
    let vendors = |catalog: &Catalog| -> Vec<String> {
        let models = catalog.without_key().into_iter();
        models.map(|info| info.id.split('/').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(vendors(&catalog(options())), ["openai", "anthropic", "gemini"]);
    let mut keyed = options();
    keyed.vendors.anthropic.api_key = Some(providers::Secret::new(KEY));
    let catalog = catalog(keyed);
    assert_eq!(vendors(&catalog), ["openai", "gemini"]);
    assert!(catalog.without_key().iter().all(|info| info.limits.context_size > 0 && info.price.is_some()));
}

#[tokio::test]
async fn ollama_reports_sizes_abilities_and_the_current_context() {
    let show = |context: u64, parameters: &str, abilities: &[&str]| {
        json!({
            "model_info": { "general.architecture": "qwen3", "qwen3.context_length": context,
                            "general.parameter_count": 8_190_735_360_u64 },
            "parameters": parameters, "capabilities": abilities,
        })
    };
    let tag = |name: &str, size: &str| json!({ "name": name, "model": name, "details": { "parameter_size": size } });
    let server = Lister::start(&[
        (
            "GET /api/tags",
            json!({ "models": [tag("qwen3:8b", "8.2B"), tag("tuned:latest", "8.2B"), tag("long:70b", "70.6B"), tag("bge-m3", "567M")] }),
        ),
        ("POST /api/show qwen3:8b", show(40_960, "", &["completion", "tools", "vision"])),
        ("POST /api/show tuned:latest", show(40_960, "stop \"<x>\"\nnum_ctx                        8192", &["completion"])),
        ("POST /api/show bge-m3", show(8_192, "", &["embedding"])),
        ("GET /api/ps", json!({ "models": [] })),
    ])
    .await;
    let mut options = options();
    options.local.discover = true;
    options.local.ollama = Some(ollama_address(server.url.strip_prefix("http://").unwrap()).unwrap());
    let catalog = catalog(options);
    catalog.discover().await;
    let ollama: Vec<_> = ids(&catalog).into_iter().filter(|id| !id.starts_with("offline")).collect();
    assert_eq!(ollama[..3], ["local/qwen3:8b", "local/tuned:latest", "local/long:70b"], "no embeddings");
    let qwen = listed(&catalog, "local/qwen3:8b");
    assert_eq!(
        (qwen.limits.context_size, qwen.abilities.images),
        (32_768, true),
        "a guess below what it can have"
    );
    assert_eq!(
        (qwen.abilities.parameters, qwen.abilities.profile),
        (Some(8_190_735_360), ToolProfile::Small)
    );
    assert!(!qwen.dialect.native_calls && qwen.price.is_none());
    assert_eq!(listed(&catalog, "local/tuned:latest").limits.context_size, 8_192);
    assert_eq!(listed(&catalog, "local/long:70b").abilities.profile, ToolProfile::Full);

    // Meanwhile the model was loaded, with the context size that the server was started with.
    server.answer("GET /api/ps", &json!({ "models": [{ "name": "qwen3:8b", "context_length": 4_096 }] }));
    let model = catalog.get("local/qwen3:8b").await.unwrap();
    assert_eq!((model.info().limits.context_size, model.info().limits.max_output), (4_096, 1_024));
}

#[tokio::test]
async fn llama_cpp_reports_the_slot_context_and_the_size() {
    let name = "/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
    let entry = json!({ "id": name, "owned_by": "llamacpp", "meta": { "n_ctx_train": 32_768, "n_params": 1_543_714_304_u64 } });
    let server = Lister::start(&[
        ("GET /v1/models", json!({ "models": [{ "name": name }], "data": [entry] })),
        ("GET /props", json!({ "default_generation_settings": { "n_ctx": 12_288 }, "total_slots": 1, "modalities": { "vision": true } })),
    ])
    .await;
    let catalog = local(vec![server.url.clone()]).await;
    let info = listed(&catalog, &format!("local/{name}"));
    assert_eq!(
        (info.limits.context_size, info.limits.max_output, info.abilities.images),
        (12_288, 3_072, true)
    );
    assert_eq!(
        (info.abilities.parameters, info.abilities.profile),
        (Some(1_543_714_304), ToolProfile::Guided)
    );
    assert!(info.name.ends_with("(llama.cpp)"), "{}", info.name);
    // The server was restarted with a larger context size.
    server.answer("GET /props", &json!({ "default_generation_settings": { "n_ctx": 32_768 } }));
    assert_eq!(catalog.get(&info.id).await.unwrap().info().limits.context_size, 32_768);
}

#[tokio::test]
async fn lm_studio_reports_loaded_and_embedding_models() {
    let entry = |id: &str| json!({ "id": id, "object": "model", "owned_by": "organization_owner" });
    let rest = json!({ "data": [
        { "id": "qwen3-14b", "type": "llm", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 16_384 },
        { "id": "gemma-3-12b", "type": "vlm", "state": "not-loaded", "max_context_length": 8_192 },
        { "id": "bge", "type": "embeddings", "state": "loaded" },
    ]});
    let server = Lister::start(&[
        ("GET /v1/models", json!({ "data": [entry("qwen3-14b"), entry("gemma-3-12b"), entry("bge")] })),
        ("GET /api/v0/models", rest),
    ])
    .await;
    let catalog = local(vec![server.url.clone()]).await;
    assert_eq!(ids(&catalog), ["local/qwen3-14b", "local/gemma-3-12b", "offline/pilot"]);
    assert_eq!(listed(&catalog, "local/qwen3-14b").limits.context_size, 16_384);
    let gemma = listed(&catalog, "local/gemma-3-12b");
    assert_eq!((gemma.limits.context_size, gemma.abilities.images), (8_192, true));
}

#[tokio::test]
async fn vllm_reports_its_maximum_context() {
    let entry = json!({ "id": "Qwen/Qwen3-32B", "owned_by": "vllm", "max_model_len": 40_960 });
    let server = Lister::start(&[("GET /v1/models", json!({ "data": [entry] }))]).await;
    let catalog = local(vec![server.url.clone()]).await;
    let info = listed(&catalog, "local/Qwen/Qwen3-32B");
    assert_eq!((info.limits.context_size, info.abilities.parameters), (40_960, Some(32_000_000_000)));
    assert!(info.name.ends_with("(vLLM)"), "{}", info.name);
}

fn at_openai(url: &str) -> ProvidersOptions {
    let mut options = options();
    options.vendors.openai = VendorOptions { base_url: Some(url.to_owned()), ..VendorOptions::default() };
    options
}

#[tokio::test]
async fn a_user_configured_address_lists_its_servers_models() {
    let server = Lister::start(&[
        ("GET /v1/models", json!({ "data": [{ "id": "house-7b", "meta": { "n_params": 7_000_000_000_u64 } }, { "id": "other" }] })),
        ("GET /props", json!({ "default_generation_settings": { "n_ctx": 8_192 } })),
    ])
    .await;
    let catalog = catalog(at_openai(&server.url));
    assert_eq!(catalog.default_id().await, "openai/house-7b");
    assert_eq!(ids(&catalog), ["openai/house-7b", "openai/other", "offline/pilot"]);
    let info = listed(&catalog, "openai/house-7b");
    assert!(info.price.is_none() && !info.dialect.native_calls);
    assert_eq!(info.abilities.profile, ToolProfile::Small);
    let address = Some(format!("{}/", server.url));
    assert_eq!(catalog.listings(), [Listing { provider: "openai".into(), address, models: Some(2) }]);
}

#[tokio::test]
async fn an_address_of_a_resource_is_listed_beside_the_resource() {
    for resource in ["chat/completions", "responses"] {
        let entry = json!({ "id": "house", "owned_by": "llamacpp", "meta": {} });
        let server = Lister::start(&[
            ("GET /v1/models", json!({ "data": [entry] })),
            ("GET /props", json!({ "default_generation_settings": { "n_ctx": 8_192 } })),
        ])
        .await;
        let catalog = catalog(at_openai(&format!("{}/v1/{resource}", server.url)));
        assert_eq!(catalog.default_id().await, "openai/house");
        assert_eq!(listed(&catalog, "openai/house").limits.context_size, 8_192);
        assert_eq!(server.seen(), ["GET /v1/models", "GET /props"], "{resource}");
    }
}

#[tokio::test]
async fn a_gateway_keeps_the_vendors_default_model_and_gets_the_key() {
    let server =
        Lister::start(&[("GET /v1/models", models(&["aaa", "gpt-5.6-sol", "claude-opus-5-5"]))]).await;
    let mut options = options();
    options.vendors.openai = vendor(server.url.clone(), Wire::Auto);
    let catalog = catalog(options);
    assert_eq!(catalog.default_id().await, "openai/gpt-5.6-sol");
    assert_eq!(
        ids(&catalog),
        ["openai/gpt-5.6-sol", "openai/aaa", "openai/claude-opus-5-5", "offline/pilot"]
    );
    assert_eq!(server.seen(), [format!("GET /v1/models Bearer {KEY}")]);
    assert_eq!(
        listed(&catalog, "openai/claude-opus-5-5").limits.context_size,
        1_000_000,
        "known from its vendor"
    );
}

#[tokio::test]
async fn an_anthropic_address_is_listed_in_its_own_format() {
    let server = Lister::start(&[("GET /v1/models", models(&["claude-opus-5-5"]))]).await;
    let mut options = options();
    options.vendors.anthropic = vendor(server.url.clone(), Wire::Auto);
    let catalog = catalog(options);
    assert_eq!(catalog.default_id().await, "anthropic/claude-opus-5-5");
    assert_eq!(server.seen(), [format!("GET /v1/models {KEY}")]);
}

#[tokio::test]
async fn a_gemini_address_is_listed_in_its_own_format() {
    let model = |name: &str, methods: &[&str]| {
        json!({
            "name": format!("models/{name}"), "displayName": name,
            "inputTokenLimit": 500_000, "outputTokenLimit": 1_000, "supportedGenerationMethods": methods,
        })
    };
    let list = json!({ "models": [
        model("house-flash", &["generateContent", "countTokens"]),
        model("house-vectors", &["embedContent"]),
        model("gemini-3.8-flash", &["generateContent"]),
    ] });
    let path = "GET /v1beta/models?pageSize=200";
    let server = Lister::start(&[(path, list)]).await;
    let mut gateway = options();
    gateway.vendors.gemini = vendor(server.url.clone(), Wire::Auto);
    let gateway = catalog(gateway);
    assert_eq!(gateway.default_id().await, "gemini/gemini-3.8-flash");
    assert_eq!(ids(&gateway), ["gemini/gemini-3.8-flash", "gemini/house-flash", "offline/pilot"]);
    let info = listed(&gateway, "gemini/house-flash");
    assert_eq!((info.limits.context_size, info.limits.max_output), (500_000, 1_000));
    assert_eq!(server.seen(), [format!("{path} {KEY}")]);

    let mut custom = options();
    custom.vendors.custom.insert("work".into(), vendor(format!("{}/v1beta", server.url), Wire::Gemini));
    assert_eq!(catalog(custom).default_id().await, "work/house-flash");
}

#[tokio::test]
async fn a_custom_provider_lists_its_servers_models() {
    let server = Lister::start(&[("GET /api/v1/models", models(&["large", "small"]))]).await;
    let mut options = options();
    options.vendors.custom.insert("work".into(), vendor(format!("{}/api/v1", server.url), Wire::Auto));
    options.vendors.custom.insert("gone".into(), vendor("http://127.0.0.1:1".into(), Wire::Auto));
    let catalog = catalog(options);
    assert_eq!(catalog.default_id().await, "work/large");
    catalog.discover().await;
    assert_eq!(ids(&catalog), ["work/large", "work/small", "offline/pilot"]);
    let found: Vec<_> = catalog.listings().into_iter().map(|it| (it.provider, it.models)).collect();
    assert_eq!(found, [("gone".to_owned(), None), ("work".to_owned(), Some(2))]);
}

#[tokio::test]
async fn a_missing_list_keeps_the_vendors_models_and_an_empty_list_removes_them() {
    let without = Lister::start(&[]).await;
    let unlisted = catalog(at_openai(&without.url));
    assert_eq!(unlisted.default_id().await, "openai/gpt-5.6-sol");
    let empty = Lister::start(&[("GET /v1/models", models(&[]))]).await;
    let listless = catalog(at_openai(&empty.url));
    assert_eq!(listless.default_id().await, "offline/pilot");
    assert_eq!(listless.listings()[0].models, Some(0));
}

#[tokio::test]
async fn user_configured_addresses_are_queried_only_when_models_are_requested() {
    let server = Lister::start(&[("GET /v1/models", models(&["house"]))]).await;
    let mut options = at_openai(&server.url);
    options.default_model = Some("offline/pilot".to_owned());
    let near = Lister::start(&[("GET /v1/models", models(&["near"]))]).await;
    options.local.urls = vec![near.url.clone()];
    let catalog = std::sync::Arc::new(catalog(options));
    let watching = tokio::spawn({
        let catalog = catalog.clone();
        async move { catalog.watch().await }
    });
    while near.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.seen(), Vec::<String>::new());
    catalog.list();
    while !ids(&catalog).contains(&"openai/house".to_owned()) {
        tokio::task::yield_now().await;
    }
    watching.abort();
}

#[tokio::test]
async fn a_changed_address_is_queried_again() {
    let before = Lister::start(&[("GET /v1/models", models(&["old"]))]).await;
    let after = Lister::start(&[("GET /v1/models", models(&["new"]))]).await;
    let catalog = catalog(at_openai(&before.url));
    assert_eq!(catalog.default_id().await, "openai/old");
    catalog.reconfigure(|options| options.vendors.openai.base_url = Some(after.url.clone()));
    assert_eq!(catalog.default_id().await, "openai/new");
}

#[tokio::test]
async fn a_local_server_reports_its_context_when_a_model_is_requested() {
    let server =
        Lister::start(&[("GET /v1/models", json!({ "data": [{ "id": "mine", "max_model_len": 16_000 }] }))])
            .await;
    let catalog = catalog(at_openai(&server.url));
    assert_eq!(catalog.get("openai/mine").await.unwrap().info().limits.context_size, 16_000);
}

#[tokio::test]
async fn a_configured_tool_profile_takes_precedence() {
    let server = Lister::start(&[("GET /v1/models", models(&["tiny-1b"]))]).await;
    for (setting, expected) in [(None, ToolProfile::Guided), (Some(ToolProfile::Full), ToolProfile::Full)] {
        let mut options = at_openai(&server.url);
        options.tool_profile = setting;
        let catalog = catalog(options);
        assert_eq!(catalog.get("openai/tiny-1b").await.unwrap().info().abilities.profile, expected);
        assert_eq!(listed(&catalog, "openai/tiny-1b").abilities.profile, expected);
    }
}

#[tokio::test]
async fn a_served_user_is_told_what_a_user_can_do() {
    for (is_served, says) in [(false, "tiller setup"), (true, "ask the server's administrator")] {
        let catalog = catalog(ProvidersOptions { is_served, ..options() });
        let error = catalog.get("openai/x").await.err().expect("there is no key").to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(error.contains("tiller setup"), !is_served, "{error}");
    }
}

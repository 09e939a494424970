//! The list of models, the default model, and the errors for models that do not exist.

use crate::support::{answer, catalog, ids, options, vendor};
use agent::{ModelError, Models};
use providers::{Secret, VendorOptions, Wire};

#[tokio::test]
async fn without_any_configuration_the_pilot_is_the_default() {
    let catalog = catalog(options());
    assert_eq!(catalog.default_id().await, "offline/pilot");
    assert_eq!(ids(&catalog), ["offline/pilot"]);
    assert_eq!(answer(&*catalog.get("offline/pilot").await.unwrap()).await, "text: pilot");
}

#[tokio::test]
async fn an_explicit_default_takes_precedence_over_a_key() {
    let mut with_key = options();
    with_key.vendors.anthropic.api_key = Some(Secret::new("k"));
    let found = catalog(with_key.clone());
    let default = found.default_id().await;
    assert!(default.starts_with("anthropic/claude-"), "{default}");
    assert_eq!(ids(&found)[0], default);
    assert_eq!(ids(&found).last().unwrap(), "offline/pilot");

    with_key.vendors.openai.api_key = Some(Secret::new("k"));
    assert!(catalog(with_key.clone()).default_id().await.starts_with("openai/gpt-"));

    let mut keyless = options();
    keyless.vendors.openai.base_url = Some("http://127.0.0.1:1".into());
    assert!(catalog(keyless).default_id().await.starts_with("openai/gpt-"), "an address is a choice too");

    with_key.default_model = Some("anthropic/claude-haiku-4-5".into());
    let found = catalog(with_key.clone());
    assert_eq!(found.default_id().await, "anthropic/claude-haiku-4-5");
    assert_eq!(ids(&found)[0], "anthropic/claude-haiku-4-5");
    assert_eq!(ids(&found).iter().filter(|id| *id == "anthropic/claude-haiku-4-5").count(), 1);

    with_key.default_model = Some("openai/gpt-unheard-of".into());
    assert_eq!(ids(&catalog(with_key))[0], "openai/gpt-unheard-of");
}

#[tokio::test]
async fn missing_settings_are_named_with_the_remedy() {
    let mut options = options();
    options.vendors.custom.insert("groq".into(), vendor("http://127.0.0.1:1/openai/v1".into(), Wire::Auto));
    options.vendors.custom.insert("half".into(), VendorOptions::default());
    let mut bad = vendor("localhost:1".into(), Wire::Auto);
    bad.api_key = None;
    options.vendors.custom.insert("bad".into(), bad);
    let catalog = catalog(options);
    assert_eq!(catalog.get("groq/llama/3").await.unwrap().info().id, "groq/llama/3");
    for (id, expected) in [
        ("openai/gpt-5", "set OPENAI_API_KEY"),
        ("anthropic/x", "set ANTHROPIC_API_KEY"),
        ("opnai/gpt-5", "did you mean `openai`?"),
        ("grok/x", "did you mean `groq`?"),
        ("mistral/x", "there are: openai, anthropic, gemini, local, offline, replay, bad, groq, half"),
        ("half/x", "has no base URL"),
        ("bad/x", "write it as http://"),
        ("gpt-5", "did you mean `openai/gpt-5`?"),
        ("openai/", "write it as PROVIDER/MODEL"),
        ("", "write it as PROVIDER/MODEL"),
        ("local/x", "start Ollama"),
        ("replay/", "write replay/ and the file's path"),
        ("replay/relative.jsonl", "write replay/ and the file's path"),
        ("replay//no/such.jsonl", "not found: /no/such.jsonl"),
        ("offline/other", "there is no provider `offline`"),
    ] {
        match catalog.get(id).await.err() {
            // A missing key is an authentication error.
            Some(ModelError::Auth(text)) => {
                assert!(text.contains(expected) && expected.contains("_API_KEY"), "{id}: {text}");
            }
            Some(ModelError::NotConfigured(text)) => {
                assert!(text.contains(expected) && !expected.contains("_API_KEY"), "{id}: {text}");
            }
            other => panic!("{id}: {other:?}"),
        }
    }
}

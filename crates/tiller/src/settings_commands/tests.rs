//! Tests of what needs no process.

use super::{examples::EXAMPLES, write::typed};
use crate::{
    config::{self, SettingsFile},
    options::Directories,
};
use serde_json::json;
use system::AbsPath;

fn directories() -> Directories {
    let path = |text: &str| AbsPath::new(text).unwrap();
    Directories {
        home: path("/home/me"),
        settings: path("/c/config.toml"),
        config: path("/c"),
        data: path("/d"),
        cache: path("/k"),
        temp: path("/tmp"),
        folder: None,
    }
}

fn check(text: &str) -> Result<(), String> {
    let file = SettingsFile { path: AbsPath::new("/c/config.toml").unwrap(), text: text.to_owned() };
    config::check(&file, &directories()).map_err(|error| error.to_string())
}

#[test]
fn every_example_is_a_valid_settings_file_about_its_topic() {
    for (topic, title, toml) in EXAMPLES {
        assert_eq!(check(toml), Ok(()), "{title}");
        assert!(toml.contains(&format!("[{topic}")), "{title}");
    }
}

/// Every settings file in the documents, which are recognised by their first group.
#[test]
fn every_settings_file_in_the_documents_is_valid() {
    let documents = [
        include_str!("../../../../docs/configuration.md"),
        include_str!("../../../../docs/providers.md"),
        include_str!("../../../../docs/mcp.md"),
        include_str!("../../../../docs/web.md"),
        include_str!("../../../../docs/integrations.md"),
        include_str!("../../../../docs/subagents.md"),
        include_str!("../../../../docs/context.md"),
        include_str!("../../../../README.md"),
    ];
    let mut count = 0;
    for document in documents {
        for block in document.split("```toml\n").skip(1) {
            let text = block.split("```").next().unwrap_or_default();
            assert_eq!(check(text), Ok(()), "{text}");
            count += 1;
        }
    }
    assert!(count > 2, "{count} examples");
}

#[test]
fn typed_words_become_values_of_the_settings_type() {
    let value = |name: &str, words: &[&str]| {
        let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        typed(config::key_of(name).unwrap(), &words).map_err(|error| error.to_string())
    };
    for (name, words, expected) in [
        ("tools.denied_tools", &["bash"][..], json!(["bash"])),
        ("tools.denied_tools", &["bash", "lua"], json!(["bash", "lua"])),
        ("tools.denied_tools", &["['bash', \"lua\"]"], json!(["bash", "lua"])),
        ("tools.denied_tools", &["[]"], json!([])),
        ("tools.bash.timeout", &["300"], json!(300)),
        ("tools.bash.timeout", &["soon"], json!("soon")),
        ("integrations.native_tools", &["true"], json!(true)),
        ("agent.system_prompt", &["7"], json!("7")),
    ] {
        assert_eq!(value(name, words), Ok(expected), "{name} {words:?}");
    }
    assert!(value("agent.mode", &["plan", "ask"]).unwrap_err().contains("takes one value, not 2"));
    assert!(value("tools.denied_tools", &["[1]"]).unwrap_err().contains("is not a list of texts"));
}

//! The schema agrees with the code that reads settings.

use super::*;
use crate::config::tests::resolved;
use regex::Regex;

/// The documented samples of settings files.
const CONFIGURATION: &str = include_str!("../../../../../../docs/configuration.md");

/// Returns whether a value is valid. Supports the keywords of this schema, and panics on others.
fn fits(schema: &Value, value: &Value) -> bool {
    let Value::Object(rules) = schema else { return schema != &json!(false) };
    rules.iter().all(|(rule, says)| match rule.as_str() {
        "type" => match says.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64(),
            other => panic!("type {other}"),
        },
        "enum" => says.as_array().unwrap().contains(value),
        "not" => !fits(says, value),
        "pattern" => {
            value.as_str().is_none_or(|text| Regex::new(says.as_str().unwrap()).unwrap().is_match(text))
        }
        "minimum" => value.as_i64().is_none_or(|number| number >= says.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|number| number <= says.as_i64().unwrap()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap()),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(says, item))),
        "required" => value.as_object().is_none_or(|members| {
            says.as_array().unwrap().iter().all(|name| members.contains_key(name.as_str().unwrap()))
        }),
        "propertyNames" => {
            value.as_object().is_none_or(|members| members.keys().all(|name| fits(says, &json!(name))))
        }
        "properties" => value.as_object().is_none_or(|members| {
            members.iter().all(|(name, member)| says.get(name).is_none_or(|schema| fits(schema, member)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|members| {
            let others = members.iter().filter(|(name, _)| rules["properties"].get(*name).is_none());
            others.into_iter().all(|(_, member)| fits(says, member))
        }),
        "$schema" | "title" | "description" | "default" | "x-environment" | "x-project" => true,
        other => panic!("keyword {other}"),
    })
}

/// Returns whether the schema accepts a settings file.
fn accepts(text: &str) -> bool {
    let value: Value = toml::from_str(text).unwrap();
    fits(&schema(), &value)
}

/// Returns whether the program accepts a settings file.
fn is_read(text: &str) -> bool {
    resolved(text).is_ok()
}

/// Returns the schema of one setting.
fn of<'a>(schema: &'a Value, name: &str) -> &'a Value {
    name.split('.').fold(schema, |at, part| match part {
        "NAME" => &at["additionalProperties"],
        part => &at["properties"][part],
    })
}

#[test]
fn the_documented_samples_are_accepted() {
    let samples: Vec<&str> =
        CONFIGURATION.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(samples.len() >= 2);
    for sample in samples {
        assert!(accepts(sample) && is_read(sample), "{sample}");
    }
    for sample in [
        "",
        "providers.custom.groq = { base_url = 'https://g.example/v1', wire = 'anthropic', silence = 60 }",
        "mcp.permissions_default = 'deny'\nmcp.servers.files = { offer = ['roots'], permissions.read = 'allow' }",
        "integrations.native_tools = true\nintegrations.plane = { enabled = true, permissions.write = 'ask' }",
        "tools.allowed_paths = ['/srv', '~/x', '~']\nproviders.local.ollama = 'box:11434'",
        "providers.local.urls = ['http://127.0.0.1:9']\nagent.default_model = 'openai/a/b'",
    ] {
        assert!(accepts(sample) && is_read(sample), "{sample}");
    }
}

#[test]
fn wrong_settings_are_refused() {
    for wrong in [
        "tols.denied_tools = []",
        "agent.modle = 'x'",
        "agent.mode = 'edi'",
        "agent.mode = 1",
        "agent = 1",
        "agent.system_prompt = ' '",
        "agent.default_model = 'gpt'",
        "tools.bash.timeout = 0",
        "tools.bash.timeout = 7201",
        "tools.bash.timeout = '1'",
        "tools.allowed_paths = ['x']",
        "tools.denied_tools = 'bash'",
        "client.terminal = 'both'",
        "context.compact_threshold = 9",
        "providers.openai.base_url = 'ftp://x'",
        "providers.openai.api_key_env = 'sk-abc'",
        "providers.local.discover = 'yes'",
        "providers.custom.openai.base_url = 'http://x'",
        "providers.custom.groq = 1",
        "providers.custom.groq.wrie = 'chat'",
        "providers.silence = 86401",
        "mcp.servers.s.offer = ['nothing']",
        "hooks.x = { on = 'stop', command = [] }",
        "hooks.x = { on = 'never', command = ['a'] }",
        "hooks.x.on = 'stop'",
    ] {
        assert!(!accepts(wrong), "{wrong}");
        assert!(!is_read(wrong), "{wrong}");
    }
}

#[test]
fn every_setting_is_in_the_schema_with_its_description() {
    let schema = schema();
    let mut count = 0;
    for key in KEYS {
        let leaf = of(&schema, key.name);
        assert!(leaf["description"].as_str().is_some_and(|text| text.len() > 10), "{}", key.name);
        assert_eq!(leaf["x-project"], key.in_project.id(), "{}", key.name);
        assert!(!leaf["description"].as_str().unwrap().contains("]("), "{}", key.name);
        count += usize::from(leaf.get("type").is_some() || leaf.get("enum").is_some());
    }
    assert_eq!(count, KEYS.len());
    assert_eq!(schema.to_string().matches("\"x-project\"").count(), KEYS.len());
    assert_eq!(of(&schema, "agent.mode")["x-environment"], "TILLER_MODE");
    assert_eq!(of(&schema, "providers.local.ollama")["x-environment"], "OLLAMA_HOST");
}

/// What the schema refuses, the program refuses too; every word of the schema is accepted.
#[test]
fn the_schema_and_the_program_agree_on_values() {
    let values = [
        json!("x"),
        json!(" "),
        json!("a/b"),
        json!("http://x"),
        json!("/x"),
        json!("A_KEY"),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(9),
        json!(100),
        json!(101),
        json!(100_000),
        json!([]),
        json!(["/x"]),
        json!(["x"]),
        json!([" "]),
        json!(["http://x"]),
        json!([1]),
        json!(["bash"]),
    ];
    let schema = schema();
    for key in KEYS {
        let leaf = of(&schema, key.name);
        let set = |value: &Value| {
            let value = crate::config::Value::of_json(value).unwrap();
            (key.set)(&mut resolved("").unwrap(), "name", &value)
        };
        for value in values.iter().filter(|value| !fits(leaf, value)) {
            assert!(set(value).is_err(), "{} = {value} is refused by the schema only", key.name);
        }
        if let Some(words) = leaf["enum"].as_array() {
            words.iter().for_each(|word| set(word).unwrap());
            let said = set(&json!("?")).unwrap_err().to_string();
            let words: Vec<_> = words.iter().map(|word| word.as_str().unwrap()).collect();
            assert!(said.ends_with(&format!("use one of {}", words.join(", "))), "{}: {said}", key.name);
        }
        if let Some(most) = leaf["maximum"].as_u64() {
            set(&json!(most)).unwrap();
            assert!(set(&json!(most + 1)).is_err(), "{}", key.name);
        }
        let default = &leaf["default"];
        if !default.is_null() {
            assert!(fits(leaf, default), "{}", key.name);
            let mut options = resolved("").unwrap();
            let value = crate::config::Value::of_json(default).unwrap();
            (key.set)(&mut options, "name", &value).unwrap();
            if !key.name.contains("NAME") {
                assert_eq!(options, resolved("").unwrap(), "the default of {}", key.name);
            }
        }
    }
}

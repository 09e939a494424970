//! Adds the KosmoKrator wire's keys beside the protocol's where the two differ.

use super::event::RuntimeState;
use crate::{
    connection::settings::Settings,
    v1::settings::{config_options, modes},
};
use agent::ModelInfo;
use serde_json::{Map, Value, json};

/// Returns all settings of a session, with their current values.
pub(crate) fn runtime_state(settings: &Settings, models: &[ModelInfo]) -> RuntimeState {
    // Both are plain data, which always serializes.
    let options = serde_json::to_value(config_options(settings, models)).unwrap_or_default();
    let modes = serde_json::to_value(modes(settings.mode)).unwrap_or_default();
    let mut whole = with_kosmokrator_keys(json!({ "modes": modes, "configOptions": options }));
    RuntimeState {
        modes: whole["modes"].take(),
        models: whole["models"].take(),
        config_options: whole["configOptions"].take(),
    }
}

/// Adds the keys to a response: `models`, and the wire's own keys of each option. A response
/// without options stays unchanged.
pub(crate) fn with_kosmokrator_keys(mut answer: Value) -> Value {
    let Some(options) = answer.get_mut("configOptions").and_then(Value::as_array_mut) else { return answer };
    options.iter_mut().filter_map(Value::as_object_mut).for_each(add_option_keys);
    let model = options.iter().find(|option| option["id"] == "model").map(models);
    if let (Some(models), Some(answer)) = (model, answer.as_object_mut()) {
        answer.entry("models").or_insert(models);
    }
    answer
}

fn add_option_keys(option: &mut Map<String, Value>) {
    for (own, theirs) in [("id", "configId"), ("type", "kind"), ("currentValue", "value")] {
        if let Some(value) = option.get(own).cloned() {
            option.insert(theirs.to_owned(), value);
        }
    }
    let values = option.get_mut("options").and_then(Value::as_array_mut);
    for value in values.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(name) = value.get("name").cloned() {
            value.insert("label".to_owned(), name);
        }
    }
}

fn models(option: &Value) -> Value {
    let of = |value: &Value| json!({ "modelId": value["value"], "name": value["name"] });
    let available: Vec<_> = option["options"].as_array().into_iter().flatten().map(of).collect();
    json!({ "currentModelId": option["currentValue"], "availableModels": available })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_both_sets_of_keys() {
        let answer = json!({ "configOptions": [{
            "id": "model", "name": "Model", "type": "select", "currentValue": "a/b",
            "options": [{ "value": "a/b", "name": "B" }],
        }]});
        let answer = with_kosmokrator_keys(answer);
        let option = &answer["configOptions"][0];
        for (key, value) in [("id", "model"), ("configId", "model"), ("kind", "select"), ("value", "a/b")] {
            assert_eq!(option[key], value);
        }
        assert_eq!(option["options"][0], json!({ "value": "a/b", "name": "B", "label": "B" }));
        assert_eq!(
            answer["models"],
            json!({ "currentModelId": "a/b", "availableModels": [{ "modelId": "a/b", "name": "B" }] })
        );
        assert_eq!(with_kosmokrator_keys(json!({ "x": 1 })), json!({ "x": 1 }));
    }
}

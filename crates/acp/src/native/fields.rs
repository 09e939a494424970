//! Reads the parameters of a request one by one, with the error messages that the KosmoKrator wire
//! defines.

use super::services::{Hidden, Permissions, Scope};
use crate::connection::errors;
use agent_client_protocol::Error;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The parameters of a request, an object.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// Takes the parameters of a request; null counts as an empty object.
    pub(crate) fn of(params: Value) -> Result<Self, Error> {
        match params {
            Value::Object(map) => Ok(Self(map)),
            Value::Null => Ok(Self(Map::new())),
            _ => Err(errors::invalid_params("Params must be an object")),
        }
    }

    /// Returns a required string that is not empty.
    pub(crate) fn text(&self, key: &str) -> Result<String, Error> {
        self.optional(key)?.ok_or_else(|| errors::invalid_params(format!("Missing string param: {key}")))
    }

    /// Returns an optional string; an empty one counts as missing.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<String>, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(errors::invalid_params(format!("Missing string param: {key}"))),
        }
    }

    /// Returns the function's name, from any of its keys.
    pub(crate) fn function(&self) -> Result<String, Error> {
        for key in ["function", "name", "tool"] {
            if let Some(Value::String(text)) = self.0.get(key)
                && !text.is_empty()
            {
                return Ok(text.clone());
            }
        }
        Err(errors::invalid_params("Missing string param: function"))
    }

    /// Returns an object; empty if missing.
    pub(crate) fn object(&self, key: &str) -> Result<Map<String, Value>, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            // Clients in untyped languages send an empty object as an empty list.
            Some(Value::Array(items)) if items.is_empty() => Ok(Map::new()),
            Some(_) => Err(errors::invalid_params(format!("Param must be an object: {key}"))),
        }
    }

    /// Returns an object of secret values.
    pub(crate) fn hidden(&self, key: &str) -> Result<BTreeMap<String, Hidden>, Error> {
        let scalar = |(name, value): (String, Value)| match scalar(&value) {
            Some(text) => Ok((name, Hidden::new(text))),
            None => Err(errors::invalid_params(format!("Value for {key}.{name} must be scalar"))),
        };
        self.object(key)?.into_iter().map(scalar).collect()
    }

    /// Returns a string, a number or a boolean, or a list of these.
    pub(crate) fn scalars(&self, key: &str) -> Result<Value, Error> {
        let is_scalar = |value: &Value| scalar(value).is_some();
        match self.0.get(key) {
            Some(value) if is_scalar(value) => Ok(value.clone()),
            Some(Value::Array(items)) if items.iter().all(is_scalar) => Ok(Value::Array(items.clone())),
            _ => Err(errors::invalid_params(format!("Value for {key} must be scalar"))),
        }
    }

    /// Returns a list of strings; empty if missing.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, Error> {
        let wrong = || errors::invalid_params(format!("Param must be a list of strings: {key}"));
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Returns a list of any values; empty if missing.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Value>, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items.clone()),
            Some(_) => Err(errors::invalid_params(format!("Param must be a list: {key}"))),
        }
    }

    /// Returns whether a parameter is present and not null.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns a boolean; `default` if missing.
    pub(crate) fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        Ok(self.optional_flag(key)?.unwrap_or(default))
    }

    /// Returns an optional boolean.
    pub(crate) fn optional_flag(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(errors::invalid_params(format!("Param must be true or false: {key}"))),
        }
    }

    /// Returns an integer clamped to `least..=most`; `default` if missing.
    pub(crate) fn count(&self, key: &str, least: u64, default: u64, most: u64) -> Result<u64, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(count.clamp(least, most)),
                None => Err(errors::invalid_params(format!("Param must be a whole number: {key}"))),
            },
        }
    }

    /// Returns an optional positive number.
    pub(crate) fn positive(&self, key: &str) -> Result<Option<f64>, Error> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if number > 0.0 => Ok(Some(number)),
                _ => Err(errors::invalid_params(format!("Param must be a positive number: {key}"))),
            },
        }
    }

    /// Returns whose settings to change; the project's if missing.
    pub(crate) fn scope(&self) -> Result<Scope, Error> {
        match self.0.get("scope") {
            None | Some(Value::Null) => Ok(Scope::Project),
            Some(Value::String(scope)) if scope == "project" => Ok(Scope::Project),
            Some(Value::String(scope)) if scope == "global" => Ok(Scope::Global),
            Some(_) => Err(errors::invalid_params("Scope must be project or global")),
        }
    }

    /// Returns the permissions of reads and writes.
    pub(crate) fn permissions(&self) -> Result<Permissions, Error> {
        let mut permissions = Permissions::default();
        for (operation, given) in self.object("permissions")? {
            let word = given.as_str().unwrap_or("?");
            let known = ["allow", "ask", "deny"].into_iter().find(|known| *known == word);
            match (operation.as_str(), known) {
                ("read", Some(word)) => permissions.read = Some(word),
                ("write", Some(word)) => permissions.write = Some(word),
                _ => {
                    return Err(errors::invalid_params(format!(
                        "Invalid permission '{operation}:{word}'. Use read/write with allow, ask, or deny."
                    )));
                }
            }
        }
        Ok(permissions)
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(params: Value) -> Fields {
        Fields::of(params).unwrap()
    }

    fn wrong<T>(result: Result<T, Error>, message: &str) {
        let error = result.err().unwrap();
        assert_eq!((i32::from(error.code), error.message.as_str()), (-32602, message));
    }

    #[test]
    fn invalid_parameters_are_reported_in_the_wording_of_the_wire() {
        wrong(Fields::of(json!([1])), "Params must be an object");
        wrong(fields(json!({ "path": 7 })).text("path"), "Missing string param: path");
        wrong(fields(Value::Null).function(), "Missing string param: function");
        wrong(fields(json!({ "args": [1] })).object("args"), "Param must be an object: args");
        wrong(fields(json!({ "scope": "x" })).scope(), "Scope must be project or global");
        for given in [json!({}), json!([[1]]), json!([{}]), json!([null]), Value::Null] {
            wrong(fields(json!({ "value": given })).scalars("value"), "Value for value must be scalar");
        }
        let list = json!(["bash", "web_fetch"]);
        assert_eq!(fields(json!({ "value": list })).scalars("value").unwrap(), list);
        let permissions = json!({ "permissions": { "read": "maybe" } });
        let says = "Invalid permission 'read:maybe'. Use read/write with allow, ask, or deny.";
        wrong(fields(permissions).permissions(), says);
        let secret = json!({ "credentials": { "api_key": ["canary"] } });
        wrong(fields(secret).hidden("credentials"), "Value for credentials.api_key must be scalar");
    }

    #[test]
    fn valid_parameters_are_accepted() {
        let given = fields(json!({
            "name": "a.b", "limit": 900, "scope": "global", "args": [], "env": { "K": "canary" },
            "permissions": { "read": "allow", "write": "ask" },
        }));
        assert_eq!(given.function().unwrap(), "a.b");
        assert_eq!(given.count("limit", 1, 100, 500).unwrap(), 500);
        assert_eq!(given.scope().unwrap(), Scope::Global);
        assert!(given.object("args").unwrap().is_empty());
        let hidden = given.hidden("env").unwrap();
        assert_eq!((hidden["K"].reveal(), format!("{hidden:?}").contains("canary")), ("canary", false));
        let permissions = given.permissions().unwrap();
        assert_eq!((permissions.read, permissions.write), (Some("allow"), Some("ask")));
    }
}

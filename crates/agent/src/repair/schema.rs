//! The parts of a tool's JSON Schema that are needed to fit calls to it.

use super::fields;
use serde_json::{Map, Value};

/// The arguments of a call, by name.
pub(super) type Fields = Map<String, Value>;

/// The schema of an object, or of one of its values.
pub(super) struct Schema<'a>(pub(super) &'a Value);

impl<'a> Schema<'a> {
    /// Whether it allows only the arguments that it names.
    pub(super) fn is_closed(&self) -> bool {
        self.0.get("additionalProperties") == Some(&Value::Bool(false))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0["properties"].get(name).is_some()
    }

    pub(super) fn has_properties(&self) -> bool {
        self.0["properties"].as_object().is_some_and(|properties| !properties.is_empty())
    }

    /// Returns the schema of one argument.
    pub(super) fn property(&self, name: &str) -> Self {
        Self(&self.0["properties"][name])
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the schema of a list's elements.
    pub(super) fn items(&self) -> Option<Self> {
        self.0.get("items").map(Self)
    }

    /// Returns the enum values, if any.
    pub(super) fn values(&self) -> Vec<&'a str> {
        self.0["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether it takes values of a JSON type. A schema without types takes all.
    pub(super) fn takes(&self, kind: &str) -> bool {
        match &self.0["type"] {
            Value::String(only) => only == kind,
            Value::Array(kinds) => kinds.iter().any(|one| one == kind),
            _ => match self.0["anyOf"].as_array().or(self.0["oneOf"].as_array()) {
                Some(any) => any.iter().any(|one| Self(one).takes(kind)),
                None => true,
            },
        }
    }

    pub(super) fn takes_number(&self) -> bool {
        self.takes("integer") || self.takes("number")
    }

    /// Returns the schema's name for an argument given by a model.
    pub(super) fn named(&self, tool: &str, given: &str) -> Option<String> {
        if self.has(given) {
            return Some(given.to_owned());
        }
        let known = fields::target(tool, given, |name| self.has(name)).map(str::to_owned);
        known.or_else(|| {
            let squashed = super::names::squashed(given);
            let same = |name: &&str| super::names::squashed(name) == squashed && !squashed.is_empty();
            self.names().find(same).map(str::to_owned)
        })
    }

    /// Returns the argument whose name is closest to an unknown one.
    pub(super) fn near(&self, given: &str) -> Option<&'a str> {
        let distance = |name: &&str| strsim::damerau_levenshtein(name, given);
        self.names().min_by_key(distance).filter(|name| distance(name) <= 2)
    }

    /// Describes the schema in a line, required arguments first: `{"path": string, "offset"?:
    /// integer}`.
    pub(super) fn short(&self) -> String {
        let required: Vec<_> = self.required().collect();
        let name = |name: &str| {
            let optional = if required.contains(&name) { "" } else { "?" };
            format!("{name:?}{optional}: {}", self.property(name).kind())
        };
        match self.has_properties() {
            true => {
                let optional = self.names().filter(|name| !required.contains(name));
                let all: Vec<_> = required.iter().copied().chain(optional).map(name).collect();
                format!("{{{}}}", all.join(", "))
            }
            false => "no arguments".to_owned(),
        }
    }

    fn kind(&self) -> String {
        let values = self.values();
        if !values.is_empty() {
            return values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" | ");
        }
        match (&self.0["type"], self.items()) {
            (Value::String(kind), Some(items)) if kind == "array" => match items.has_properties() {
                true => format!("[{}]", items.short()),
                false => format!("[{}]", items.kind()),
            },
            (Value::String(kind), _) => kind.clone(),
            _ => "any".to_owned(),
        }
    }
}

//! Fits the arguments of a call to the tool's schema: names and values used by other agents are
//! translated to the tool's own. Unknown arguments are refused, not ignored.

use super::{
    fields,
    schema::{Fields, Schema},
    shapes,
};
use serde_json::Value;

/// Arguments that fit the schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fitted {
    pub(super) fields: Fields,
    /// Whether they differ from what the model wrote, apart from dropped harmless arguments.
    pub(super) changed: bool,
    /// Notes for the model about how they were read.
    pub(super) notes: Vec<String>,
}

/// Fits arguments to a tool. The error says what was given, what is wrong and what the tool takes.
pub(super) fn fit(tool: &str, schema: &Schema<'_>, given: Fields) -> Result<Fitted, String> {
    let mut fitting =
        Fitting { tool, schema, out: Fields::new(), unknown: Vec::new(), changed: false, notes: Vec::new() };
    let came: Vec<String> = given.keys().cloned().collect();
    let mut given = given;
    let reshaped = shapes::reshape(tool, schema, &mut given)?;
    fitting.changed |= reshaped.changed;
    fitting.notes.extend(reshaped.notes);
    for (name, value) in given {
        fitting.take(name, value)?;
    }
    let Fitting { out, unknown, changed, notes, .. } = fitting;
    if let Some(name) = unknown.first() {
        let near = schema.near(name).map(|near| format!(" Did you mean {near:?}?")).unwrap_or_default();
        let all: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
        return Err(format!(
            "{tool} has no argument {}, so nothing was done.{near} It takes {}.",
            all.join(", "),
            schema.short()
        ));
    }
    if let Some(missing) = schema.required().find(|name| !out.contains_key(*name)) {
        return Err(format!(
            "Invalid arguments for '{tool}': missing field `{missing}`; {}. It takes {}.",
            describe_names(&came),
            schema.short()
        ));
    }
    Ok(Fitted { fields: out, changed, notes })
}

/// Describes the given arguments.
pub(super) fn describe_names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("{name:?}")).collect();
    match names.is_empty() {
        true => "no arguments were sent".to_owned(),
        false => format!("the arguments sent are {}", names.join(", ")),
    }
}

struct Fitting<'a> {
    tool: &'a str,
    schema: &'a Schema<'a>,
    out: Fields,
    unknown: Vec<String>,
    changed: bool,
    notes: Vec<String>,
}

impl Fitting<'_> {
    fn take(&mut self, given: String, value: Value) -> Result<(), String> {
        let Some(name) = self.schema.named(self.tool, &given) else {
            let said = shapes::said(&value);
            if !is_empty_value(&value) && !fields::is_harmless(&given, &said) {
                self.unknown.push(given);
            }
            return Ok(());
        };
        let property = self.schema.property(&name);
        // Null means the same as an omitted argument.
        if value.is_null() && !property.takes("null") {
            return Ok(());
        }
        // Models write empty texts for optional words.
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        if is_blank && !property.values().is_empty() && self.schema.required().all(|field| field != name) {
            return Ok(());
        }
        let value = self.value(&property, &name, value)?;
        match self.out.get(&name) {
            None => {
                self.changed |= name != given;
                self.out.insert(name, value);
            }
            Some(before) if *before == value => {}
            Some(_) if name != given && fields::is_harmless(&given, &shapes::said(&value)) => {}
            Some(_) => {
                return Err(format!(
                    "{}: {name:?} is given twice, once as {given:?}, with different values; nothing was done. It takes {}.",
                    self.tool,
                    self.schema.short()
                ));
            }
        }
        Ok(())
    }

    /// Converts a value to the schema's type if the meaning is clear; otherwise leaves it for the
    /// tool to refuse.
    fn value(&mut self, property: &Schema<'_>, name: &str, value: Value) -> Result<Value, String> {
        let read = match value {
            Value::String(text) if !property.takes("string") => from_text(property, text),
            Value::Number(number) if property.takes("boolean") && !property.takes("integer") => {
                match number.as_i64() {
                    Some(0) => Value::Bool(false),
                    Some(1) => Value::Bool(true),
                    _ => Value::Number(number),
                }
            }
            Value::Array(items) if !property.takes("array") && property.takes("string") => {
                match (items.as_slice(), name) {
                    ([Value::String(one)], _) => {
                        self.changed = true;
                        Value::String(one.clone())
                    }
                    (_, "content" | "tasks") => self.as_text(&Value::Array(items)),
                    _ => Value::Array(items),
                }
            }
            Value::Object(fields) if property.takes("array") => {
                self.changed = true;
                Value::Array(vec![Value::Object(fields)])
            }
            Value::Object(fields) if name == "content" && !property.takes("object") => {
                self.as_text(&Value::Object(fields))
            }
            Value::Number(number) if !property.takes_number() && property.takes("string") => {
                self.changed = true;
                Value::String(number.to_string())
            }
            Value::Bool(flag)
                if !property.takes("boolean") && property.takes("string") && name == "content" =>
            {
                self.changed = true;
                Value::String(flag.to_string())
            }
            value => value,
        };
        match read {
            Value::Array(items) if property.takes("array") => self.items(property, items),
            Value::String(text) => Ok(Value::String(self.one_of(property, name, text)?)),
            value => Ok(value),
        }
    }

    fn as_text(&mut self, value: &Value) -> Value {
        self.changed = true;
        Value::String(serde_json::to_string_pretty(value).unwrap_or_default())
    }

    /// Fits each element of a list to the schema's element type.
    fn items(&mut self, property: &Schema<'_>, items: Vec<Value>) -> Result<Value, String> {
        let Some(each) = property.items() else { return Ok(Value::Array(items)) };
        let mut fitted = Vec::with_capacity(items.len());
        for item in items {
            fitted.push(match item {
                Value::Object(given) if each.has_properties() => {
                    let mut inner = Fitting {
                        tool: self.tool,
                        schema: &each,
                        out: Fields::new(),
                        unknown: Vec::new(),
                        changed: false,
                        notes: Vec::new(),
                    };
                    for (name, value) in given {
                        if each.named(self.tool, &name).is_none() && fields::is_label(&name) {
                            continue;
                        }
                        inner.take(name, value)?;
                    }
                    if let Some(name) = inner.unknown.first() {
                        return Err(format!(
                            "{} has no argument {name:?} in an element of its list, so nothing was done. An element is {}.",
                            self.tool,
                            each.short()
                        ));
                    }
                    self.changed |= inner.changed;
                    Value::Object(inner.out)
                }
                Value::String(text) if each.has_properties() => match each.required().next() {
                    // A step of a plan that is only its text.
                    Some(name) => {
                        self.changed = true;
                        Value::Object(Fields::from_iter([(name.to_owned(), Value::String(text))]))
                    }
                    None => Value::String(text),
                },
                item => item,
            });
        }
        Ok(Value::Array(fitted))
    }

    /// Maps a text to one of the schema's enum values.
    fn one_of(&mut self, property: &Schema<'_>, name: &str, text: String) -> Result<String, String> {
        let values = property.values();
        if values.is_empty() || values.contains(&text.as_str()) {
            return Ok(text);
        }
        match fields::meant(&text, &values) {
            Some(value) => {
                self.changed = true;
                Ok(value.to_owned())
            }
            None => Err(format!(
                "{}: {name:?} cannot be {text:?}; it is one of {}. Nothing was done.",
                self.tool,
                values.join(", ")
            )),
        }
    }
}

/// Whether a value means the same as an omitted argument.
fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Converts a text to the schema's type, if the schema takes no string.
fn from_text(property: &Schema<'_>, text: String) -> Value {
    let plain = text.trim().to_lowercase();
    if property.takes("boolean") {
        match plain.as_str() {
            "true" | "yes" | "y" | "on" | "1" => return Value::Bool(true),
            "false" | "no" | "n" | "off" | "0" | "" | "null" | "none" => return Value::Bool(false),
            _ => {}
        }
    }
    if property.takes_number() {
        if let Ok(number) = plain.parse::<i64>() {
            return Value::from(number);
        }
        if plain.is_empty() || plain == "null" || plain == "none" {
            return Value::Null;
        }
    }
    if property.takes("array") || property.takes("object") {
        let read = super::json::read(&text).ok().filter(|found| !found.unclosed);
        match read.map(|found| found.values) {
            Some(values) if property.takes("object") && values.len() == 1 => {
                return values.into_iter().next().unwrap_or_default();
            }
            Some(values) if values.iter().all(Value::is_object) => return Value::Array(values),
            Some(values) if values.len() == 1 && values[0].is_array() => {
                return values.into_iter().next().unwrap_or_default();
            }
            _ => {}
        }
    }
    Value::String(text)
}

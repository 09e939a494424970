//! What is known of a service, and of each function of it.

use crate::{
    auth::{Field, Scheme},
    names::{alike, function_name, tool_name},
};
use agent::ToolSpec;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// A service: where it is, how it knows who calls, and what it can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Integration {
    /// What it is called in functions, settings and secrets: `a`-`z`, `0`-`9` and single underscores.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it is.
    pub description: String,
    /// Where its description comes from.
    pub origin: Origin,
    /// Its address, without a slash at the end; an account may name another. Where it is `None`, an account has to.
    pub base_url: Option<String>,
    /// Whether the user said that its address is on this machine or in a private network.
    pub local: bool,
    /// How it knows who calls, by the names that functions refer to.
    pub schemes: BTreeMap<String, Scheme>,
    /// What an account has beside what the schemes need.
    pub settings: Vec<Field>,
    /// What it can do, by name.
    pub functions: BTreeMap<String, Arc<Function>>,
    /// Operations that cannot be called, and why: uploads, mostly.
    pub left_out: Vec<String>,
}

/// Where the description of a service comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is built in, and was last held against the service's own description in this month.
    BuiltIn {
        /// The month, as `2026-11`.
        checked: String,
    },
    /// The user added it.
    Added {
        /// The file or the address that it was added from.
        source: String,
    },
}

/// Something a service can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The integration.
    pub provider: String,
    /// Its name there.
    pub name: String,
    /// What its document calls it, where it has an id there.
    pub operation_id: Option<String>,
    /// A few words.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Whether it changes anything.
    pub operation: Operation,
    /// `GET`, `POST`, …
    pub method: String,
    /// The path below the address, with `{NAME}` for each part that is given and `{+NAME}` for one that may have slashes.
    pub path: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// How its body is written.
    pub written: Written,
    /// Sets of schemes, any one of which it takes; an empty set is none at all. Nothing is asked for where there is no set.
    pub security: Vec<Vec<String>>,
    /// How more of a long answer is had.
    pub pages: Option<Pages>,
    /// What is sent along always.
    pub headers: Vec<(String, String)>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Written {
    /// As JSON.
    #[default]
    Json,
    /// As a form: `a=1&b=2`.
    Form,
    /// In parts (`multipart/form-data`), some of which may be files.
    Parts,
}

/// Whether something is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing is changed.
    Read,
    /// Something may be.
    Write,
}

/// One thing that a function takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// What callers call it.
    pub key: String,
    /// What the service calls it.
    pub name: String,
    /// Where it goes.
    pub place: Place,
    /// Whether the function cannot do without.
    pub required: bool,
    /// JSON Schema of its value.
    pub schema: Value,
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Into the path.
    Path,
    /// Into the query.
    Query(Style),
    /// Into a header.
    Header,
    /// Into the body, as a member.
    Member,
    /// It is the body.
    Body,
    /// Into the body, as files: the value is a path, or a list of them. The schema may say the type
    /// of what is in them as `contentMediaType`.
    File,
}

/// How a list or an object is written into a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `a=1&a=2`.
    Repeated,
    /// `a=1,2`; with another separator where that is not a comma.
    Joined(char),
    /// `a[b]=1`.
    Deep,
    /// `a[]=1&a[]=2`.
    Bracketed,
    /// As JSON.
    Json,
}

/// How more of a long answer is had. Places in an answer are JSON pointers; the empty one is all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pages {
    /// The answer has the address of the next page: in the header `Link`, or where the pointer says.
    Next {
        /// Where the address is; `None` is the header.
        at: Option<String>,
        /// Where the items are.
        items: String,
    },
    /// Pages are counted by a parameter of the query.
    Number {
        /// The parameter.
        parameter: String,
        /// The number of the first one.
        first: u64,
        /// Where the items are.
        items: String,
    },
    /// The answer has what the next request must say.
    Cursor {
        /// The parameter of the query that says it.
        parameter: String,
        /// Where it is.
        at: String,
        /// Where it is said whether there are more, if that is said.
        more: Option<String>,
        /// Where the items are.
        items: String,
    },
}

/// The parameter that callers ask for all pages with.
pub(crate) const ALL_PAGES: &str = "all_pages";

impl Integration {
    /// Every field that an account can have, each once; those of schemes first.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let own = self.schemes.values().flat_map(Scheme::fields);
        for field in own.chain(self.settings.iter().cloned()) {
            if !fields.iter().any(|known| known.name == field.name) {
                fields.push(field);
            }
        }
        fields
    }

    /// A function by its name, with or without the provider before it.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        let name = name.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
        self.functions.get(name)
    }

    /// The function that was perhaps meant by a name that none has.
    pub fn nearest(&self, name: &str) -> Option<&Arc<Function>> {
        let all = || self.functions.values();
        let spelled = function_name(name);
        let likeness = |function: &&Arc<Function>| strsim::jaro_winkler(&function.name, &spelled);
        let close = || {
            let nearest = all().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            nearest.filter(|function| likeness(function) > 0.85)
        };
        all()
            .find(|function| function.operation_id.as_deref() == Some(name))
            .or_else(|| self.functions.get(&spelled))
            .or_else(|| all().find(|function| alike(&function.name, name)))
            .or_else(|| all().find(|f| f.operation_id.as_ref().is_some_and(|id| alike(id, name))))
            .or_else(close)
    }
}

impl Function {
    /// `provider.function`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.provider, self.name)
    }

    /// What the gate knows it by.
    pub fn tool_name(&self) -> String {
        tool_name(&self.provider, &self.name)
    }

    /// JSON Schema of all that it takes. Parameters that the account fills in are not required.
    pub fn input_schema(&self, filled: &[String]) -> Value {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        for parameter in &self.parameters {
            properties.insert(parameter.key.clone(), parameter.schema.clone());
            if parameter.required && !filled.contains(&parameter.key) {
                required.push(Value::String(parameter.key.clone()));
            }
        }
        if self.pages.is_some() {
            let about = "Follow further pages and return the items of all";
            properties
                .insert(ALL_PAGES.to_owned(), serde_json::json!({ "type": "boolean", "description": about }));
        }
        let mut schema = serde_json::json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        schema
    }

    /// What models are told of it.
    pub fn spec(&self, filled: &[String]) -> ToolSpec {
        let mut description = self.description.clone();
        if description.is_empty() {
            description.clone_from(&self.title);
        }
        if description.is_empty() {
            description = format!("{} {}", self.method, self.path);
        }
        ToolSpec { name: self.tool_name(), description, parameters: self.input_schema(filled) }
    }

    /// Whether the request may be made a second time without doing a second thing.
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS")
    }
}

impl Operation {
    /// What a method does, as long as nobody says otherwise.
    pub(crate) fn of_method(method: &str) -> Self {
        match method {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" => Self::Read,
            _ => Self::Write,
        }
    }

    /// Its word.
    pub fn id(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

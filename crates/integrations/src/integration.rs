//! The description of a service and of its functions.

use crate::{
    auth::{Field, Scheme},
    names::{function_name, is_same_name, tool_name},
};
use agent::ToolSpec;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::AbsPath;

/// A service: its address, authentication and functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Integration {
    /// The name in functions, settings and secrets: `a`-`z`, `0`-`9` and single underscores.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// A description of the service.
    pub description: String,
    /// The source of this description.
    pub origin: Origin,
    /// The address of the service.
    pub address: Address,
    /// What accounts contain.
    pub auth: Auth,
    /// The functions, by name.
    pub functions: BTreeMap<String, Arc<Function>>,
    /// Operations that cannot be called, each with the reason.
    pub left_out: Vec<String>,
}

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The base URL without a trailing slash, which an account may override. If `None`, an account
    /// must set it.
    pub base_url: Option<String>,
    /// Whether the user declared the address to be on this machine or in a private network.
    pub local: bool,
}

/// What the accounts of a service contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// The authentication schemes, by the names that functions refer to.
    pub schemes: BTreeMap<String, Scheme>,
    /// Fields of an account in addition to those of the schemes.
    pub settings: Vec<Field>,
}

/// The source of a service's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is built in.
    BuiltIn {
        /// The month in which it was last compared with the service's documentation, as `2026-11`.
        checked: String,
    },
    /// The user added it.
    Added {
        /// The file or URL that it was added from.
        source: String,
    },
}

/// A function of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name of its integration.
    pub provider: String,
    /// The name within the integration.
    pub name: String,
    /// The operation's id in the OpenAPI document, if it has one.
    pub operation_id: Option<String>,
    /// A short title.
    pub title: String,
    /// A description.
    pub description: String,
    /// Whether it changes anything.
    pub operation: Operation,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// How it is called over HTTP.
    pub endpoint: Endpoint,
}

/// How a function is called over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// The HTTP method: `GET`, `POST`, …
    pub method: String,
    /// The path below the base URL, with `{NAME}` for parameters and `{+NAME}` for those that may
    /// contain slashes.
    pub path: String,
    /// The encoding of the request body.
    pub body_encoding: BodyEncoding,
    /// Alternative sets of authentication schemes; an empty set permits anonymous calls. Without
    /// any set the function needs no authentication.
    pub security: Vec<Vec<String>>,
    /// The pagination of long responses.
    pub pages: Option<Pages>,
    /// Headers that are always sent.
    pub headers: Vec<(String, String)>,
}

/// The encoding of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyEncoding {
    /// JSON.
    #[default]
    Json,
    /// A form: `a=1&b=2`.
    Form,
    /// Parts (`multipart/form-data`), some of which may be files.
    Parts,
}

/// Whether a function changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It changes nothing.
    Read,
    /// It may change something.
    Write,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name for callers.
    pub key: String,
    /// The service's name for it.
    pub name: String,
    /// Its place in the request.
    pub place: Place,
    /// Whether it is required.
    pub required: bool,
    /// The JSON Schema of its value.
    pub schema: Value,
}

/// The place of a parameter in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A segment of the path.
    Path,
    /// The query.
    Query(Style),
    /// A header.
    Header,
    /// A member of the body.
    Member,
    /// The whole body.
    Body,
    /// A file part of the body: the value is a path or a list of paths. `contentMediaType` in the
    /// schema may set the media type.
    File,
}

/// The encoding of a list or an object in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `a=1&a=2`.
    Repeated,
    /// `a=1,2`, or with another separator.
    Joined(char),
    /// `a[b]=1`.
    Deep,
    /// `a[]=1&a[]=2`.
    Bracketed,
    /// As JSON text.
    Json,
}

/// The pagination of a long response. Locations in a response are JSON pointers; the empty one is
/// the whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pages {
    /// The response contains the URL of the next page.
    Next {
        /// The location of the URL; `None` for the `Link` header.
        at: Option<String>,
        /// The location of the items.
        items: String,
    },
    /// A query parameter counts the pages.
    Number {
        /// The parameter's name.
        parameter: String,
        /// The number of the first page.
        first: u64,
        /// The location of the items.
        items: String,
    },
    /// The response contains a cursor for the next request.
    Cursor {
        /// The query parameter for the cursor.
        parameter: String,
        /// The location of the cursor.
        at: String,
        /// The location of a flag that there are more items, if there is one.
        more: Option<String>,
        /// The location of the items.
        items: String,
    },
}

/// The parameter by which callers request all pages.
pub(crate) const ALL_PAGES: &str = "all_pages";

impl Integration {
    /// Returns every field that an account can have, without duplicates, those of schemes first.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let own = self.auth.schemes.values().flat_map(Scheme::fields);
        for field in own.chain(self.auth.settings.iter().cloned()) {
            if !fields.iter().any(|known| known.name == field.name) {
                fields.push(field);
            }
        }
        fields
    }

    /// Returns a function by its name, with or without the provider as prefix.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        let name = name.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
        self.functions.get(name)
    }

    /// Returns whether at least one set of authentication schemes is supported.
    pub fn is_runnable(&self, function: &Function) -> bool {
        let supported =
            |name: &String| self.auth.schemes.get(name).is_some_and(|scheme| scheme.is_supported());
        let sets = &function.endpoint.security;
        sets.is_empty() || sets.iter().any(|set| set.iter().all(supported))
    }

    /// Returns whether accounts can fill a parameter of this name.
    pub fn can_fill(&self, parameter: &str) -> bool {
        self.auth.settings.iter().any(|field| field.name == parameter)
    }

    /// Returns the function that an unknown name probably means.
    pub fn nearest(&self, name: &str) -> Option<&Arc<Function>> {
        let all = || self.functions.values();
        let spelled = function_name(name);
        let close = || agent::closest(&spelled, all(), |function| &function.name);
        all()
            .find(|function| function.operation_id.as_deref() == Some(name))
            .or_else(|| self.functions.get(&spelled))
            .or_else(|| all().find(|function| is_same_name(&function.name, name)))
            .or_else(|| all().find(|f| f.operation_id.as_ref().is_some_and(|id| is_same_name(id, name))))
            .or_else(close)
    }
}

impl Function {
    /// Returns `provider.function`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.provider, self.name)
    }

    /// Returns the name for models and the permission gate.
    pub fn tool_name(&self) -> String {
        tool_name(&self.provider, &self.name)
    }

    /// Returns the JSON Schema of all parameters. Those in `filled` come from the account and are
    /// not required.
    pub fn input_schema(&self, filled: &[String]) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for parameter in &self.parameters {
            properties.insert(parameter.key.clone(), parameter.schema.clone());
            if parameter.required && !filled.contains(&parameter.key) {
                required.push(Value::String(parameter.key.clone()));
            }
        }
        if self.endpoint.pages.is_some() {
            let about = "Follow further pages and return the items of all";
            properties.insert(ALL_PAGES.to_owned(), json!({ "type": "boolean", "description": about }));
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        schema
    }

    /// Returns the tool specification for models.
    pub fn spec(&self, filled: &[String]) -> ToolSpec {
        let mut description = self.description.clone();
        if description.is_empty() {
            description.clone_from(&self.title);
        }
        if description.is_empty() {
            description = format!("{} {}", self.endpoint.method, self.endpoint.path);
        }
        ToolSpec { name: self.tool_name(), description, parameters: self.input_schema(filled) }
    }

    /// Returns the paths of the files that a call with these arguments sends, with symbolic links
    /// unresolved.
    pub fn files(&self, arguments: &Map<String, Value>, cwd: &AbsPath) -> Vec<AbsPath> {
        let files = self.file_parameters().flat_map(|parameter| parameter.paths(arguments));
        files.map(|path| cwd.join(path)).collect()
    }

    /// Returns the parameters whose values are paths of files.
    pub(crate) fn file_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.place == Place::File)
    }

    /// Returns whether repeating the request has no further effect.
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.endpoint.method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS")
    }
}

impl Parameter {
    /// Returns the paths in the parameter's argument: a text, or a list of texts.
    pub(crate) fn paths<'a>(
        &self,
        arguments: &'a Map<String, Value>,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let (one, many) = match arguments.get(&self.key) {
            Some(Value::String(path)) => (Some(path.as_str()), None),
            Some(Value::Array(paths)) => (None, Some(paths)),
            _ => (None, None),
        };
        one.into_iter().chain(many.into_iter().flatten().filter_map(Value::as_str))
    }
}

impl Operation {
    /// Returns the default classification of an HTTP method.
    pub(crate) fn from_method(method: &str) -> Self {
        match method {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" => Self::Read,
            _ => Self::Write,
        }
    }

    /// Returns the identifier.
    pub fn id(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

//! A document as a whole: its version, references and base URL.

use crate::limits::REFERENCE_STEPS;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The reason why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It begins like JSON, but cannot be parsed.
    #[error("the document is not valid JSON ({0}); correct it")]
    NoJson(String),
    /// It is no valid YAML.
    #[error("the document is neither JSON nor YAML ({0}); correct it")]
    NoYaml(String),
    /// It is no OpenAPI document, or one of another version.
    #[error("the document is not OpenAPI 3.0 or 3.1 ({0}); convert it first")]
    Version(String),
    /// It has no callable operation.
    #[error("the document has no operation that can be called")]
    Empty,
}

/// A document whose references can be resolved.
pub(super) struct Document<'a>(&'a Value);

impl<'a> Document<'a> {
    pub(super) fn new(value: &'a Value) -> Result<Self, DocumentError> {
        let version = value["openapi"].as_str();
        match (version, value["swagger"].as_str()) {
            (Some(version), _) if version.starts_with("3.") => Ok(Self(value)),
            (Some(version), _) => Err(DocumentError::Version(format!("it declares {version}"))),
            (None, Some(version)) => Err(DocumentError::Version(format!("it declares Swagger {version}"))),
            (None, None) => Err(DocumentError::Version("it declares no version".to_owned())),
        }
    }

    pub(super) fn root(&self) -> &'a Value {
        self.0
    }

    /// Resolves references of a value. Returns `None` if one leads outside the document, to
    /// nothing, or in a circle.
    pub(super) fn resolved(&self, value: &'a Value) -> Option<&'a Value> {
        let mut value = value;
        for _ in 0..REFERENCE_STEPS {
            match value.get("$ref").and_then(Value::as_str) {
                None => return Some(value),
                Some(reference) => value = self.at(reference)?,
            }
        }
        None
    }

    /// Returns the target of a reference.
    pub(super) fn at(&self, reference: &str) -> Option<&'a Value> {
        // A reference is the fragment of a URL.
        let pointer = percent_decode_str(reference.strip_prefix('#')?);
        self.0.pointer(&pointer.decode_utf8_lossy())
    }

    /// Returns the first server's URL. A relative URL is ignored.
    pub(super) fn base_url(&self) -> Option<String> {
        let server = self.0["servers"].as_array()?.first()?;
        let mut url = server["url"].as_str()?.trim().to_owned();
        for (name, variable) in server["variables"].as_object().into_iter().flatten() {
            url = url.replace(&format!("{{{name}}}"), variable["default"].as_str().unwrap_or_default());
        }
        let whole = url.starts_with("https://") || url.starts_with("http://");
        (whole && !url.contains(['{', '}'])).then(|| url.trim_end_matches('/').to_owned())
    }
}

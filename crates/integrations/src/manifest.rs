//! The stored settings of an integration that the user added: the source of its document, and
//! corrections to it.

use crate::{
    integration::{Function, Operation, Pages},
    names::integration_name,
    openapi::DocumentError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of the stored format.
const VERSION: u32 = 1;

/// The settings that are stored beside a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the stored format.
    version: u32,
    /// The integration's name.
    pub name: String,
    /// The file or URL that the document was read from.
    pub source: String,
    /// The service's base URL, overriding the document's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whether the service is on this machine or in a private network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
    /// Pagination for every GET function without its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pages: Option<StoredPages>,
    /// Corrections, by function.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, Override>,
}

/// Corrections of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Override {
    /// Whether it changes anything: `read` or `write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<StoredOperation>,
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether to hide the function.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Another description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its pagination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<StoredPages>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOperation {
    Read,
    Write,
}

/// The stored format of [`Pages`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StoredPages {
    Next {
        #[serde(default)]
        at: Option<String>,
        #[serde(default)]
        items: String,
    },
    Number {
        parameter: String,
        #[serde(default = "one")]
        first: u64,
        #[serde(default)]
        items: String,
    },
    Cursor {
        parameter: String,
        at: String,
        #[serde(default)]
        more: Option<String>,
        #[serde(default)]
        items: String,
    },
}

/// The reason why an added integration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The manifest is invalid.
    #[error("the manifest is invalid: {0}")]
    Wrong(String),
    /// The document is invalid.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl Manifest {
    /// Creates a manifest. Fails if the name or the URL is invalid.
    pub fn new(name: &str, source: &str, base_url: Option<&str>, local: bool) -> Result<Self, ManifestError> {
        let name = integration_name(name).ok_or_else(|| {
            ManifestError::Wrong(format!("{name:?} cannot be a name; use letters, digits and underscores"))
        })?;
        let base_url = base_url.map(|url| url.trim_end_matches('/').to_owned());
        let manifest = Self {
            version: VERSION,
            name,
            source: source.to_owned(),
            base_url,
            local,
            pages: None,
            functions: BTreeMap::new(),
        };
        manifest.validated()
    }

    /// Parses the stored format.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self =
            serde_json::from_str(text).map_err(|error| ManifestError::Wrong(error.to_string()))?;
        manifest.validated()
    }

    /// Returns the stored format.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a manifest has nothing but texts, flags and maps of them")
    }

    fn validated(self) -> Result<Self, ManifestError> {
        if self.version != VERSION {
            return Err(ManifestError::Wrong(format!("its version is {}, not {VERSION}", self.version)));
        }
        if integration_name(&self.name).as_ref() != Some(&self.name) {
            return Err(ManifestError::Wrong(format!(
                "{:?} is not a valid name of an integration",
                self.name
            )));
        }
        if let Some(url) = &self.base_url
            && crate::guard::checked_base(url).is_err()
        {
            return Err(ManifestError::Wrong(format!("{url:?} is not a valid http or https URL")));
        }
        Ok(self)
    }

    pub(crate) fn pages(&self) -> Option<Pages> {
        self.pages.clone().map(Pages::from)
    }
}

impl Override {
    pub(crate) fn apply(&self, function: &mut Function) {
        match self.operation {
            Some(StoredOperation::Read) => function.operation = Operation::Read,
            Some(StoredOperation::Write) => function.operation = Operation::Write,
            None => {}
        }
        if let Some(description) = &self.description {
            function.description.clone_from(description);
        }
        if let Some(pages) = &self.pages {
            function.endpoint.pages = Some(pages.clone().into());
        }
    }
}

impl From<StoredPages> for Pages {
    fn from(stored: StoredPages) -> Self {
        match stored {
            StoredPages::Next { at, items } => Self::Next { at, items },
            StoredPages::Number { parameter, first, items } => Self::Number { parameter, first, items },
            StoredPages::Cursor { parameter, at, more, items } => Self::Cursor { parameter, at, more, items },
        }
    }
}

fn one() -> u64 {
    1
}

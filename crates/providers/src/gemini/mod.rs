//! Google's Gemini API: `models.streamGenerateContent` (Google, "Generating content").

mod request;
mod schema;
mod stream;

use crate::{http::Endpoint, limits::LISTED_MODELS, wire_format::WireFormat};
use agent::ModelError;

/// The API version for base URLs that contain none.
const VERSION: &str = "v1beta";

/// The key under which parts of an answer are stored, to be sent back byte for byte. They may
/// contain a thought signature, which the model requires back in its place (Google, "Thought
/// signatures").
const WIRE: &str = "gemini";

/// The wire format.
pub(crate) static FORMAT: WireFormat = WireFormat {
    endpoint,
    list,
    authorize: |endpoint, key| endpoint.key("x-goog-api-key", key),
    options: request::OPTIONS,
    body: request::body,
    fold: || Box::<stream::GeminiFold>::default(),
};

/// Returns the endpoint of a model. The base URL may contain the version or not.
fn endpoint(base_url: &str, model: &str) -> Result<Endpoint, ModelError> {
    let name = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    Endpoint::below(base_url, VERSION, &format!("{name}:streamGenerateContent"), "alt=sse")
}

/// Returns the endpoint of the list of models. Without a page size, a page has 50 models.
fn list(base_url: &str) -> Result<Endpoint, ModelError> {
    Endpoint::below(base_url, VERSION, "models", &format!("pageSize={LISTED_MODELS}"))
}

/// Returns the major and minor version of a model, from a name such as `gemini-2.5-flash`. A Gemini
/// name without a version, such as `gemini-flash-latest`, counts as the newest; other names have
/// none.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.rsplit_once("gemini-")?;
    let version = name.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().unwrap_or(u32::MAX), minor.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_works_with_and_without_its_version() {
        let path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
        for base in ["http://h:1", "http://h:1/", "http://h:1/v1beta", "http://h:1/v1beta/"] {
            let endpoint = endpoint(base, "gemini-3-pro").unwrap();
            assert_eq!(endpoint.url.as_str(), format!("http://h:1{path}"), "{base}");
            let list = list(base).unwrap();
            assert_eq!(list.url.as_str(), "http://h:1/v1beta/models?pageSize=200", "{base}");
        }
        let other = endpoint("https://h/google/v1?x=1", "tunedModels/mine").unwrap();
        assert_eq!(
            other.url.as_str(),
            "https://h/google/v1/tunedModels/mine:streamGenerateContent?x=1&alt=sse"
        );
        assert!(!other.shown().contains("x=1"));
    }

    #[test]
    fn names_have_versions() {
        for (model, expected) in [
            ("gemini-2.5-flash", Some((2, 5))),
            ("gemini-3-pro-preview", Some((3, 0))),
            ("models/gemini-3.8-flash", Some((3, 8))),
            ("gemini-flash-latest", Some((u32::MAX, 0))),
            ("gemma-3-27b-it", None),
        ] {
            assert_eq!(version(model), expected, "{model}");
        }
    }
}

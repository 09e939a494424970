//! What a prompt brings beside its text: images, and texts from files.

use crate::{
    answer::{Failure, Kind},
    environment,
    failure::usage,
    images, limits,
};
use agent::Content;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;
use system::{AbsPath, System};
use tui::driver::reply::Attachment;

/// Returns a text that was given, or the content of the file after `@`.
///
/// # Errors
/// If the file cannot be read.
pub(crate) async fn text(system: &dyn System, cwd: &AbsPath, flag: &str, given: String) -> Result<String> {
    let Some(path) = given.strip_prefix('@') else { return Ok(given) };
    let path = environment::absolute(cwd, Path::new(path))?;
    environment::check_file(flag, &path)?;
    let text = system.read_text(&path, None).await.with_context(|| format!("{flag} {path}"))?;
    Ok(text.trim_end().to_owned())
}

/// Reads an image.
///
/// # Errors
/// If the file cannot be read, is too large, or is not an image that models accept.
pub(crate) async fn image(system: &dyn System, cwd: &AbsPath, given: &Path) -> Result<Attachment> {
    let path = environment::absolute(cwd, given)?;
    environment::check_file("--image", &path)?;
    let bytes = system.read(&path).await.with_context(|| format!("--image {path}"))?;
    images::recognised(&bytes).map_err(|fault| usage(format!("--image {path} cannot be sent: {fault}")))
}

/// Returns an image as a part of a prompt.
pub(crate) fn content(image: Attachment) -> Content {
    Content::Image { mime_type: image.mime_type, data: image.data }
}

/// The JSON Schema of an answer.
#[derive(Debug)]
pub(crate) struct AnswerSchema {
    pub(crate) schema: Value,
    validator: jsonschema::Validator,
}

impl AnswerSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// If the file cannot be read, or is no JSON Schema of an object.
    pub(crate) async fn read(system: &dyn System, cwd: &AbsPath, given: &Path) -> Result<Self> {
        let path = environment::absolute(cwd, given)?;
        environment::check_file("--output-schema", &path)?;
        let text = system.read_text(&path, None).await.with_context(|| format!("--output-schema {path}"))?;
        let schema: Value =
            serde_json::from_str(&text).map_err(|error| usage(format!("--output-schema {path}: {error}")))?;
        Self::of(schema).map_err(|why| usage(format!("--output-schema {path}: {why}")))
    }

    fn of(schema: Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("a JSON Schema is an object".to_owned());
        }
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        Ok(Self { schema, validator })
    }

    /// Returns the instruction that the model gets.
    pub(crate) fn instruction(&self) -> String {
        format!(
            "Your last message of this turn is read by a program: it must be one JSON value that this JSON Schema describes, and \
             nothing else, without a code fence.\n\n{}",
            self.schema
        )
    }

    /// Parses an answer.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub(crate) fn parse(&self, answer: &str) -> Result<Value, String> {
        let text = answer.trim();
        // Some models cannot leave out the fence.
        let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
        let text = fenced.map_or(text, |text| text.trim_start_matches("json").trim());
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not one JSON value: {error}"))?;
        let wrong: Vec<_> = self
            .validator
            .iter_errors(&value)
            .take(limits::SCHEMA_ERRORS)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        if wrong.is_empty() { Ok(value) } else { Err(wrong.join("; ")) }
    }

    /// Returns the failure of a run whose answer does not follow the schema.
    pub(crate) fn failure(why: &str) -> Failure {
        Failure::new(
            Kind::Provider,
            format!("the answer does not follow the schema of --output-schema: {why}"),
        )
        .hint("the model was asked to correct it once; another model may do better")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_parsed_and_checked_against_its_schema() {
        let schema = json!({
            "type": "object", "required": ["count"], "properties": { "count": { "type": "integer" } }
        });
        let schema = AnswerSchema::of(schema).unwrap();
        assert_eq!(schema.parse("{\"count\": 3}\n"), Ok(json!({ "count": 3 })));
        assert_eq!(schema.parse("```json\n{\"count\": 3}\n```"), Ok(json!({ "count": 3 })));
        for (answer, says) in [
            ("three", "not one JSON value"),
            ("{\"count\": \"three\"}", "/count"),
            ("{}", "count"),
            ("{\"count\": 3} and more", "not one JSON value"),
        ] {
            let why = schema.parse(answer).unwrap_err();
            assert!(why.contains(says), "{answer}: {why}");
        }
        assert!(AnswerSchema::of(json!([1])).is_err());
        assert!(AnswerSchema::of(json!({ "type": 7 })).is_err());
    }
}

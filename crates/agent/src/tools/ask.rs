//! `ask_user`, and the contract's `ask_choice`: questions that only the user can answer.

use super::args;
use crate::{
    Access, Choice, Description, Effect, Question, QuestionOutcome, Tool, ToolContext, ToolError, ToolKind,
    ToolOutput,
    limits::{CHOICES, QUESTION_TITLE_CHARS},
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use system::AbsPath;

/// Asks the user for free text or for one of several answers.
#[derive(Debug, Deserialize)]
pub(super) struct AskUser {
    question: String,
    /// A list, or a list as JSON in a string; absent for free text.
    #[serde(default, alias = "options")]
    choices: Value,
}

/// Asks the user for one of several answers.
#[derive(Debug, Deserialize)]
pub(super) struct AskChoice {
    question: String,
    /// A list, or a list as JSON in a string.
    choices: Value,
}

#[async_trait]
impl Tool for AskUser {
    const NAME: &'static str = "ask_user";
    const DESCRIPTION: &'static str = "Asks the user a question and waits. Only for what you cannot find out yourself and cannot go on without.";
    const EFFECT: Effect = Effect::Session;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "choices": {"type": "array", "description": "Answers to choose from, if there are only a few", "items": {"type": "string"}}
            },
            "required": ["question"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        describe(&self.question)
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let none = match &self.choices {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::String(text) => text.trim().is_empty(),
            _ => false,
        };
        let choices = if none { Vec::new() } else { choices(&self.choices)? };
        ask(cx, &self.question, choices).await
    }
}

#[async_trait]
impl Tool for AskChoice {
    const NAME: &'static str = "ask_choice";
    const DESCRIPTION: &'static str = "Lets the user choose one of several answers to a question and waits for it. Use it when there are a few ways to go on that only the user can decide between.";
    const EFFECT: Effect = Effect::Session;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "The question, whole and clear by itself"},
                "choices": {
                    "type": "array",
                    "description": "The answers to choose from",
                    "items": {
                        "type": "object",
                        "properties": {
                            "label": {"type": "string", "description": "The answer, in a few words"},
                            "detail": {"type": "string", "description": "What it means"},
                            "recommended": {"type": "boolean", "description": "Whether you would choose it"}
                        },
                        "required": ["label"]
                    }
                }
            },
            "required": ["question", "choices"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        describe(&self.question)
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let choices = choices(&self.choices)?;
        ask(cx, &self.question, choices).await
    }
}

async fn ask(cx: &ToolContext, text: &str, choices: Vec<Choice>) -> Result<ToolOutput, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::message("The question is empty; say what you want to know."));
    }
    let question = Question { id: cx.call.id.clone(), text: crate::sanitise(text), choices };
    let outcome = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
        outcome = cx.user.ask(question) => outcome,
    };
    match outcome {
        QuestionOutcome::Answered(answer) => Ok(ToolOutput::text(answer)),
        QuestionOutcome::Dismissed => Ok(ToolOutput::text(
            "The user dismissed the question. Go on with what you think best, or stop and say what you need.",
        )),
        QuestionOutcome::Unavailable => Err(ToolError::message(
            "No user can be asked here. Go on with what you think best, and say what you assumed.",
        )),
    }
}

/// Parses the choices: objects or plain strings, in a list or in a string of JSON.
fn choices(given: &Value) -> Result<Vec<Choice>, ToolError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Label(String),
        Whole {
            label: String,
            detail: Option<String>,
            #[serde(default)]
            recommended: bool,
        },
    }
    let wrong = |what: &str| {
        ToolError::message(format!(
            "Invalid 'choices': {what}. Pass 2 to {CHOICES} of {{\"label\", \"detail\"?, \"recommended\"?}}, each with another label."
        ))
    };
    let parsed: Result<Vec<Given>, _> = match given {
        Value::String(text) => serde_json::from_str(text),
        list => serde_json::from_value(list.clone()),
    };
    let choices: Vec<_> = parsed
        .map_err(|error| wrong(&error.to_string()))?
        .into_iter()
        .map(|given| match given {
            Given::Label(label) => Choice { label: crate::sanitise(&label), ..Choice::default() },
            Given::Whole { label, detail, recommended } => Choice {
                label: crate::sanitise(&label),
                detail: detail.map(|detail| crate::sanitise(&detail)),
                recommended,
            },
        })
        .collect();
    let labels: HashSet<_> = choices.iter().map(|choice| choice.label.trim()).collect();
    match () {
        () if !(2..=CHOICES).contains(&choices.len()) => Err(wrong(&format!("{} of them", choices.len()))),
        () if labels.len() < choices.len() => Err(wrong("two have the same label")),
        () if labels.contains("") => Err(wrong("a label is empty")),
        () => Ok(choices),
    }
}

fn describe(question: &str) -> Description {
    let line = question.lines().next().unwrap_or_default();
    let title = format!("Ask: {}", line.chars().take(QUESTION_TITLE_CHARS).collect::<String>());
    Description { title, kind: ToolKind::Other, locations: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_choices_that_models_send() {
        let two = |first: Choice| vec![first, Choice { label: "b".to_owned(), ..Choice::default() }];
        let plain = two(Choice { label: "a".to_owned(), ..Choice::default() });
        assert_eq!(choices(&json!(["a", "b"])).unwrap(), plain);
        assert_eq!(choices(&json!("[\"a\", {\"label\": \"b\"}]")).unwrap(), plain);
        let whole = Choice { label: "a".to_owned(), detail: Some("d".to_owned()), recommended: true };
        let given = json!([{"label": "a", "detail": "d", "recommended": true}, {"label": "b"}]);
        assert_eq!(choices(&given).unwrap(), two(whole));
        for wrong in [json!([]), json!(["a"]), json!(["a", "a"]), json!(["a", " "]), json!({}), json!("x")] {
            let error = choices(&wrong).unwrap_err().to_string();
            assert!(error.contains("Invalid 'choices'"), "{wrong}: {error}");
        }
    }
}

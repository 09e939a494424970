//! Asks the user a question by a form with one field. The form is the same in all protocol
//! versions.

use agent::{Choice, Question, QuestionOutcome, SessionId};
use agent_client_protocol::{Client, ConnectionTo, Error, UntypedMessage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const METHOD: &str = "elicitation/create";
/// The only field of the form.
const FIELD: &str = "answer";

/// Sends a question to the client and waits for the answer. `A` is the version's type of answers.
///
/// # Errors
/// When the client rejects the request, disconnects, or sends something other than an `A`.
pub(super) async fn ask<A: Serialize + DeserializeOwned>(
    connection: &ConnectionTo<Client>,
    session: &SessionId,
    question: &Question,
) -> Result<QuestionOutcome, Error> {
    let request = UntypedMessage::new(METHOD, form(session, question))?;
    let answer = connection.send_request(request).block_task().await?;
    outcome::<A>(answer, question)
}

/// Creates the form of a question: free text, or one of the choices.
fn form(session: &SessionId, question: &Question) -> Value {
    let mut field = json!({ "type": "string", "title": "Answer" });
    if let Some(recommended) = question.choices.iter().find(|choice| choice.recommended) {
        field["default"] = json!(recommended.label);
    }
    if !question.choices.is_empty() {
        field["oneOf"] = question.choices.iter().map(option).collect();
    }
    json!({
        "mode": "form",
        "sessionId": session.as_str(),
        "toolCallId": question.id.as_str(),
        "requestedSchema": { "type": "object", "properties": { FIELD: field }, "required": [FIELD] },
        "message": question.text,
    })
}

fn option(choice: &Choice) -> Value {
    let mut option = json!({ "const": choice.label, "title": choice.label });
    if let Some(detail) = &choice.detail {
        option["description"] = json!(detail);
    }
    option
}

/// Converts the client's answer. A form that was accepted without text, or with text that is not
/// among the choices, dismisses the question.
fn outcome<A: Serialize + DeserializeOwned>(
    answer: Value,
    question: &Question,
) -> Result<QuestionOutcome, Error> {
    // The version's type decides what is an answer, and leaves out what it cannot read.
    let answer = serde_json::to_value(serde_json::from_value::<A>(answer)?)?;
    if answer["action"] != "accept" {
        return Ok(QuestionOutcome::Dismissed);
    }
    let text = answer["content"][FIELD].as_str();
    Ok(match text {
        Some(text) if question.choices.is_empty() || question.choices.iter().any(|c| c.label == text) => {
            QuestionOutcome::Answered(text.to_owned())
        }
        other => {
            tracing::warn!(?other, "the client accepted a form without a valid answer");
            QuestionOutcome::Dismissed
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Choice;
    use agent_client_protocol::v1::schema as v1;
    use agent_client_protocol_schema::v2;

    fn question(choices: &[&str]) -> Question {
        let choices = choices.iter().map(|label| Choice { label: (*label).to_owned(), ..Choice::default() });
        Question { id: "tool_0".into(), text: "Which?".to_owned(), choices: choices.collect() }
    }

    #[test]
    fn a_form_has_one_field() {
        let mut asked = question(&["a", "b"]);
        asked.choices[1].recommended = true;
        let value = form(&"s".into(), &asked);
        assert_eq!((&value["mode"], &value["message"]), (&json!("form"), &json!("Which?")));
        assert_eq!((&value["sessionId"], &value["toolCallId"]), (&json!("s"), &json!("tool_0")));
        let field = &value["requestedSchema"]["properties"]["answer"];
        assert_eq!((&field["oneOf"][0]["const"], &field["default"]), (&json!("a"), &json!("b")));
        assert_eq!(value["requestedSchema"]["required"], json!(["answer"]));
        let value = form(&"s".into(), &question(&[]));
        assert_eq!(value["requestedSchema"]["properties"]["answer"].get("oneOf"), None);
    }

    #[test]
    fn a_form_is_a_request_of_each_version() {
        let mut asked = question(&["a", "b"]);
        asked.choices[0].detail = Some("the first".to_owned());
        asked.choices[1].recommended = true;
        for asked in [asked, question(&[])] {
            let form = form(&"s".into(), &asked);
            assert_eq!(written_as::<v1::CreateElicitationRequest>(&form), form.to_string());
            assert_eq!(written_as::<v2::CreateElicitationRequest>(&form), form.to_string());
        }
    }

    fn written_as<T: DeserializeOwned + Serialize>(form: &Value) -> String {
        serde_json::to_string(&serde_json::from_value::<T>(form.clone()).unwrap()).unwrap()
    }

    #[test]
    fn only_offered_choices_are_accepted() {
        let check = |answer: Value, choices: &[&str], expected: QuestionOutcome| {
            let question = question(choices);
            let read = outcome::<v1::CreateElicitationResponse>(answer.clone(), &question);
            assert_eq!(read.unwrap(), expected, "{answer}");
            assert_eq!(outcome::<v2::CreateElicitationResponse>(answer, &question).unwrap(), expected);
        };
        let accept = |answer: Value| json!({"action": "accept", "content": {"answer": answer}});
        let answered = |text: &str| QuestionOutcome::Answered(text.to_owned());
        check(accept(json!("any text")), &[], answered("any text"));
        check(accept(json!("a")), &["a", "b"], answered("a"));
        check(accept(json!("c")), &["a", "b"], QuestionOutcome::Dismissed);
        check(accept(json!(7)), &[], QuestionOutcome::Dismissed);
        check(json!({"action": "accept"}), &[], QuestionOutcome::Dismissed);
        check(json!({"action": "decline"}), &[], QuestionOutcome::Dismissed);
        check(json!({"action": "cancel"}), &[], QuestionOutcome::Dismissed);
        check(json!({"action": "_later"}), &[], QuestionOutcome::Dismissed);
        for unreadable in [json!(null), json!({}), json!({"action": 7})] {
            let read = outcome::<v1::CreateElicitationResponse>(unreadable.clone(), &question(&[]));
            assert!(read.is_err(), "{unreadable}");
        }
    }
}

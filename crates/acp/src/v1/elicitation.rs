//! Converts a question for the user to a form with one field.

use crate::connection::answers::{FIELD, question_outcome};
use agent::{Question, QuestionOutcome, SessionId};
use agent_client_protocol::v1::schema as acp;

/// Creates the form of a question: free text, or one of the choices.
pub(crate) fn request(session: &SessionId, question: &Question) -> acp::CreateElicitationRequest {
    let field = acp::StringPropertySchema::new().title("Answer".to_owned());
    let field = if question.choices.is_empty() {
        field
    } else {
        let recommended = question.choices.iter().find(|choice| choice.recommended);
        let options = question.choices.iter().map(|choice| {
            acp::EnumOption::new(choice.label.clone(), choice.label.clone())
                .description(choice.detail.clone())
        });
        field
            .one_of(options.collect::<Vec<_>>())
            .default_value(recommended.map(|choice| choice.label.clone()))
    };
    let scope = acp::ElicitationSessionScope::new(session.as_str().to_owned())
        .tool_call_id(acp::ToolCallId::new(question.id.as_str()));
    let schema = acp::ElicitationSchema::new().property(FIELD, field, true);
    acp::CreateElicitationRequest::new(acp::ElicitationFormMode::new(scope, schema), question.text.clone())
}

/// Converts the client's response to the form. An answer that is not among the choices dismisses
/// the question.
pub(crate) fn outcome(action: acp::ElicitationAction, question: &Question) -> QuestionOutcome {
    let acp::ElicitationAction::Accept(accepted) = action else { return QuestionOutcome::Dismissed };
    let answer = accepted.content.and_then(|mut content| content.remove(FIELD));
    let text = match answer {
        Some(acp::ElicitationContentValue::String(text)) => Some(text),
        _ => None,
    };
    question_outcome(question, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Choice;
    use serde_json::{Value, json};

    fn question(choices: &[&str]) -> Question {
        let choices = choices.iter().map(|label| Choice { label: (*label).to_owned(), ..Choice::default() });
        Question { id: "tool_0".into(), text: "Which?".to_owned(), choices: choices.collect() }
    }

    #[test]
    fn a_form_has_one_field() {
        let mut asked = question(&["a", "b"]);
        asked.choices[1].recommended = true;
        let value = serde_json::to_value(request(&"s".into(), &asked)).unwrap();
        assert_eq!((&value["mode"], &value["message"]), (&json!("form"), &json!("Which?")));
        assert_eq!((&value["sessionId"], &value["toolCallId"]), (&json!("s"), &json!("tool_0")));
        let field = &value["requestedSchema"]["properties"]["answer"];
        assert_eq!((&field["oneOf"][0]["const"], &field["default"]), (&json!("a"), &json!("b")));
        assert_eq!(value["requestedSchema"]["required"], json!(["answer"]));
        let value = serde_json::to_value(request(&"s".into(), &question(&[]))).unwrap();
        assert_eq!(value["requestedSchema"]["properties"]["answer"].get("oneOf"), None);
    }

    #[test]
    fn only_offered_choices_are_accepted() {
        let check = |response: Value, choices: &[&str], expected: QuestionOutcome| {
            let response: acp::CreateElicitationResponse = serde_json::from_value(response).unwrap();
            assert_eq!(outcome(response.action, &question(choices)), expected);
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
    }
}

//! The id that a client gives a prompt, so that the prompt can be sent again.

use super::errors;
use agent::{Content, NotAPromptId, Prompt, PromptId, SessionHandle};
use agent_client_protocol::Error;
use serde_json::Value;

/// Returns `_meta.tiller.promptId` of a prompt; an error that names it if it is no such id.
pub(crate) fn prompt_id(meta: &Value) -> Result<Option<PromptId>, Error> {
    let given = match meta.pointer("/tiller/promptId") {
        None | Some(Value::Null) => return Ok(None),
        Some(given) => given,
    };
    let id = given.as_str().ok_or(NotAPromptId).and_then(PromptId::new);
    let refused = |why: NotAPromptId| errors::invalid_params(format!("_meta.tiller.promptId: {why}"));
    Ok(Some(id.map_err(refused)?))
}

/// Queues a prompt, or joins the earlier one with its id.
pub(crate) fn start(handle: &SessionHandle, id: Option<PromptId>, content: Vec<Content>) -> Prompt {
    match id {
        Some(id) => handle.start_once(id, content),
        None => handle.start(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_id_is_a_short_text_of_visible_ascii_characters() {
        let read = |given: Value| prompt_id(&json!({ "tiller": { "promptId": given } }));
        assert_eq!(prompt_id(&Value::Null).unwrap(), None);
        assert_eq!(prompt_id(&json!("text")).unwrap(), None);
        assert_eq!(read(Value::Null).unwrap(), None);
        for fine in ["x".to_owned(), "7".repeat(128), "a-b_c.d:e/f+g=~!".to_owned()] {
            assert_eq!(read(json!(fine)).unwrap().unwrap().as_str(), fine);
        }
        for wrong in
            [json!(""), json!("a b"), json!("é"), json!("a\n"), json!("x".repeat(129)), json!(7), json!({})]
        {
            let error = read(wrong.clone()).unwrap_err();
            assert_eq!(i32::from(error.code), -32602, "{wrong}");
            assert!(error.message.contains("_meta.tiller.promptId"), "{}", error.message);
        }
    }
}

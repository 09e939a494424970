use super::*;
use serde_json::json;

/// Whether a call is valid for the test tools, each with one argument.
fn fits(call: &TextCall) -> bool {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    match call.name.as_str() {
        "file_read" | "read_file" | "functions.file_read" | "default_api.file_read" => {
            arguments["path"].is_string()
        }
        "bash" => arguments["command"].is_string(),
        _ => false,
    }
}

fn found(text: &str, forms: CallForms) -> Option<(String, Vec<(String, Value)>)> {
    let TextCalls { begin, calls } = find(text, forms, &fits)?;
    let calls = calls
        .into_iter()
        .map(|call| (call.name, serde_json::from_str(&call.arguments).unwrap_or(json!("broken"))));
    Some((text[..begin].trim().to_owned(), calls.collect()))
}

/// Checks that a text is one `file_read` of `a.py`, with any spelling of the name.
fn reads(text: &str, forms: CallForms) {
    let (before, calls) = found(text, forms).unwrap_or_else(|| panic!("no call: {text}"));
    assert_eq!(before, "", "{text}");
    let [(name, arguments)] = calls.as_slice() else { panic!("{calls:?} in {text}") };
    assert!(name.contains("file_read") || name == "read_file", "{name} in {text}");
    assert_eq!(*arguments, json!({"path": "a.py"}), "{text}");
}

const MARKED: &[&str] = &[
    "<tool_call>\n{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>",
    "<tool_call>{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}",
    "<tool_call>\n{\"name\": \"file_read\", \"arguments\": \"{\\\"path\\\": \\\"a.py\\\"}\"}\n</tool_call><|im_end|>",
    "<tool_call>\n<function=file_read>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>file_read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
    "<tool_calls>\n<tool_call>{'name': 'file_read', 'arguments': {'path': 'a.py'}}</tool_call>\n</tool_calls>",
    "<function_call>{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}</function_call>",
    "<tools>\n{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}\n</tools>",
    "<TOOLCALL>[{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}]</TOOLCALL>",
    "<function=file_read>{\"path\": \"a.py\"}</function>",
    "<function=file_read><parameter=path>a.py</parameter></function>",
    "<function_calls>\n<invoke name=\"file_read\">\n<parameter name=\"path\">a.py</parameter>\n</invoke>\n</function_calls>",
    "<minimax:tool_call>\n<invoke name=\"file_read\">\n<parameter name=\"path\">a.py</parameter>\n</invoke>\n</minimax:tool_call>",
    "<ns:function_calls>\n<ns:invoke name=\"file_read\">\n<ns:parameter name=\"path\">a.py</ns:parameter>\n</ns:invoke>\n</ns:function_calls>",
    "<x-1:invoke name=\"file_read\"><x-1:parameter name=\"path\">a.py</x-1:parameter></x-1:invoke>",
    "<ns:invoke name=\"file_read\">\n<parameter name=\"path\">a.py</ns:parameter>\n</invoke>",
    "<ns:tool_call>{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}</ns:tool_call>",
    "<ns:tool_call>{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}</tool_call>",
    "<ns:function=file_read><ns:parameter=path>a.py</ns:parameter></ns:function>",
    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"file_read\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a.py</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "[TOOL_CALLS][{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}]",
    "[TOOL_CALLS]file_read[ARGS]{\"path\": \"a.py\"}",
    "[TOOL_CALLS]file_read{\"path\": \"a.py\"}</s>",
    "<|tool_call|>[{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}]",
    "<|python_tag|>{\"name\": \"file_read\", \"parameters\": {\"path\": \"a.py\"}}<|eom_id|>",
    "<|python_tag|>file_read.call(path=\"a.py\")",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>file_read\n```json\n{\"path\": \"a.py\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>file_read<｜tool▁sep｜>{\"path\": \"a.py\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.file_read:0<|tool_call_argument_begin|>{\"path\": \"a.py\"}<|tool_call_end|><|tool_calls_section_end|>",
    "<|channel|>commentary to=functions.file_read <|constrain|>json<|message|>{\"path\": \"a.py\"}<|call|>",
    "<|start|>assistant<|channel|>commentary to=functions.file_read<|message|>{\"path\": \"a.py\"}",
    "commentary to=functions.file_read json{\"path\": \"a.py\"}",
    "functions.file_read({\"path\": \"a.py\"})",
    "functions.file_read {\"path\": \"a.py\"}",
    "```\n<tool_call>\n{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>\n```",
];

const PLAIN: &[&str] = &[
    "{{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}}",
    "```json\n{{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}}}\n```",
    "```json\n{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}\n```",
    "```json\n{\n  \"name\": \"file_read\",\n  \"arguments\": {\n    \"path\": \"a.py\",\n  }\n}\n```\n",
    "```\n{\"tool\": \"file_read\", \"args\": {\"path\": \"a.py\"}}\n```",
    "{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}",
    "{\"name\": \"file_read\", \"parameters\": {\"path\": \"a.py\"}}",
    "{\"tool\": \"file_read\", \"path\": \"a.py\"}",
    "{\"tool_name\": \"file_read\", \"tool_input\": {\"path\": \"a.py\"}}",
    "{\"action\": \"file_read\", \"action_input\": {\"path\": \"a.py\"}}",
    "{\"function\": {\"name\": \"file_read\", \"arguments\": \"{\\\"path\\\": \\\"a.py\\\"}\"}}",
    "{\"type\": \"function\", \"function\": \"file_read\", \"parameters\": {\"path\": \"a.py\"}}",
    "{\"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}}]}",
    "{\"recipient_name\": \"functions.file_read\", \"parameters\": {\"path\": \"a.py\"}}",
    "{\"file_read\": {\"path\": \"a.py\"}}",
    "[{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}]",
    "{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}",
    "```tool_code\nprint(default_api.file_read(path=\"a.py\"))\n```",
    "```tool_code\nfile_read(path='a.py')\n```",
    "[file_read(path=\"a.py\")]",
    "file_read(path=\"a.py\")",
    "Action: file_read\nAction Input: {\"path\": \"a.py\"}\nObservation: I see",
    "<file_read>\n<path>a.py</path>\n</file_read>",
];

#[test]
fn marked_calls_are_found_for_every_model() {
    for text in MARKED {
        reads(text, CallForms::Marked);
        reads(text, CallForms::Any);
    }
}

#[test]
fn plain_calls_are_found_where_they_are_looked_for() {
    for text in PLAIN {
        reads(text, CallForms::Any);
        assert_eq!(found(text, CallForms::Marked), None, "{text}");
    }
}

#[test]
fn words_before_a_call_stay_text_and_several_calls_are_several() {
    let call = "{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}";
    let run = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    for (text, before, count) in [
        (format!("I read it.\n\n```json\n{call}\n```"), "I read it.", 1),
        (format!("I read it: {call}"), "", 0),
        (format!("I read it.\n{call}\n{run}"), "I read it.", 2),
        (format!("```json\n{call}\n```\n```json\n{run}\n```"), "", 2),
        (format!("First:\n```json\n{call}\n```\nThen:\n```json\n{run}\n```"), "First:", 2),
        (
            format!("Some code:\n```python\nx = 1\n```\nNow:\n```json\n{run}\n```"),
            "Some code:\n```python\nx = 1\n```\nNow:",
            1,
        ),
        (format!("Hm. <tool_call>{call}</tool_call><tool_call>{run}</tool_call>"), "Hm.", 2),
        (format!("<tool_call>{call}\n{run}</tool_call>"), "", 2),
        (format!("<tool_call>{call}</tool_call><tool_response>print(1)</tool_response>"), "", 1),
    ] {
        let got =
            found(&text, CallForms::Any).map(|(before, calls)| (before, calls.len())).unwrap_or_default();
        assert_eq!(got, (before.to_owned(), count), "{text}");
    }
}

#[test]
fn what_only_quotes_json_stays_text() {
    let call = "{\"name\": \"file_read\", \"arguments\": {\"path\": \"a.py\"}}";
    for text in [
        "The answer is {\"a\": 1}.".to_owned(),
        "```json\n{\"name\": \"Ann\", \"age\": 3}\n```".to_owned(),
        "{\"name\": \"file_read\", \"arguments\": {\"file\": 3}}".to_owned(),
        "{\"name\": \"deploy\", \"arguments\": {\"path\": \"a.py\"}}".to_owned(),
        format!("A call looks like this:\n```json\n{call}\n```"),
        format!("```json\n{call}\n```\nis how a file is read."),
        format!("Models write `<tool_call>{call}</tool_call>`."),
        "Qwen's models put their calls between <tool_call> and </tool_call>.".to_owned(),
        "Others put them between <ns:function_calls> and </ns:function_calls>.".to_owned(),
        "<svg:rect width=\"1\"/>".to_owned(),
        "It calls functions.file_read and is done.".to_owned(),
        format!("An example:\n```\n<tool_call>{call}</tool_call>\n```"),
        "```bash\nls -la\n```".to_owned(),
        "Use print(\"x\") here:\n```python\nprint(\"x\")\n```".to_owned(),
        "Action: I will think about it.".to_owned(),
        "<p>file_read</p>".to_owned(),
        String::new(),
    ] {
        assert_eq!(found(&text, CallForms::Any), None, "{text}");
    }
}

#[test]
fn a_value_ends_at_the_closing_tag_of_its_namespace() {
    let text = "<n:invoke name=\"bash\"><n:parameter name=\"command\">echo '</parameter></invoke>'</n:parameter></n:invoke>";
    let (_, calls) = found(text, CallForms::Marked).unwrap();
    assert_eq!(calls, [("bash".to_owned(), json!({ "command": "echo '</parameter></invoke>'" }))]);
}

#[test]
fn a_marked_call_that_cannot_be_read_is_one_for_the_model_to_hear_of() {
    for text in [
        "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -rf build</tool_call>",
        "<function=bash>{\"command\": \"rm -rf build</function>",
    ] {
        let TextCalls { calls, .. } = find(text, CallForms::Marked, &fits).unwrap();
        assert_eq!(calls[0].name, "bash", "{text}");
        assert!(!calls[0].whole && serde_json::from_str::<Value>(&calls[0].arguments).is_err(), "{calls:?}");
    }
}

/// Returns what is shown of a text that arrives in pieces of that many characters, and what is held
/// back at its end.
fn streamed(text: &str, pieces: usize, forms: CallForms) -> (String, String) {
    let mut hold = Hold::new(Some(forms));
    let chars: Vec<char> = text.chars().collect();
    let mut shown = String::new();
    for piece in chars.chunks(pieces) {
        shown.push_str(&hold.push(&piece.iter().collect::<String>()));
    }
    assert_eq!(hold.released(), shown.len());
    let rest = hold.rest(text.len()).to_owned();
    assert_eq!(format!("{shown}{rest}"), text, "nothing is lost");
    (shown, rest)
}

#[test]
fn markup_is_not_shown_while_it_comes() {
    for (texts, forms) in
        [(MARKED, CallForms::Marked), (MARKED, CallForms::Any), (&PLAIN[..6], CallForms::Any)]
    {
        for text in texts {
            for pieces in [1, 3, 1000] {
                let (shown, _) = streamed(text, pieces, forms);
                assert_eq!(shown, "", "{text} in {pieces}");
                let (shown, _) = streamed(&format!("I read it.\n\n{text}"), pieces, forms);
                assert_eq!(shown.trim(), "I read it.", "{text} in {pieces}");
            }
        }
    }
}

#[test]
fn ordinary_text_is_shown_at_once() {
    for text in [
        "Hello, world. a < b and [x] and {y}.\n",
        "```rust\nfn main() { println!(\"<tool_call>\"); }\n```\nDone.\n",
        "```json\n{\"age\": 3}\n```\n",
        "{\"age\": 3}\n[1, 2]\n",
        "<p>html</p> and myfunctions.call()\n",
        "<xs:element name=\"x\"/> and <xsl:for-each> and Vec<String> and std::vector<std::string>\n",
        "```json\n{\"name\": \"x\", \"arguments\": {}}\n```\nis an example.\n",
        "é<ü>[ß]\n",
    ] {
        for pieces in [1, 2, 1000] {
            let (shown, rest) = streamed(text, pieces, CallForms::Any);
            assert_eq!((shown.as_str(), rest.as_str()), (text, ""), "{pieces}");
        }
    }
    let long = format!("<tool_call>{}", "x".repeat(300 * 1024));
    assert_eq!(
        streamed(&long, 1024, CallForms::Any).0.len(),
        long.len(),
        "not more than so much is held back"
    );
}

proptest::proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_panics(text in "[a-z<>{}\\[\\]`\"':|/\n .()=_é｜]{0,120}", pieces in 1usize..9) {
        let _ = find(&text, CallForms::Any, &fits);
        streamed(&text, pieces, CallForms::Any);
    }

    #[test]
    fn marks_in_any_order_do_not_panic(parts in proptest::collection::vec(
        proptest::sample::select(vec!["<tool_call>", "{\"name\":", "\"bash\"", "}", "</tool_call>", "<function=", ">", "<invoke name=\"a\">", "<n:invoke name=\"a\">", "<n:parameter name=\"b\">", "</n:parameter>", "</n:invoke>", "[TOOL_CALLS]",
            "[ARGS]", "<｜tool▁call▁begin｜>", "<|tool_sep|>", "to=functions.", "functions.", "```", "\n", "(", ")", "x", "Action:", "Action Input:"]), 0..12)) {
        let text = parts.concat();
        let _ = find(&text, CallForms::Any, &fits);
        streamed(&text, 1, CallForms::Any);
    }
}

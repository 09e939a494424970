//! Complete runs with a scripted agent, and the counting of tokens and calls.

use super::*;
use crate::peers::{model, wire};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn exchange(started: Instant, events: &[String]) -> Exchange {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body}").into_bytes();
    let schema = json!({ "type": "object", "properties": {}, "required": ["path"] });
    let request = json!({ "tools": [{ "function": { "name": "file_edit", "parameters": schema } }] });
    Exchange { started, path: String::new(), request, answer }
}

fn shown(at: Instant, status: &str) -> ShownCall {
    let mut editor = Editor::default();
    let update = json!({ "sessionUpdate": "tool_call", "toolCallId": "a", "kind": "edit", "status": status });
    let line = json!({ "method": "session/update", "params": { "update": update } });
    crate::peers::client::Host::on_line(&mut editor, &line.to_string());
    let mut call = editor.calls.remove(0);
    call.at = at;
    call
}

#[test]
fn an_invalid_call_that_still_ran_is_not_lost() {
    let first = Instant::now();
    let later = |seconds| first + Duration::from_secs(seconds);
    let call = [wire::tool_call(0, "edit_file", &json!({})), wire::end("tool_calls"), wire::usage()];
    let exchanges =
        [exchange(first, &call), exchange(later(10), &call), exchange(later(20), &[wire::end("stop")])];
    let mut outcome = Outcome::default();
    count(&mut outcome, &exchanges, &[shown(later(1), "failed"), shown(later(11), "completed")]);
    assert_eq!((outcome.calls, outcome.invalid_calls, outcome.lost_calls), (2, 2, 1));
    assert_eq!((outcome.rounds, outcome.prompt_tokens, outcome.first_prompt_tokens), (3, 20, 10));
    assert_eq!((outcome.edits, outcome.failed_edits, outcome.first_edit), (2, 1, Some(false)));
}

#[test]
fn a_server_that_only_fails_is_not_the_agents_fault() {
    let now = Instant::now();
    let answer = b"HTTP/1.1 503 Busy\r\n\r\nloading".to_vec();
    let failed = Exchange { started: now, path: String::new(), request: json!({}), answer };
    assert_eq!(only_errors(&[failed]).unwrap(), "status 503: loading");
    assert_eq!(only_errors(&[exchange(now, &[wire::end("stop")])]), None);
}

/// An agent that sends two requests to the model and executes `work` in between.
const AGENT: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
ask() {
    body='{"model":"m","stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"file_edit"}}]}'
    address=${OPENAI_BASE_URL#http://}; address=${address%/v1}
    exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
    printf 'POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %s\r\n\r\n%s' "${#body}" "$body" >&3
    cat <&3 >/dev/null
}
while read -r line; do
    id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<<"$line")
    case $line in
    *'"method":"initialize"'*) reply '{"protocolVersion":1}' ;;
    *'"method":"session/new"'*) reply '{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*)
        ask
        update '{"sessionUpdate":"tool_call","toolCallId":"a","kind":"edit","status":"pending"}'
        work
        update '{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}'
        ask
        update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}'
        reply '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

/// Runs the greeting task with an agent that executes `work`; returns the outcome and the ids of
/// remaining processes.
fn greet(work: &str, limit: Duration) -> (Outcome, Vec<String>) {
    greet_with(&format!("work() {{ {work}; }}\n{AGENT}"), limit)
}

/// Like [`greet`], with another agent.
fn greet_with(agent: &str, limit: Duration) -> (Outcome, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("agent.sh");
    std::fs::write(&script, agent).unwrap();
    let requests = AtomicUsize::new(0);
    let server = model::serve(move |_| {
        let answer = match requests.fetch_add(1, Ordering::Relaxed) {
            0 => [wire::tool_call(0, "file_edit", &json!({})), wire::end("tool_calls")],
            _ => [wire::text("done"), wire::end("stop")],
        };
        Some(answer.into_iter().chain([wire::usage(), wire::DONE.to_owned()]).collect())
    });
    let place = directory.path().join("run");
    let command = format!("bash {}", script.display());
    let setup = Setup {
        agent: Agent::named(Some(&command), Path::new(""), "m").unwrap(),
        model: "m".to_owned(),
        proxy: Proxy::start(&format!("http://{}", server.unwrap())).unwrap(),
        capabilities: Capabilities::None,
        temperature: 0.2,
        limit,
        path: crate::eval::tools::path(),
        directories: Directories { run: place.clone(), logs: None },
    };
    let tasks = crate::eval::task::all(&crate::process::root().join("eval/tasks")).unwrap();
    let task = tasks.iter().find(|task| task.name == "python-greeting").unwrap();
    let outcome = run(&setup, task, RunId::default()).unwrap();
    (outcome, leftovers::found("no mark", &place))
}

const RIGHT: &str = "sed -i 's/Hello/Good morning/' greet.py";

#[test]
fn a_run_is_judged_and_counted() {
    let (outcome, _) = greet(RIGHT, START_TIME);
    assert!(outcome.solved, "{outcome:?}");
    assert_eq!((outcome.rounds, outcome.prompt_tokens, outcome.answer_tokens), (2, 20, 20));
    assert_eq!((outcome.calls, outcome.invalid_calls), (1, 0));
    assert_eq!(
        (outcome.first_edit, outcome.ended.as_str(), outcome.answer.as_str()),
        (Some(true), "end_turn", "done")
    );
}

#[test]
fn an_unrequested_change_is_unwanted_and_the_task_is_not_solved() {
    let work = format!(
        "{RIGHT}; echo x > stray.txt; echo x > ../neighbour/notes.txt; git rm -q --cached greet.py; git -c user.name=a -c user.email=a commit -qm x"
    );
    let (outcome, _) = greet(&work, START_TIME);
    assert_eq!(outcome.unwanted, ["stray.txt", "commit", "../neighbour/notes.txt"]);
    assert_eq!((outcome.solved, outcome.why), (false, None));
}

#[test]
fn an_agent_that_does_nothing_has_not_solved_it() {
    let (outcome, _) = greet("true", START_TIME);
    assert!(!outcome.solved && outcome.why.is_some() && outcome.unwanted.is_empty(), "{outcome:?}");
}

#[test]
fn a_turn_that_takes_too_long_is_ended_with_all_its_processes() {
    let (outcome, left) = greet("setsid sleep 600 & sleep 600", Duration::from_millis(300));
    assert_eq!((outcome.ended.as_str(), outcome.solved), ("timeout", false));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_agent_that_ends_in_the_middle_has_not_solved_it() {
    let (outcome, _) = greet("exit 7", START_TIME);
    assert_eq!((outcome.solved, outcome.broken, outcome.rounds), (false, None, 1));
    assert!(outcome.ended.contains("did not answer"), "{}", outcome.ended);
}

#[test]
fn an_agent_that_does_not_start_is_no_result() {
    let (outcome, _) = greet_with("echo 'no settings' >&2; exit 7", START_TIME);
    let reason = outcome.broken.unwrap();
    assert!(reason.contains("initialize") && reason.ends_with("no settings"), "{reason}");
}

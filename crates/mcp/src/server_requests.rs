//! Requests and notifications from servers. A request is refused unless the server's description
//! offers it.

#![expect(deprecated, reason = "servers ask for roots and for the model as long as the protocol has them")]

use crate::{
    limits::{CALL_MAX, FIELDS, QUESTION_CHARS, SAMPLES},
    locked::locked,
    offered::Offered,
    progress::ProgressRegistry,
    sampling,
};
use agent::{
    Choice, NestedCallError, NestedCalls, Question, QuestionOutcome, Redactor, ToolCallId, ToolContext,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ErrorCode, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam,
        ProgressNotificationParam, Root,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use system::AbsPath;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// The running calls, each with the client and the model that can be asked meanwhile. A request
/// goes to the call that started last.
#[derive(Clone, Default)]
pub(crate) struct RunningCalls {
    calls: Arc<Mutex<Vec<CallContext>>>,
    /// The number of requests of the server that are being answered.
    open: Arc<watch::Sender<usize>>,
}

/// Counts one request of the server as open until it is dropped.
struct OpenRequest<'a>(&'a watch::Sender<usize>);

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// A running call, with the client and the model that the server can ask about it.
#[derive(Clone)]
pub(crate) struct CallContext {
    user: Arc<dyn agent::AskUser>,
    call: ToolCallId,
    model: NestedCalls,
    /// The number of sampling requests made for this call.
    sampled: Arc<AtomicUsize>,
}

/// Removes the call from the running ones when dropped.
pub(crate) struct CallGuard {
    running_calls: RunningCalls,
    call: ToolCallId,
}

impl RunningCalls {
    /// Registers a call: until the returned guard is dropped, the user and the model can be asked
    /// about it.
    pub(crate) fn register(&self, cx: &ToolContext) -> CallGuard {
        let (user, call, model) = (cx.user.clone(), cx.call.id.clone(), cx.nested_calls.clone());
        locked(&self.calls).push(CallContext { user, call: call.clone(), model, sampled: Arc::default() });
        CallGuard { running_calls: self.clone(), call }
    }

    fn latest(&self) -> Option<CallContext> {
        locked(&self.calls).last().cloned()
    }

    fn open(&self) -> OpenRequest<'_> {
        self.open.send_modify(|open| *open += 1);
        OpenRequest(&self.open)
    }

    /// Completes once the server has used up `idle` without a sign of life, or [`CALL_MAX`] in
    /// total.
    ///
    /// Time in which the server waits for the user or the model does not count. Each change of
    /// `activity` is a sign of life. Returns the limit that was exceeded.
    pub(crate) async fn expired<T>(&self, idle: Duration, mut activity: watch::Receiver<T>) -> Duration {
        let mut open = self.open.subscribe();
        let total = idle.max(CALL_MAX);
        let (mut left, mut total_left) = (idle, total);
        loop {
            // `self` holds the sender, so waiting cannot fail.
            let _ = open.wait_for(|open| *open == 0).await;
            let began = Instant::now();
            tokio::select! {
                biased;
                () = tokio::time::sleep(left.min(total_left)) => return if total_left <= left { total } else { idle },
                _ = open.wait_for(|open| *open > 0) => left = left.saturating_sub(began.elapsed()),
                Ok(()) = activity.changed() => left = idle,
            }
            total_left = total_left.saturating_sub(began.elapsed());
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        locked(&self.running_calls.calls).retain(|running| running.call != self.call);
    }
}

/// The protocol's error code for a request that the user rejected.
const REJECTED: ErrorCode = ErrorCode(-1);

/// Handles a server's notifications and requests.
#[derive(Clone)]
pub(crate) struct ServerRequests {
    pub(crate) server: String,
    pub(crate) info: ClientConfig,
    /// Notified when the server's tools or prompts have changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) offered: Vec<Offered>,
    pub(crate) cwd: AbsPath,
    pub(crate) running_calls: RunningCalls,
    pub(crate) calls: ProgressRegistry,
    pub(crate) redactor: Redactor,
}

impl ClientHandler for ServerRequests {
    fn get_info(&self) -> ClientConfig {
        self.info.clone()
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.progress(&params);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        tracing::debug!(server = self.server, level = ?params.level, "an MCP server logs a message");
        let shown = params.level != LoggingLevel::Debug;
        self.calls.logged(params.logger.as_deref(), shown.then_some(&params.data));
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        if !self.offered.contains(&Offered::Roots) {
            return Err(not_offered(Offered::Roots));
        }
        Ok(ListRootsResult::new(vec![Root::new(file_uri(&self.cwd))]))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if !self.offered.contains(&Offered::Sampling) {
            return Err(not_offered(Offered::Sampling));
        }
        let (request, stops) = sampling::parse_request(&self.server, request, &self.redactor)
            .map_err(|why| ErrorData::new(ErrorCode::INVALID_PARAMS, why, None))?;
        let refused = |why: String| ErrorData::new(REJECTED, why, None);
        let running = self.running_calls.latest();
        let running =
            running.ok_or_else(|| refused("sampling is possible only during a tool call".to_owned()))?;
        if running.sampled.fetch_add(1, Ordering::Relaxed) >= SAMPLES {
            return Err(refused(format!("at most {SAMPLES} sampling requests are accepted per call")));
        }
        let _open = self.running_calls.open();
        let sampled = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(refused("the request was cancelled".to_owned())),
            sampled = running.model.sample(request) => sampled,
        };
        sampled.map(|sampled| sampling::response(sampled, &stops)).map_err(|error| {
            refused(self.redactor.redact(&match error {
                NestedCallError::Unavailable => {
                    "sampling is not available in a call from a script".to_owned()
                }
                NestedCallError::Modifies { mode, .. } => {
                    format!("sampling is not available in {} mode", mode.label())
                }
                other => other.to_string(),
            }))
        })
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if !self.offered.contains(&Offered::Elicitation) {
            return Err(not_offered(Offered::Elicitation));
        }
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema).unwrap_or_default();
        let _open = self.running_calls.open();
        let asked = tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ElicitationAction::Cancel),
            asked = self.ask(&message, &schema) => asked,
        };
        Ok(match asked {
            Ok(answers) => ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(answers)),
            Err(action) => ElicitResult::new(action),
        })
    }
}

impl ServerRequests {
    /// Asks the user for each field of a form, one after the other. Declines unless a tool of the
    /// server is being called: at other times the user does not expect a question.
    async fn ask(&self, message: &str, schema: &Value) -> Result<Map<String, Value>, ElicitationAction> {
        let CallContext { user, call, .. } = self.running_calls.latest().ok_or(ElicitationAction::Decline)?;
        let message = format!("MCP server '{}' asks: {}", self.server, display_text(message));
        let ask = async |text: String, choices: Vec<Choice>| {
            let question = Question { id: call.clone(), text, choices };
            match user.ask(question).await {
                QuestionOutcome::Answered(answer) => Ok(answer),
                QuestionOutcome::Dismissed => Err(ElicitationAction::Cancel),
                QuestionOutcome::Unavailable => Err(ElicitationAction::Decline),
            }
        };
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        if fields.len() > FIELDS {
            return Err(ElicitationAction::Decline);
        }
        if fields.is_empty() {
            let answer = ask(message, labels(["Accept", "Decline"])).await?;
            return if answer == "Accept" { Ok(Map::new()) } else { Err(ElicitationAction::Decline) };
        }
        let mut answers = Map::new();
        for (name, field) in &fields {
            let title = field["title"].as_str().unwrap_or(name);
            let about = field["description"].as_str().map(|text| format!(" ({})", display_text(text)));
            let text = format!("{message}\n{}{}", display_text(title), about.unwrap_or_default());
            let answer = ask(text, choices(field)).await?;
            // An answer that does not fit the field declines the form.
            let value = field_value(field, answer).ok_or(ElicitationAction::Decline)?;
            answers.insert(name.clone(), value);
        }
        Ok(answers)
    }
}

/// Returns the choices of a field, as pairs of label and value.
fn options(field: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let pair = |option: &Value| {
        let value = text(&option["const"])?;
        Some((text(&option["title"]).unwrap_or_else(|| value.clone()), value))
    };
    if let Some(options) = field["oneOf"].as_array() {
        return options.iter().filter_map(pair).collect();
    }
    let values = field["enum"].as_array().into_iter().flatten().filter_map(text);
    let names = |at: usize| field["enumNames"].get(at).and_then(text);
    values.enumerate().map(|(at, value)| (names(at).unwrap_or_else(|| value.clone()), value)).collect()
}

fn choices(field: &Value) -> Vec<Choice> {
    match field["type"].as_str() {
        Some("boolean") => labels(["Yes", "No"]),
        _ => options(field)
            .into_iter()
            .map(|(label, _)| Choice { label: display_text(&label), ..Choice::default() })
            .collect(),
    }
}

fn labels<const N: usize>(labels: [&str; N]) -> Vec<Choice> {
    labels.map(|label| Choice { label: label.to_owned(), ..Choice::default() }).into()
}

/// Converts an answer into the value of a field; `None` if it does not fit.
fn field_value(field: &Value, answer: String) -> Option<Value> {
    let options = options(field);
    if !options.is_empty() {
        return options
            .into_iter()
            .find(|(label, _)| display_text(label) == answer)
            .map(|(_, value)| json!(value));
    }
    match field["type"].as_str() {
        Some("boolean") => Some(json!(answer == "Yes")),
        Some("integer") => answer.trim().parse::<i64>().ok().map(|number| json!(number)),
        Some("number") => answer.trim().parse::<f64>().ok().map(|number| json!(number)),
        Some("string") | None => Some(json!(answer)),
        Some(_) => None,
    }
}

fn not_offered(what: Offered) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("{} is not offered", what.id()), None)
}

/// Prepares a server's text for display.
fn display_text(text: &str) -> String {
    agent::sanitise(text).chars().take(QUESTION_CHARS).collect()
}

/// What is encoded in the path of a URI: all but `/` and the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the `file://` URI of a directory.
fn file_uri(path: &AbsPath) -> String {
    format!("file://{}", utf8_percent_encode(path.as_str(), ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_converted_to_the_type_of_its_field() {
        let named =
            json!({ "type": "string", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "g" }] });
        let listed = json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A"] });
        for (field, answer, value) in [
            (&json!({ "type": "string" }), "x", Some(json!("x"))),
            (&json!({ "type": "integer" }), " 7", Some(json!(7))),
            (&json!({ "type": "integer" }), "7.5", None),
            (&json!({ "type": "number" }), "7.5", Some(json!(7.5))),
            (&json!({ "type": "boolean" }), "No", Some(json!(false))),
            (&json!({ "type": "object" }), "x", None),
            (&named, "Red", Some(json!("r"))),
            (&named, "g", Some(json!("g"))),
            (&named, "r", None),
            (&listed, "A", Some(json!("a"))),
            (&listed, "b", Some(json!("b"))),
        ] {
            assert_eq!(field_value(field, answer.to_owned()), value, "{field} {answer}");
        }
        assert_eq!(choices(&listed).len(), 2);
        assert_eq!(choices(&json!({ "type": "string" })), []);
    }

    #[test]
    fn a_directory_becomes_a_file_uri() {
        assert_eq!(file_uri(&AbsPath::new("/a b/ü").unwrap()), "file:///a%20b/%C3%BC");
    }

    #[tokio::test(start_paused = true)]
    async fn a_servers_deadline_pauses_while_it_waits_for_an_answer() {
        let running_calls = RunningCalls::default();
        let started = Instant::now();
        let asking = async {
            for _ in 0..2 {
                tokio::time::sleep(Duration::from_secs(10)).await;
                let _open = running_calls.open();
                tokio::time::sleep(Duration::from_secs(1_000)).await;
            }
        };
        let (_sender, activity) = watch::channel(());
        tokio::join!(running_calls.expired(Duration::from_secs(30), activity), asking);
        assert_eq!(started.elapsed(), Duration::from_secs(2_030));
    }

    #[tokio::test(start_paused = true)]
    async fn activity_extends_a_servers_deadline_up_to_a_limit() {
        for (count, every, took) in [(3, 20, 90), (100_000, 20, 3_600)] {
            let (sender, activity) = watch::channel(());
            let started = Instant::now();
            let sending = async {
                for _ in 0..count {
                    tokio::time::sleep(Duration::from_secs(every)).await;
                    sender.send_replace(());
                }
                std::future::pending::<()>().await;
            };
            let running_calls = RunningCalls::default();
            tokio::select! {
                _ = running_calls.expired(Duration::from_secs(30), activity) => {}
                () = sending => {}
            }
            assert_eq!(started.elapsed(), Duration::from_secs(took), "{count}");
        }
    }
}

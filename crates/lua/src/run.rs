//! Runs a script, from a fresh interpreter to a report.

use crate::{
    Functions, Report, RunLimits, ScriptHost, convert, display,
    limits::{CODE_BYTES, END_GRACE, RETURNED_BYTES, STACK_BYTES},
    run_clock::{EndReason, RunClock},
    state::{self, RunContext},
};
use mlua::{Error, MultiValue, Value as Lv, chunk::ChunkMode};
use serde_json::Value;
use std::{collections::BTreeMap, rc::Rc, sync::Arc};
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::CancellationToken;

/// A script to run.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The name of the script in error messages.
    pub name: String,
    /// The source code. A single expression is accepted and its value returned.
    pub code: String,
    /// Additional globals. Their names consist of letters, digits and underscores.
    pub globals: BTreeMap<String, Value>,
    /// The limits of the run.
    pub limits: RunLimits,
}

/// Runs a script in a fresh interpreter on its own thread. Dropping the future, or cancelling, ends
/// the script at its next check of the limits.
///
/// # Panics
/// If called outside a tokio runtime.
pub async fn run(
    script: Script,
    functions: Arc<dyn Functions>,
    host: Arc<dyn ScriptHost>,
    cancel: &CancellationToken,
) -> Report {
    if script.code.len() > CODE_BYTES {
        return failed(format!("The script is longer than {CODE_BYTES} bytes."));
    }
    let cancel = cancel.child_token();
    let _on_drop = cancel.clone().drop_guard();
    let (handle, wall) = (Handle::current(), script.limits.wall);
    let run_on_thread = move || {
        let run_clock = Rc::new(RunClock::new(script.limits, cancel));
        let context = Rc::new(RunContext::new(run_clock, functions, host, handle));
        execute(&script, &context)
    };
    let (done, report) = oneshot::channel();
    let thread = std::thread::Builder::new().name("lua".to_owned()).stack_size(STACK_BYTES);
    // The receiver is gone if the caller has stopped waiting.
    let spawned = thread.spawn(move || drop(done.send(run_on_thread())));
    if let Err(error) = spawned {
        return failed(format!("The thread for the script could not be started: {error}. Try again later."));
    }
    match tokio::time::timeout(wall + END_GRACE, report).await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) => {
            tracing::error!("the Lua interpreter panicked");
            failed("The Lua interpreter failed; this is a bug in Tiller.".to_owned())
        }
        Err(_) => {
            tracing::error!("a script did not end; its thread is abandoned");
            failed(format!("Time limit of {} s exceeded.", wall.as_secs_f64()))
        }
    }
}

fn failed(error: String) -> Report {
    Report { error: Some(error), ..Report::default() }
}

fn execute(script: &Script, context: &Rc<RunContext>) -> Report {
    let mut report = Report::default();
    let outcome = state::new_interpreter(context, &script.globals).and_then(|lua| {
        let chunk = lua.load(&script.code).set_name(format!("={}", script.name)).set_mode(ChunkMode::Text);
        let returned = chunk.eval::<MultiValue>();
        report.memory = lua.used_memory();
        let returned = returned?;
        let values = json_values(&returned)?;
        if returned.iter().all(Lv::is_nil) {
            return Ok((None, values));
        }
        let shown = returned.iter().map(display::format_value).collect::<mlua::Result<Vec<_>>>()?;
        Ok((Some(shown.join("\t")), values))
    });
    let run_clock = context.run_clock();
    match (run_clock.end_reason(), outcome) {
        (Some(reason), _) => {
            report.cancelled = reason == EndReason::Cancelled;
            report.error = Some(run_clock.message(reason));
        }
        (None, Ok((value, values))) => (report.value, report.values) = (value, values),
        (None, Err(error)) => report.error = Some(message(&error, run_clock)),
    }
    report.output = context.take_output();
    report.calls = context.calls();
    report.took = run_clock.elapsed();
    report
}

/// Converts each value to JSON, or to text if JSON cannot represent it (such as a function). If the
/// result exceeds the size limit, all values are returned as text, which is truncated.
fn json_values(returned: &MultiValue) -> mlua::Result<Vec<Value>> {
    let text = |value: &Lv| display::format_value(value).map(Value::String);
    let values = returned.iter().map(|value| convert::to_json(value).or_else(|_why| text(value)));
    let values = values.collect::<mlua::Result<Vec<_>>>()?;
    if values.iter().map(|value| value.to_string().len()).sum::<usize>() <= RETURNED_BYTES {
        return Ok(values);
    }
    returned.iter().map(text).collect()
}

/// Returns the message of an error for the author of the script, without a traceback.
fn message(error: &Error, run_clock: &RunClock) -> String {
    match error {
        Error::MemoryError(_) => run_clock.message(EndReason::Memory),
        Error::CallbackError { cause, .. } => message(cause, run_clock),
        Error::WithContext { cause, .. } => message(cause, run_clock),
        // The message of Lua's own library.
        Error::RuntimeError(text) if text.contains("not enough memory") => {
            run_clock.message(EndReason::Memory)
        }
        Error::RuntimeError(text) => without_traceback(text),
        Error::SyntaxError { message, .. } => without_traceback(message),
        other => without_traceback(&other.to_string()),
    }
}

fn without_traceback(text: &str) -> String {
    text.split("\nstack traceback:").next().unwrap_or_default().trim_end().to_owned()
}

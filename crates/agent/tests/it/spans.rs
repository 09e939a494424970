//! The spans of a turn, as a subscriber sees them.

use crate::stage::{Setting, stage};
use agent::{PermissionMode, fake::Reply, spans::SPANS};
use serde_json::json;
use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};
use system::fake::Script;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// Keeps each span as a line: its name, indented below its parent, and its fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Id, String)>>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // The ids of sessions are random.
        if field.name() != "session" {
            self.0.push_str(&format!(" {field}={value:?}"));
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let depth = context.span_scope(id).map_or(0, |scope| scope.count() - 1);
        let mut line = format!("{}{}", "  ".repeat(depth), attributes.metadata().name());
        attributes.record(&mut Fields(&mut line));
        self.0.lock().unwrap().push((id.clone(), line));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        let mut lines = self.0.lock().unwrap();
        let (_, line) = lines.iter_mut().rfind(|(of, _)| of == id).unwrap();
        values.record(&mut Fields(line));
    }
}

/// Runs a turn with a command that fails, and returns its spans of these targets.
async fn spans(targets: &[&str]) -> Vec<String> {
    let lines = Lines::default();
    let filter = Targets::new().with_targets(targets.iter().map(|target| (*target, tracing::Level::INFO)));
    let subscriber = tracing_subscriber::registry().with(lines.clone().with_filter(filter));
    let _guard = tracing::subscriber::set_default(subscriber);
    let script =
        vec![Reply::calls(&[("bash", json!({ "command": "cargo test" }))]), Reply::text("It fails.")];
    let setting = Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() };
    let stage = stage(setting).await;
    stage.system.on_command("cargo test", |_| Script::exits(1).prints("no\n"));
    stage.prompt("test it").await.unwrap();
    let lines = lines.0.lock().unwrap();
    lines.iter().map(|(_, line)| line.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn requests_and_calls_are_inside_the_turn() {
    let spans = spans(&[SPANS]).await;
    let names: Vec<_> = spans.iter().map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names.into_iter().flatten().collect::<Vec<_>>(),
        ["turn", "model_call", "tool_call", "model_call"]
    );
    assert!(spans[0].starts_with("turn is_subagent=false"), "{spans:?}");
    assert!(spans[0].contains(r#"stop="end_turn""#), "{spans:?}");
    assert!(
        spans[1].starts_with("  model_call model=") && spans[1].contains(r#"stop="tool_call""#),
        "{spans:?}"
    );
    assert!(spans[2].starts_with(r#"  tool_call tool="bash" call="#), "{spans:?}");
    assert!(!spans.iter().any(|line| line.contains("cargo test")), "{spans:?}");
}

#[tokio::test(start_paused = true)]
async fn contents_are_recorded_where_a_subscriber_asks_for_them() {
    let spans = spans(&[SPANS, agent::spans::SPAN_CONTENTS]).await;
    assert!(spans[1].contains("test it") && spans[1].contains("tool_call"), "{spans:?}");
    assert!(spans[2].contains("arguments=") && spans[2].contains("result="), "{spans:?}");
    assert!(spans[3].contains("It fails.") && spans[3].contains("tool_call_response"), "{spans:?}");
}

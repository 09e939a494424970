//! Tests of the cost of a command's output on the wire, in bytes and messages.

use super::{
    V1,
    to_acp::{OptionalUpdates, Projection},
};
use crate::connection::{Coalescer, QueuedUpdate, Wire as _};
use agent::{Content, LiveOutput, SessionEvent, ToolCallUpdate, ToolContent, ToolStatus};
use agent_client_protocol::v1::schema as acp;
use std::time::Duration;
use system::{AbsPath, ExitStatus};
use tokio::time::Instant;

/// The messages sent over the wire.
#[derive(Debug, Default)]
struct Wire {
    bytes: usize,
    messages: usize,
    /// The most messages sent within one second.
    busiest: usize,
    times: Vec<Instant>,
}

impl Wire {
    fn take(&mut self, updates: Vec<QueuedUpdate<acp::SessionUpdate>>, now: Instant) {
        for QueuedUpdate { update, .. } in updates {
            let notification = acp::SessionNotification::new("0".repeat(36), V1::update(update).unwrap());
            self.bytes += serde_json::to_string(&notification).unwrap().len() + ENVELOPE;
            self.messages += 1;
            self.times.push(now);
            let recent = self.times.iter().rev().take_while(|at| now.duration_since(**at) < SECOND).count();
            self.busiest = self.busiest.max(recent);
        }
    }
}

/// Bytes around the parameters of a notification.
const ENVELOPE: usize = r#"{"jsonrpc":"2.0","method":"session/update","params":}"#.len() + 1;
const SECOND: Duration = Duration::from_secs(1);

/// Runs a command that prints `lines` lines of seven bytes, one per `pace`, and ends with `result`.
fn run(displays: bool, lines: u32, pace: Duration, result: &str) -> Wire {
    let (mut projection, mut coalescer) =
        (Projection::live(OptionalUpdates { displays, ..OptionalUpdates::default() }), Coalescer::default());
    let (mut wire, start) = (Wire::default(), Instant::now());
    let call = || ToolCallUpdate::of("tool_0".into(), "bash");
    let live = |output| SessionEvent::ToolCall(ToolCallUpdate { output: Some(output), ..call() });
    let mut events = vec![
        (start, SessionEvent::ToolCall(call().status(ToolStatus::Pending))),
        (start, live(LiveOutput::Started { cwd: AbsPath::new("/w").unwrap() })),
    ];
    // The tool collects output for 40 ms.
    let per_piece = (40_000 / pace.as_micros().max(1)).max(1) as u32;
    let mut line = 0;
    while line < lines {
        let piece: String =
            (line..(line + per_piece).min(lines)).map(|line| format!("{line:06}\n")).collect();
        events.push((start + pace * line, live(LiveOutput::Text(piece))));
        line += per_piece;
    }
    let end = start + pace * lines;
    events.push((end, live(LiveOutput::Ended(ExitStatus { code: Some(0), signal: None }))));
    let content = vec![ToolContent::Content(Content::text(result))];
    events.push((end, SessionEvent::ToolCall(call().status(ToolStatus::Completed).content(content))));
    for (at, event) in events {
        for update in projection.updates(&event, Vec::new) {
            coalescer.push(update, 0, None, at);
        }
        wire.take(coalescer.due(at, 0), at);
    }
    wire.take(coalescer.flush(), end);
    wire
}

#[test]
fn long_output_costs_little_more_than_itself() {
    let lines = 35_000;
    // The part that fits the limits of a result: 2,000 lines, of 50,000 bytes in all.
    let result = (lines - 2_000..lines).map(|line| format!("{line:024}\n")).collect::<String>();
    for pace in [0, 10, 100, 1_000].map(Duration::from_micros) {
        let text = run(false, lines, pace, &result);
        assert!(text.bytes * 10 <= result.len() * 13, "as text, {pace:?} a line: {} bytes", text.bytes);
        let display = run(true, lines, pace, &result);
        let shown = lines as usize * 7;
        assert!(display.bytes * 10 <= shown * 13, "in a terminal, {pace:?} a line: {} bytes", display.bytes);
        for wire in [text, display] {
            // The announcements and the exit are not output.
            assert!(wire.busiest <= 25 + 4, "{} messages in a second", wire.busiest);
        }
    }
}

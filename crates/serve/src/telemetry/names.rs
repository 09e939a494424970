//! The metrics of a server: their names, what they count, and the bounds of their buckets.

use super::Kind::{Counter, Gauge, Histogram};

/// A metric.
#[derive(Debug)]
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) kind: super::Kind,
    pub(super) help: &'static str,
}

/// Seconds of something that a person waits for.
const SECONDS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];
/// Seconds of something that should take milliseconds.
const FRACTIONS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// All metrics, by name. Labels have no user, no session and no path.
pub(super) const ALL: &[About] = &[
    About { name: "tiller_append_seconds", kind: Histogram(FRACTIONS), help: "Time to store events." },
    About {
        name: "tiller_auth_failures_total",
        kind: Counter,
        help: "Requests that were refused for their credential, by reason.",
    },
    About { name: "tiller_connections", kind: Gauge, help: "Connections, by transport." },
    About {
        name: "tiller_forwarded_total",
        kind: Counter,
        help: "Sockets that were opened to other nodes for sessions that they hold.",
    },
    About {
        name: "tiller_leases_lost_total",
        kind: Counter,
        help: "Sessions that another process took over.",
    },
    About { name: "tiller_loop_lag_seconds", kind: Histogram(FRACTIONS), help: "How late tasks run." },
    About {
        name: "tiller_model_first_token_seconds",
        kind: Histogram(SECONDS),
        help: "Time from a request to the first piece of the answer, by model.",
    },
    About { name: "tiller_outbox_bytes", kind: Gauge, help: "Bytes that are kept for clients." },
    About {
        name: "tiller_overloaded_total",
        kind: Counter,
        help: "What was refused or given up because the node had too much to do: connection, prompt, memory.",
    },
    About {
        name: "tiller_pool_wait_seconds",
        kind: Histogram(FRACTIONS),
        help: "Time that operations waited for a connection to the database.",
    },
    About { name: "tiller_resume_total", kind: Counter, help: "Resumptions of connections, by result." },
    About { name: "tiller_sessions_open", kind: Gauge, help: "Open sessions." },
    About {
        name: "tiller_slow_clients_total",
        kind: Counter,
        help: "Connections that were closed because their client read too slowly.",
    },
    About { name: "tiller_sockets", kind: Gauge, help: "Open sockets." },
    About {
        name: "tiller_takeovers_total",
        kind: Counter,
        help: "Sessions that this process took over from another one.",
    },
    About {
        name: "tiller_tokens_total",
        kind: Counter,
        help: "Tokens of models, by model and direction: input, output.",
    },
    About { name: "tiller_tool_seconds", kind: Histogram(SECONDS), help: "Time of tool calls, by tool." },
    About { name: "tiller_turn_seconds", kind: Histogram(SECONDS), help: "Time of turns." },
    About { name: "tiller_turns_running", kind: Gauge, help: "Running turns." },
];

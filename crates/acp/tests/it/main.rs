//! Integration tests: whole conversations between a scripted editor and the runtime, over a real
//! pipe.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "`cargo xtask faults` reads how many operations there were")]

mod attach;
mod auth;
mod bounds;
mod cancelled_requests;
mod conversation;
mod cost;
mod delegated;
mod displayed_content;
mod golden;
mod hostile;
mod http_client;
mod ide;
mod inputs;
mod kosmokrator;
mod legacy;
mod methods;
mod native;
mod once;
mod replay;
mod rewind;
mod shared;
mod stage;
mod transport;
mod version_2;
mod wire;
mod work;

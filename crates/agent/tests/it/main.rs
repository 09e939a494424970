//! Whole turns over fakes: a scripted model, a scripted client, an in-memory system and store.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "`cargo xtask faults` reads how many operations there were")]

mod bounds;
mod branch;
mod cancel;
mod commands;
mod compaction;
mod conversation;
mod every_operation;
mod fatigue;
mod faults;
mod faulty;
mod folders;
mod goals;
mod law;
mod lease_life;
mod memories;
mod network;
mod once;
mod open_changes;
mod operator;
mod own_command;
mod permission;
mod prefix;
mod recording;
mod replay;
mod restart;
mod retry;
mod rewind;
mod settings;
mod settling;
mod shells;
mod skills;
mod sources;
mod spans;
mod stage;
mod steer;
mod suspend;
mod swarm;
mod tasks;
mod text_calls;

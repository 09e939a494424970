//! Whole turns over fakes: a scripted model, a scripted client, a system in memory, a store in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod cancel;
mod compaction;
mod conversation;
mod every_operation;
mod fatigue;
mod faults;
mod faulty;
mod permission;
mod restart;
mod rewind;
mod settings;
mod settling;
mod sources;
mod stage;
mod steer;

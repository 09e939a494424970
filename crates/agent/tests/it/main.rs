//! Whole turns over fakes: a scripted model, a scripted client, a system in memory, a store in memory.

mod cancel;
mod conversation;
mod faults;
mod permission;
mod restart;
mod stage;

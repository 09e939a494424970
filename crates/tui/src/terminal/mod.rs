//! The terminal itself: its device, its modes, what it can do, its keys, and the only writer of
//! control sequences.

pub mod capabilities;
pub mod device;
pub mod events;
pub mod modes;
pub mod osc;
pub mod source;
mod units;
pub mod watcher;
pub mod writer;

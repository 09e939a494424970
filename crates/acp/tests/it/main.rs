//! Whole conversations between a scripted editor and the runtime, over a real pipe.

mod conversation;
mod stage;
mod wire;

//! Whole conversations between a scripted editor and the runtime, over a real pipe.

mod conversation;
mod hostile;
mod ide;
mod methods;
mod replay;
mod stage;
mod wire;

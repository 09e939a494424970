//! A coding agent that works through the editor.
fn main() {}

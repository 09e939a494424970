//! `tiller` in a terminal: connects the interface to the runtime and to the user's files.

mod clipboard;
mod history;
mod host;

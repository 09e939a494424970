//! What a command answers: a text for people, or one JSON object for programs.
//!
//! A command returns its result as an [`Answer`] and its failure as a [`Failure`]; [`Console`]
//! prints both, in the form that the global flags and the terminal ask for. A command itself never
//! tests `--json`, `--color` or whether a question can be asked.
//!
//! ```ignore
//! /// The result of `tiller things list`.
//! #[derive(serde::Serialize, schemars::JsonSchema)]
//! struct Things {
//!     things: Vec<Thing>,
//! }
//!
//! pub(crate) async fn run(console: &Console, name: &str) -> Result<Exit> {
//!     let Some(thing) = find(name) else {
//!         return Err(Failure::new(Kind::NotFound, format!("no thing {name}"))
//!             .hint("a name is written as `things list` shows it")
//!             .next("tiller things list")
//!             .into());
//!     };
//!     console.print(Answer::new(Things { things: vec![thing] }, "one thing\n"))
//! }
//! ```
//!
//! What may be long is a [`Page`], which [`Console::page`] prints as a table, as one object or as a
//! line for each item. A command that asks tests [`Console::may_ask`] first, and otherwise returns
//! [`Console::missing`], which names the flag. Each struct has a line in [`schemas`], from which
//! `docs/schema/cli` is written.

mod classify;
mod colour;
mod console;
mod moment;
mod output;
mod page;
pub(crate) mod schemas;

pub(crate) use classify::failure_of;
pub(crate) use colour::ColourWhen;
pub(crate) use console::{Console, Wishes};
pub(crate) use moment::rfc3339;
pub(crate) use output::{Answer, failed};
pub(crate) use page::{Page, bad_cursor, numbered};

pub(crate) use crate::failure::{Failure, Kind};

//! What the tools say and do, over a system in memory.

mod bash;
mod files;
mod freshness;
mod patch;
mod search;

use super::testing::{Memory, context, path, text};
use serde_json::json;

//! What the tools say and do, over a system in memory.

mod files;
mod freshness;
mod patch;

use super::testing::{Memory, context, path, text};
use serde_json::json;

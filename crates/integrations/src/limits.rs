//! Every limit of this crate, in one place.

use std::time::Duration;

/// Bytes of a document that describes an API.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// How deep the parts of a document in YAML may lie in each other.
pub(crate) const YAML_DEPTH: usize = 100;
/// Bytes that the names in such a document may stand for, all copies together.
pub(crate) const YAML_COPIED_BYTES: usize = 16 * 1024 * 1024;
/// Functions of one integration; further operations are left out, and counted.
pub(crate) const FUNCTIONS: usize = 2_000;
/// Bytes of a function's schema. What lies deeper than fits is described in less detail.
pub(crate) const SCHEMA_BYTES: usize = 24 * 1024;
/// How deep schemas are told at the most.
pub(crate) const SCHEMA_DEPTH: usize = 8;
/// Steps from one reference to the next before a document is taken to lead nowhere.
pub(crate) const REFERENCE_STEPS: usize = 16;
/// Parts of one schema that are looked at, so that references of references do not multiply without end.
pub(crate) const SCHEMA_PARTS: usize = 4_000;
/// Characters of a function's description.
pub(crate) const DESCRIPTION_CHARS: usize = 2_000;
/// Characters of a parameter's description.
pub(crate) const PARAMETER_CHARS: usize = 300;
/// The longest name that every vendor takes for a tool, in characters.
pub(crate) const TOOL_CHARS: usize = 64;
/// The longest name of an integration.
pub(crate) const NAME_CHARS: usize = 24;
/// The longest name of a function.
pub(crate) const FUNCTION_CHARS: usize = 64;

/// How long one request may take, its answer included.
pub(crate) const REQUEST: Duration = Duration::from_secs(60);
/// How long a call may take with everything: further tries, further pages.
pub(crate) const CALL: Duration = Duration::from_secs(180);
/// How often a request is made at the most.
pub(crate) const TRIES: u32 = 3;
/// The wait before the second try, unless the answer names one; it doubles.
pub(crate) const BACK_OFF: Duration = Duration::from_millis(500);
/// The longest wait that an answer may ask for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Redirects within one host.
pub(crate) const REDIRECTS: usize = 5;
/// Bytes of one answer.
pub(crate) const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an answer that reports a failure, of which a part is shown.
pub(crate) const FAILURE_BYTES: usize = 64 * 1024;
/// Characters of a failure's message.
pub(crate) const FAILURE_CHARS: usize = 600;
/// Bytes of the files that one call sends, all together.
pub(crate) const UPLOAD_BYTES: usize = 32 * 1024 * 1024;
/// Files that one call sends.
pub(crate) const UPLOADS: usize = 16;
/// Pages that one call follows.
pub(crate) const PAGES: usize = 20;
/// Items that one call gathers from pages.
pub(crate) const ITEMS: usize = 5_000;
/// A token is asked for anew this long before it ends.
pub(crate) const TOKEN_MARGIN: Duration = Duration::from_secs(30);

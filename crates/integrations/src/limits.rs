//! All limits of this crate.

use std::time::Duration;

/// Bytes of a document that describes an API.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Functions per integration; further operations are left out and listed as such.
pub(crate) const FUNCTIONS: usize = 2_000;
/// Bytes of a function's schema; deeper levels are dropped until it fits.
pub(crate) const SCHEMA_BYTES: usize = 24 * 1024;
/// Nesting depth of a schema for models.
pub(crate) const SCHEMA_DEPTH: usize = 8;
/// References followed in a row before a chain is considered endless.
pub(crate) const REFERENCE_STEPS: usize = 16;
/// Nodes of one schema that are processed, so that nested references cannot multiply without limit.
pub(crate) const SCHEMA_PARTS: usize = 4_000;
/// Characters of a function's description.
pub(crate) const DESCRIPTION_CHARS: usize = 2_000;
/// Characters of a parameter's description.
pub(crate) const PARAMETER_CHARS: usize = 300;
/// The longest tool name that every vendor accepts, in characters.
pub(crate) const TOOL_CHARS: usize = 64;
/// The longest name of an integration, in characters.
pub(crate) const NAME_CHARS: usize = 24;
/// The longest name of a function, in characters.
pub(crate) const FUNCTION_CHARS: usize = 64;

/// Deadline for one request, including its response.
pub(crate) const REQUEST: Duration = Duration::from_secs(60);
/// Deadline for a call in total, including retries and further pages.
pub(crate) const CALL: Duration = Duration::from_secs(180);
/// Attempts per request.
pub(crate) const TRIES: u32 = 3;
/// Delay before the second attempt, unless the response names one; it doubles with each attempt.
pub(crate) const BACK_OFF: Duration = Duration::from_millis(500);
/// The longest `Retry-After` that is waited for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Redirects within one origin.
pub(crate) const REDIRECTS: usize = 5;
/// Deadline for one file of a release.
pub(crate) const RELEASE: Duration = Duration::from_secs(600);
/// Bytes of one response.
pub(crate) const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an error response that are read.
pub(crate) const FAILURE_BYTES: usize = 64 * 1024;
/// Characters of an error message.
pub(crate) const FAILURE_CHARS: usize = 600;
/// Bytes of all files that one call sends.
pub(crate) const UPLOAD_BYTES: usize = 32 * 1024 * 1024;
/// Files that one call sends.
pub(crate) const UPLOADS: usize = 16;
/// Pages that one call requests.
pub(crate) const PAGES: usize = 20;
/// Items that one call collects from pages.
pub(crate) const ITEMS: usize = 5_000;
/// A token is renewed this long before it expires; until then it is used if that fails.
pub(crate) const TOKEN_MARGIN: Duration = Duration::from_secs(30);

/// Characters of a URL that is fetched.
pub(crate) const URL_CHARS: usize = 2_000;
/// Bytes of a page that are read; the rest is not downloaded.
pub(crate) const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Deadline for downloading a page, including redirects.
pub(crate) const PAGE: Duration = Duration::from_secs(30);
/// Elements of a page; also those that the parser creates while it repairs markup.
pub(crate) const PAGE_ELEMENTS: usize = 100_000;
/// Nesting depth of a page's elements; browsers limit it to 512 too.
pub(crate) const PAGE_DEPTH: usize = 512;
/// Bytes of a page that are parsed between two checks of its nesting.
pub(crate) const PARSED_BYTES: usize = 4 * 1024;
/// Time for parsing a page before its conversion.
pub(crate) const PARSE: Duration = Duration::from_secs(5);
/// Deadline for converting a page to Markdown, including the wait for other conversions.
pub(crate) const CONVERSION: Duration = Duration::from_secs(20);
/// Pages that are converted at the same time.
pub(crate) const CONVERSIONS: usize = 2;
/// Characters of a page's title.
pub(crate) const TITLE_CHARS: usize = 300;
/// How long a fetched page is reused.
pub(crate) const CACHED: Duration = Duration::from_secs(15 * 60);
/// Bytes of all cached pages.
pub(crate) const CACHE_BYTES: usize = 32 * 1024 * 1024;
/// Results that a search returns unless the call says otherwise.
pub(crate) const RESULTS: u64 = 10;
/// The most results that a search returns.
pub(crate) const RESULTS_MAX: u64 = 20;
/// Characters of a search query.
pub(crate) const QUERY_CHARS: usize = 400;
/// Domains that a search can be restricted to, or exclude.
pub(crate) const DOMAINS: usize = 20;
/// Characters of a search result's excerpt.
pub(crate) const SNIPPET_CHARS: usize = 500;

/// The timeout for getting a small document.
pub(crate) const SMALL_DOCUMENT: Duration = Duration::from_secs(10);

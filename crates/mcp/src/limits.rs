//! All limits of this crate.

use std::time::Duration;

/// Deadline for connecting and for listing tools, unless the description sets a timeout.
pub(crate) const CONNECT: Duration = Duration::from_secs(30);
/// Deadline for a call, unless the description sets a timeout; restarted by signs of life.
pub(crate) const CALL: Duration = Duration::from_secs(120);
/// Deadline for a call in total, regardless of signs of life; time spent waiting for the user or
/// the model does not count.
pub(crate) const CALL_MAX: Duration = Duration::from_secs(3600);
/// Lines of a server's log that are shown with a call.
pub(crate) const LOG_LINES: usize = 20;
/// Characters of each such line, and of a progress message.
pub(crate) const LOG_LINE_CHARS: usize = 300;
/// Shortest interval between two updates of what is shown of a call.
pub(crate) const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Messages of an SSE stream that are queued for reading.
pub(crate) const SSE_WAITING: usize = 64;
/// The largest timeout that a description may set.
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(3600);
/// How long the first request to a model waits for starting servers, counted from the session's
/// start.
pub(crate) const FIRST_WAIT: Duration = Duration::from_secs(3);
/// How long the server files stay unread after a session's start, unless its tools are requested:
/// the session's own response goes first.
pub(crate) const HEAD_START: Duration = Duration::from_millis(20);
/// How long a call waits for a server that is restarting.
pub(crate) const RESTART_WAIT: Duration = Duration::from_secs(10);
/// Consecutive failed starts after which a server is given up.
pub(crate) const TRIES: u32 = 5;
/// Delay before the second start; it doubles with each failure.
pub(crate) const BACK_OFF: Duration = Duration::from_millis(500);
/// Longest delay between two starts.
pub(crate) const BACK_OFF_MAX: Duration = Duration::from_secs(30);
/// A server that ran this long before it ended has its failure count reset.
pub(crate) const STEADY: Duration = Duration::from_secs(60);
/// Notifications of changed tools are collected for this long before the tools are listed again.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(250);
/// Shortest interval between two listings of a server's tools.
pub(crate) const RELIST_EVERY: Duration = Duration::from_secs(2);
/// How long a server may take to end when its session ends.
pub(crate) const CLOSE: Duration = Duration::from_secs(3);
/// Bytes of one message of a server.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Consecutive lines that are no message, after which a server is given up.
pub(crate) const GARBAGE_LINES: usize = 1_000;
/// Deadline for writing one message to a server that does not read.
pub(crate) const SEND: Duration = Duration::from_secs(30);
/// Bytes of a server's standard error that are kept.
pub(crate) const ERROR_BYTES: usize = 16 * 1024;
/// Characters of it that an error message shows.
pub(crate) const ERROR_CHARS: usize = 400;
/// Servers per session.
pub(crate) const SERVERS: usize = 64;
/// Tools per server.
pub(crate) const TOOLS: usize = 512;
/// Pages requested of one list.
pub(crate) const PAGES: usize = 64;
/// Bytes of a tool's description that models see.
pub(crate) const DESCRIPTION_BYTES: usize = 4 * 1024;
/// Bytes of a tool's schema; a tool with a larger one is left out.
pub(crate) const SCHEMA_BYTES: usize = 64 * 1024;
/// Tools of all servers that models see without a search.
pub(crate) const OFFERED_TOOLS: usize = 64;
/// Bytes of the descriptions and schemas of these tools.
pub(crate) const OFFERED_BYTES: usize = 96 * 1024;
/// Tools that one search returns.
pub(crate) const SEARCH_RESULTS: usize = 20;
/// Images per result.
pub(crate) const IMAGES: usize = 8;
/// Resources per listing.
pub(crate) const RESOURCES: usize = 200;
/// Bytes of a file that describes servers.
pub(crate) const FILE_BYTES: usize = 1024 * 1024;
/// Fields of a form that a server asks the user to fill in.
pub(crate) const FIELDS: usize = 8;
/// Characters of each text of a server in a question to the user.
pub(crate) const QUESTION_CHARS: usize = 1_000;
/// Sampling requests that a server may make during one tool call.
pub(crate) const SAMPLES: usize = 16;
/// Tokens of one sampling response.
pub(crate) const SAMPLE_TOKENS: u64 = 8_192;
/// Messages of one sampling request.
pub(crate) const SAMPLE_MESSAGES: usize = 64;
/// Bytes of text of one sampling request.
pub(crate) const SAMPLE_BYTES: usize = 200_000;
/// Prompts per server.
pub(crate) const PROMPTS: usize = 100;
/// Characters of a prompt's description that clients see.
pub(crate) const PROMPT_CHARS: usize = 200;
/// Bytes of text of one resource or prompt that are put into a message.
pub(crate) const ATTACHED_BYTES: usize = 100_000;
/// Deadline for listing or reading the resources that a prompt mentions.
pub(crate) const MENTION: Duration = Duration::from_secs(15);
/// Requests that the gateway handles concurrently.
pub(crate) const SERVED_AT_ONCE: usize = 16;
/// Requests of the gateway's client that run or wait, and responses queued for writing.
pub(crate) const SERVED_WAITING: usize = 256;
/// Bytes of an authorization server's response.
pub(crate) const OAUTH_BYTES: usize = 256 * 1024;
/// Deadline for an authorization server's response.
pub(crate) const OAUTH_REQUEST: Duration = Duration::from_secs(20);
/// Deadline for revoking tokens on sign-out.
pub(crate) const OAUTH_REVOKE: Duration = Duration::from_secs(5);
/// Deadline for the user to sign in.
pub(crate) const OAUTH_LOGIN: Duration = Duration::from_secs(300);
/// A token that expires sooner than this is renewed before it is used.
pub(crate) const OAUTH_MARGIN: Duration = Duration::from_secs(60);
/// Bytes of the browser's callback request.
pub(crate) const OAUTH_CALLBACK_BYTES: usize = 16 * 1024;
/// Deadline for the browser to send that request.
pub(crate) const OAUTH_CALLBACK: Duration = Duration::from_secs(5);

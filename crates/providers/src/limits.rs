//! The named limits of this crate. Those that are settings have their default here.

use std::time::Duration;

/// How often a request is tried in all.
pub const TRIES: u32 = 3;

/// How often a request is made anew because the server refused one of its options.
pub(crate) const MAX_LESSONS: usize = 8;

/// The wait before the second try; it doubles for each further one and a random part of it is added.
pub const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest wait before a try, whatever a server asks for in `Retry-After`.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// How long a TCP and TLS connection may take to come up.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Connections to one server that are kept open for the next request while nothing is asked.
pub(crate) const IDLE_CONNECTIONS: usize = 4;

/// How long to wait for token counts and the end marker once the model has said why it stopped. Servers that keep the connection
/// open without `[DONE]` would otherwise hold a finished answer until the idle timeout.
pub(crate) const FINISH_GRACE: Duration = Duration::from_secs(2);

/// How long to wait for the end of the HTTP body after the end marker, so that the connection can be used again.
pub(crate) const DRAIN: Duration = Duration::from_millis(5);

/// The longest line of an event stream, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The longest answer, in bytes on the wire: what is around each piece of it counts. The answer
/// itself is bounded by [`agent::ANSWER_BYTES`].
pub(crate) const MAX_STREAM_BYTES: usize = 256 * 1024 * 1024;

/// How much of what has come in is taken in one go, in bytes, before others may have the thread.
pub(crate) const SLICE_BYTES: usize = 8 * 1024;

/// How much of an error page, or of a body that is no event stream, is read, in bytes.
pub(crate) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How much of a provider's message goes into ours, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 600;

/// The most tool calls of one answer.
pub(crate) const MAX_CALLS: usize = 256;

/// How long a server of vendors, or one beyond this network, may send nothing: before the answer
/// begins as well as in the middle of it. Models that think for long say nothing for minutes.
pub const SILENCE: Duration = Duration::from_secs(5 * 60);

/// The same of a server on this machine or in its network: reading a long prompt takes minutes there.
pub const SILENCE_NEAR: Duration = Duration::from_secs(15 * 60);

/// How often a sign of life is passed on while nothing of an answer comes.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// How long a server on this machine may take to accept a connection and list its models.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_millis(250);

/// How long it may then take to tell more of them.
pub(crate) const DETAILS_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a server at an address of the user's may take to list its models.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The most models of one server that more is asked of, each with a request.
pub(crate) const DETAILED_MODELS: usize = 32;

/// The most models of one server that are listed.
pub(crate) const LISTED_MODELS: usize = 200;

/// How long a catalogue may take to arrive.
pub(crate) const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest catalogue, in bytes.
pub(crate) const MAX_CATALOGUE_BYTES: usize = 32 * 1024 * 1024;

/// How long choosing a default model waits for loopback servers.
pub(crate) const DISCOVERY_WAIT: Duration = Duration::from_millis(300);

/// The longest list of models that a server may send, in bytes.
pub(crate) const MAX_LIST_BYTES: usize = 1024 * 1024;

/// The longest name of a tool that goes to a provider, in bytes.
pub(crate) const MAX_NAME: usize = 64;

/// The longest call id that goes to a provider, in characters.
pub(crate) const MAX_CALL_ID: usize = 64;

//! The named limits of this crate. For those that are also settings, the default is here.

use std::time::Duration;

/// The maximum number of attempts for a request, including the first.
pub const TRIES: u32 = 3;

/// How many times a request is rebuilt because the server refused one of its options.
pub(crate) const MAX_REBUILDS: usize = 8;

/// The delay before the second attempt. It doubles for each further attempt, plus random jitter.
pub const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest delay before an attempt, regardless of the server's `Retry-After`.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// The timeout for establishing a TCP and TLS connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Idle connections per server that are kept open for the next request.
pub(crate) const IDLE_CONNECTIONS: usize = 4;

/// How long to wait for token counts and the end marker after the model's stop reason. Servers that
/// keep the connection open without sending `[DONE]` would otherwise hold back a finished answer
/// until the idle timeout.
pub(crate) const FINISH_GRACE: Duration = Duration::from_secs(2);

/// How long to wait for the end of the HTTP body after the end marker, so that the connection can
/// be reused.
pub(crate) const DRAIN: Duration = Duration::from_millis(5);

/// The longest line of an event stream, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The longest answer, in bytes on the wire, including the framing of each piece. The answer itself
/// is limited by [`agent::ANSWER_BYTES`].
pub(crate) const MAX_STREAM_BYTES: usize = 256 * 1024 * 1024;

/// How many received bytes are processed before the task yields to others.
pub(crate) const SLICE_BYTES: usize = 8 * 1024;

/// How many bytes are read of an error page, or of a body that is not an event stream.
pub(crate) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How much of a provider's message is quoted in ours, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 600;

/// The maximum number of tool calls in one answer.
pub(crate) const MAX_CALLS: usize = 256;

/// How long a vendor's server, or one outside the local network, may send nothing, both before the
/// answer and in the middle of it. Models that think for long send nothing for minutes.
pub const SILENCE: Duration = Duration::from_secs(5 * 60);

/// The same for a server on this machine or its local network, where processing a long prompt takes
/// minutes.
pub const SILENCE_NEAR: Duration = Duration::from_secs(15 * 60);

/// The interval of [`agent::ModelEvent::Alive`] while a connection carries data but no answer.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// The timeout for a server on this machine to accept a connection and list its models.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_millis(250);

/// The additional timeout for querying such a server for details of its models.
pub(crate) const DETAILS_TIMEOUT: Duration = Duration::from_millis(500);

/// The timeout for a server at a user-configured address to list its models.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// How many models per server are queried for details; each costs a request.
pub(crate) const DETAILED_MODELS: usize = 32;

/// How many models per server are listed.
pub(crate) const LISTED_MODELS: usize = 200;

/// The timeout for downloading a catalogue.
pub(crate) const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest catalogue, in bytes.
pub(crate) const MAX_CATALOGUE_BYTES: usize = 32 * 1024 * 1024;

/// The largest file of refused options, in bytes.
pub(crate) const MAX_REFUSALS_BYTES: usize = 1024 * 1024;

/// How many models' refused options are stored.
pub(crate) const REFUSALS_KEPT: usize = 200;

/// How long a stored refusal applies: afterwards the server may have changed.
pub(crate) const REFUSAL_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long an answer waits for the refused options before it to be stored.
pub(crate) const REFUSALS_WAIT: Duration = Duration::from_secs(1);

/// How long choosing a default model waits for loopback servers.
pub(crate) const DISCOVERY_WAIT: Duration = Duration::from_millis(300);

/// The largest list of models that a server may send, in bytes.
pub(crate) const MAX_LIST_BYTES: usize = 1024 * 1024;

/// The longest tool name that is sent to a provider, in bytes.
pub(crate) const MAX_NAME: usize = 64;

/// The longest call id that is sent to a provider, in characters.
pub(crate) const MAX_CALL_ID: usize = 64;

/// How long the check of a provider may take.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a user may take to sign in with the browser.
pub(crate) const LOGIN_WAIT: Duration = Duration::from_secs(300);
/// How long a connection to the port of the sign-in may take to send its request.
pub(crate) const LOGIN_REDIRECT: Duration = Duration::from_secs(5);
/// The largest answer to the request for a key, in bytes.
pub(crate) const MAX_LOGIN_BYTES: usize = 64 * 1024;
/// The largest request of a browser to the port of the sign-in, in bytes.
pub(crate) const MAX_REDIRECT_BYTES: usize = 16 * 1024;

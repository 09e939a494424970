//! All limits of the crate. Each is a named constant with its unit; those an administrator may
//! change are fields of [`ServeOptions`](crate::ServeOptions), with these as defaults.

use std::time::Duration;

/// Maximum bytes of one incoming message: an image of 20 MiB in base64, and the rest of its prompt.
pub const MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// Maximum bytes of one message to a client: the largest frame that common WebSocket libraries
/// read.
pub(crate) const OUTGOING_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a text that stays in a message that would be larger.
pub(crate) const SHOWN_TEXT_BYTES: usize = 64 * 1024;
/// Bytes of request bodies that a node holds before they are parsed, over all requests.
pub(crate) const UNPARSED_BYTES: usize = 256 * 1024 * 1024;
/// Maximum characters of an id in a header.
pub(crate) const ID_CHARS: usize = 128;
/// Bytes between a connection and the protocol, in each direction.
pub(crate) const PIPE_BYTES: usize = 64 * 1024;

/// Bytes that are queued for a socket; beyond it the protocol waits, and merges text.
pub(crate) const QUEUED_BYTES: usize = 64 * 1024;
/// Messages that are queued for a socket; beyond it the protocol waits, and merges text.
pub(crate) const QUEUED_MESSAGES: usize = 32;
/// Bytes of sent messages that are kept for a resumption, for each connection.
pub(crate) const KEPT_BYTES: usize = 1024 * 1024;
/// Sent messages that are kept for a resumption, for each connection.
pub(crate) const KEPT_MESSAGES: usize = 2_000;
/// Bytes of updates that may wait for a connection with a socket; beyond it the socket is closed.
pub(crate) const WAITING_BYTES: usize = 9 * 1024 * 1024;
/// Bytes of updates that may wait for a connection without a socket; beyond it the connection ends
/// and can only be loaded again.
pub(crate) const DETACHED_BYTES: usize = 1024 * 1024;
/// Bytes that a node keeps for resumptions, over all connections; beyond it, the largest connection
/// without a socket ends.
pub(crate) const NODE_KEPT_BYTES: usize = 128 * 1024 * 1024;
/// How long a connection lives without a socket.
pub const RESUME_GRACE: Duration = Duration::from_secs(300);
/// How long an ended connection's id is remembered, so that a resumption gets the reason.
pub(crate) const ENDED_KEPT: Duration = Duration::from_secs(300);
/// Ended connections whose reason is remembered.
pub(crate) const ENDED_CONNECTIONS: usize = 10_000;
/// How long the deadlines of requests to a client stand still while it has no socket.
pub(crate) const DEADLINE_PAUSE: Duration = Duration::from_secs(60);

/// Unanswered requests of a connection; beyond it, its further messages are held.
pub(crate) const UNANSWERED_REQUESTS: usize = 64;
/// Bytes of messages held behind unanswered requests; beyond it, the socket is not read.
pub(crate) const HELD_BYTES: usize = 1024 * 1024;
/// Messages held behind unanswered requests; beyond it, the socket is not read.
pub(crate) const HELD_MESSAGES: usize = 64;
/// Ids of POST requests remembered beyond the last of an unbroken sequence.
pub(crate) const MESSAGE_IDS: usize = 1024;
/// Session streams of one HTTP connection.
pub(crate) const SESSION_STREAMS: usize = 64;

/// Time for TLS and the headers of a request.
pub(crate) const HEADERS_WAIT: Duration = Duration::from_secs(10);
/// Maximum bytes of a request's headers.
pub(crate) const HEADER_BYTES: usize = 32 * 1024;
/// Time for `initialize` or a resumption on a new WebSocket.
pub(crate) const FIRST_MESSAGE_WAIT: Duration = Duration::from_secs(10);
/// The interval between two pings on a WebSocket.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time without a byte from the peer after which a WebSocket ends.
pub(crate) const SILENCE: Duration = Duration::from_secs(50);
/// The interval between two comments on an event stream.
pub(crate) const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// Time for a client to read at least one message while messages wait.
pub(crate) const SLOW_READER: Duration = Duration::from_secs(60);
/// Time that TCP waits for an acknowledgement.
#[cfg(target_os = "linux")]
pub(crate) const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Sockets of a node.
pub const SOCKETS: usize = 4_096;
/// Sockets of one source address on which no request was authenticated.
pub(crate) const UNAUTHENTICATED_SOCKETS: usize = 64;
/// Time for a server to accept a connection on its Unix socket, before it counts as alive.
pub(crate) const SOCKET_CONNECT_WAIT: Duration = Duration::from_secs(1);
/// Time for open sockets to close when the server stops.
pub(crate) const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// The interval between two looks at certificate files.
pub(crate) const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(30);
/// The interval between two looks at connections that hold too much or are read too slowly.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum bytes of the body of an administrator's request.
pub(crate) const ADMIN_BODY_BYTES: usize = 64 * 1024;
/// Maximum bytes of an answer to an administrator.
pub(crate) const ADMIN_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Time for a server to answer an administrator.
pub(crate) const ADMIN_WAIT: Duration = Duration::from_secs(30);

/// Time for a client to open a socket, with all handshakes.
pub(crate) const DIAL_WAIT: Duration = Duration::from_secs(15);
/// The first pause of a client before it connects again; each pause is twice the previous one.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest pause of a client before it connects again.
pub(crate) const RETRY_MOST: Duration = Duration::from_secs(30);
/// How long a client tries to connect again by default.
pub const GIVE_UP: Duration = Duration::from_secs(600);
/// Messages after which a client acknowledges what it has received.
pub(crate) const ACK_MESSAGES: u64 = 64;
/// The longest time before a client acknowledges what it has received.
pub(crate) const ACK_INTERVAL: Duration = Duration::from_secs(5);
/// How long the end of the input is held back for the answers of prompts that were sent again.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// Series of metrics; labels beyond it share the value `other`.
pub(crate) const METRIC_SERIES: usize = 2_000;

/// The interval in which it is measured how late tasks run.
pub(crate) const LAG_INTERVAL: Duration = Duration::from_millis(100);
/// Tasks that run later than this for [`LAG_LASTS`] are an overload.
pub(crate) const LAG: Duration = Duration::from_millis(250);
/// How long tasks run late before it counts.
pub(crate) const LAG_LASTS: Duration = Duration::from_secs(2);
/// Tasks run in time again.
pub(crate) const LAG_CALM: Duration = Duration::from_millis(125);
/// The interval between two looks at the memory of the control group.
pub(crate) const MEMORY_INTERVAL: Duration = Duration::from_secs(1);
/// The percentage of the control group's memory above which nothing new begins.
pub(crate) const MEMORY_FULL: u64 = 85;
/// The percentage up to which memory counts as free again.
pub(crate) const MEMORY_CALM: u64 = 80;
/// The percentage above which what is kept for resumptions is given up.
pub(crate) const MEMORY_CRITICAL: u64 = 95;
/// The part of the connections that is given up at a time for want of memory: one of this many.
pub(crate) const GIVEN_UP: usize = 10;
/// The wait for a connection to the store above which nothing new begins.
pub(crate) const STORE_WAIT: Duration = Duration::from_secs(1);
/// The store keeps up again.
pub(crate) const STORE_WAIT_CALM: Duration = Duration::from_millis(500);
/// Running turns of a node for each processor core.
pub(crate) const TURNS_PER_CORE: usize = 300;
/// How long all must be well below the thresholds before new things begin again.
pub(crate) const CALM: Duration = Duration::from_secs(5);
/// When a client that was refused for an overload should try again.
pub(crate) const OVERLOAD_RETRY: Duration = Duration::from_secs(5);
/// How long the loop of the node may stand still before the node counts as dead.
pub(crate) const LOOP_STANDS_STILL: Duration = Duration::from_secs(5);
/// How long an answer of the store to probes is used.
pub(crate) const READY_KEPT: Duration = Duration::from_secs(1);
/// Time for the store to answer probes.
pub(crate) const READY_WAIT: Duration = Duration::from_secs(2);

/// The interval between two looks at which nodes are alive.
pub(crate) const NODES_INTERVAL: Duration = Duration::from_secs(2);
/// How long a session is looked for that no node answers for. Longer than the life of a node that
/// died while it held the session, and shorter than an editor's patience.
pub(crate) const HOP_GIVE_UP: Duration = Duration::from_secs(90);
/// The longest pause between two attempts to reach the node of a session.
pub(crate) const HOP_RETRY_MOST: Duration = Duration::from_secs(1);
/// How long the hops of a client that is gone may take to end.
pub(crate) const HOP_END_WAIT: Duration = Duration::from_secs(5);
/// How long another node may take to open a session that goes on there without a client.
pub(crate) const HAND_OVER_WAIT: Duration = Duration::from_secs(10);
/// The interval between two looks at whether clients of a node that drains still wait.
pub(crate) const DRAIN_STEP: Duration = Duration::from_millis(100);
/// How long a node that drains waits for its turns, and then for its clients' answers.
pub const DRAIN: Duration = Duration::from_secs(60);

//! All limits of this crate.

use std::time::Duration;

/// Maximum number of connections of one session at a time.
pub const CONNECTIONS: usize = 512;

/// Maximum number of names that one session looks up.
pub const NAMES: usize = 4096;

/// Maximum time until a host is connected to.
pub const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// Maximum time for a lookup of a host's addresses.
pub const RESOLVE_WAIT: Duration = Duration::from_secs(5);

/// Maximum time until a command has sent the beginning of a connection.
pub const HELLO_WAIT: Duration = Duration::from_secs(10);

/// Maximum time without any byte on a connection.
pub const IDLE_WAIT: Duration = Duration::from_secs(10 * 60);

/// Maximum number of bytes of the beginning of a TLS connection, and of the head of a request.
pub const HEAD_BYTES: usize = 64 * 1024;

/// Maximum time for which the rest of a refused connection is read, so that the command reads the
/// refusal before the end.
pub const REFUSAL_WAIT: Duration = Duration::from_millis(500);

/// The number of seconds for which a command may keep an answer of the name server.
pub const ANSWER_SECONDS: u32 = 60;

/// Maximum size of a query to the name server, in bytes.
pub const QUERY_BYTES: usize = 4096;

/// How often the servers of commands are looked for.
pub const FORWARD_TICK: Duration = Duration::from_millis(500);

/// How many times in a row a server is seen before it is forwarded.
pub const SETTLED_TICKS: usize = 3;

/// Maximum number of servers of commands that are forwarded at a time.
pub const FORWARDED: usize = 16;

/// The size of a copy buffer, in bytes.
pub const COPY_BYTES: usize = 64 * 1024;

//! All limits of this module.

use std::time::Duration;

/// The maximum length of a bearer credential in bytes; a larger one is refused unread.
pub(super) const BEARER_BYTES: usize = 8 * 1024;

/// The random bytes of a token and of a ticket.
pub(super) const SECRET_BYTES: usize = 32;

/// The maximum number of tokens in a token file.
pub(super) const TOKENS: usize = 10_000;

/// The maximum length of a token's name in characters.
pub(super) const NAME_CHARS: usize = 64;

/// The maximum length of the name of a user or a tenant in bytes.
pub(super) const IDENTITY_BYTES: usize = 128;

/// How long the rows of the token file are used before the file's stamp is read again.
pub(super) const TOKENS_RECHECK: Duration = Duration::from_secs(1);

/// How long a write waits for the lock of the token file, and the polling interval.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(5);
pub(super) const LOCK_POLL: Duration = Duration::from_millis(10);

/// How long a revoked or expired token stays in the file, so that lists and servers know of it.
pub(super) const ENDED_TOKENS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often it is checked whether the credential of a live socket still holds.
pub(super) const VALIDITY_CHECK: Duration = Duration::from_secs(2);

/// How long a credential is accepted while it cannot be checked whether it still holds.
pub(super) const VALIDITY_UNKNOWN: Duration = Duration::from_secs(60);

/// The failed credentials of a source address within [`FAILURE_WINDOW`] after which it is refused.
pub(super) const FAILURES: u32 = 10;
/// The time over which failed credentials are counted.
pub(super) const FAILURE_WINDOW: Duration = Duration::from_secs(60);
/// How long a source address is refused at first; each further failure doubles it.
pub(super) const FIRST_DELAY: Duration = Duration::from_secs(5);
/// The longest time for which a source address is refused.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(10 * 60);
/// How long a source address without a failure is still treated as one that failed.
pub(super) const FAILURES_REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// The source addresses of one of the two generations of the table of failures.
pub(super) const FAILED_SOURCES: usize = 4096;

/// How long a ticket can be used.
pub(super) const TICKET_LIFETIME: Duration = Duration::from_secs(30);
/// The unused tickets of one user.
pub(super) const TICKETS_PER_USER: usize = 16;
/// The unused tickets of a node.
pub(super) const TICKETS: usize = 4096;

/// The maximum length of one text of an audit record in bytes.
pub(super) const AUDIT_TEXT_BYTES: usize = 256;
/// The maximum length of a line of the audit in bytes; a longer one is not read.
pub(super) const AUDIT_LINE_BYTES: usize = 16 * 1024;
/// The maximum number of audit records that are read at once.
pub(super) const AUDIT_RECORDS: usize = 100_000;

/// How far the clock of an issuer may be off.
pub(super) const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// How long keys of an issuer are used while it does not answer.
pub(super) const KEYS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The age at which keys of an issuer are fetched again, so that withdrawn ones are dropped.
pub(super) const KEYS_RENEWED: Duration = Duration::from_secs(60 * 60);
/// The shortest time between two requests for the keys of an issuer.
pub(super) const KEYS_INTERVAL: Duration = Duration::from_secs(30);
/// The timeout for both documents of an issuer.
pub(super) const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a document of an issuer in bytes.
pub(super) const KEYS_BYTES: usize = 256 * 1024;
/// The maximum number of keys of an issuer.
pub(super) const KEYS: usize = 64;

//! The words between this process and the launcher, and between the stages of the launcher.

/// The control message to the launcher that ends the command (its group gets SIGTERM).
pub(in crate::local) const TERM: u8 = b't';

/// The control message to the launcher that starts the command.
pub(in crate::local) const START: u8 = b's';

/// The message to the inner stage that stops all processes of the command. It answers when they do
/// nothing any more.
#[cfg(target_os = "linux")]
pub(super) const STOP: u8 = b'z';

/// The message to the inner stage that lets the processes go on that it has stopped.
#[cfg(target_os = "linux")]
pub(super) const GO: u8 = b'g';

/// The argument that starts the launcher's inner stage, appended to the arguments that start the
/// launcher.
#[cfg(target_os = "linux")]
pub(super) const INNER: &str = "inner";

/// The argument that starts the launcher's stage that opens a room, appended likewise.
#[cfg(target_os = "linux")]
pub(super) const ROOM: &str = "room";

/// The argument that starts the launcher's stage that creates sockets in a room, appended likewise.
#[cfg(target_os = "linux")]
pub(super) const INSIDE: &str = "inside";

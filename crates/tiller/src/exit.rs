//! What the process ends with.

/// All went well.
pub(crate) const OK: u8 = 0;
/// Something failed.
pub(crate) const ERROR: u8 = 1;
/// A limit ended the run: turns, tokens or time.
pub(crate) const LIMIT: u8 = 2;
/// Ended by SIGHUP.
pub(crate) const HUNG_UP: u8 = 129;
/// Ended by SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// Ended by SIGTERM.
pub(crate) const TERMINATED: u8 = 143;

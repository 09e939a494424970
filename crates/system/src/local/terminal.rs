//! The terminal of this process.

use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{Mode, OFlags, open},
    termios::{isatty, ttyname},
};
use std::io;

/// Opens the terminal that this process was started in, for reading and writing without blocking.
///
/// It is opened anew, so that not blocking is no property of the descriptors that other programs
/// share. Standard input may be something else, such as a pipe.
///
/// # Errors
/// If the process has no terminal, or may not open it.
pub fn open_terminal() -> io::Result<OwnedFd> {
    let streams: [BorrowedFd<'_>; 3] =
        [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // By its name, as `/dev/tty` cannot be waited for on macOS.
    let named = streams.into_iter().filter(|stream| isatty(stream)).find_map(|stream| {
        let name = ttyname(stream, Vec::new()).ok()?;
        open(&name, flags, Mode::empty()).ok()
    });
    match named {
        Some(terminal) => Ok(terminal),
        None => Ok(open("/dev/tty", flags, Mode::empty())?),
    }
}

/// Whether a person is at this process's standard input and output.
pub fn is_interactive() -> bool {
    isatty(rustix::stdio::stdin()) && isatty(rustix::stdio::stdout())
}

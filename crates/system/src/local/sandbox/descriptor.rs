//! Passes a file descriptor to the launcher and on to its inner stage. A child process starts with
//! three descriptors; a program with piped streams uses all of them, and the launcher needs one
//! more for its control messages.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// The byte that accompanies a descriptor.
const CARRIER: [u8; 1] = [b'd'];

/// Sends a descriptor over a socket.
pub(in crate::local) fn send(socket: impl AsFd, descriptor: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    buffer.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&CARRIER)], &mut buffer, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a descriptor from a socket. Child processes do not inherit it.
pub(super) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut carrier = [IoSliceMut::new(&mut byte)];
    let message =
        rustix::io::retry_on_intr(|| recvmsg(&socket, &mut carrier, &mut buffer, RecvFlags::CMSG_CLOEXEC))?;
    if message.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel drops a descriptor for which this process has no number.
        return Err(rustix::io::Errno::MFILE.into());
    }
    let received = buffer.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The number of descriptors of a room: of the user, the mount and the network namespace.
const NAMESPACES: usize = 3;

/// Receives the namespaces of a room.
pub(super) fn receive_room(socket: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    (0..NAMESPACES).map(|_| receive(&socket)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_arrives_between_the_bytes_around_it() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        ours.write_all(b"before").unwrap();
        send(&ours, &writer).unwrap();
        drop(writer);
        ours.write_all(b"behind").unwrap();
        let mut six = [0; 6];
        theirs.read_exact(&mut six).unwrap();
        assert_eq!(&six, b"before");
        let mut received = std::fs::File::from(receive(&theirs).unwrap());
        theirs.read_exact(&mut six).unwrap();
        assert_eq!(&six, b"behind");
        received.write_all(b"through").unwrap();
        drop(received);
        let mut through = String::new();
        reader.read_to_string(&mut through).unwrap();
        assert_eq!(through, "through");
        drop(ours);
        assert!(receive(&theirs).is_err(), "there is no more");
    }
}

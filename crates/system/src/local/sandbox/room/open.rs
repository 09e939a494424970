//! The stage of the launcher that opens a room: it enters new namespaces, builds the view of the
//! files, sends the descriptors of the namespaces and of its sockets, and ends.

use super::{RoomRequest, mounts, sockets};
use crate::Network;
use crate::local::sandbox::{descriptor, namespaces, supervise};
use std::fs::File;
use std::os::fd::AsFd;

/// Reads a request from standard input, which is a socket to the agent's process, and answers it
/// there.
pub(in crate::local::sandbox) fn run() -> u8 {
    match open() {
        Ok(()) => 0,
        Err(problem) => {
            supervise::print_error(&problem);
            supervise::FAILED
        }
    }
}

fn open() -> Result<(), String> {
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut control = File::from(control);
    let request = RoomRequest::read(&mut control).map_err(|error| error.to_string())?;
    namespaces::create(request.network)?;
    let sockets = match request.network {
        Network::Session => Some(sockets::bind(&request.ports)?),
        Network::Off | Network::Open => None,
    };
    mounts::build(&request.view, request.network)?;
    for name in ["user", "mnt", "net"] {
        let path = format!("/proc/self/ns/{name}");
        let namespace = File::open(&path).map_err(namespaces::problem(&path))?;
        descriptor::send(&control, &namespace).map_err(namespaces::problem("the agent's process"))?;
    }
    if let Some(sockets) = sockets {
        sockets::send(&control, &sockets).map_err(namespaces::problem("the agent's process"))?;
    }
    Ok(())
}

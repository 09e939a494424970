//! The stage of the launcher that opens a room: it enters new namespaces, builds the view of the
//! files, sends the descriptors of the namespaces and of its sockets, and ends.

use super::{RoomRequest, mounts, sockets};
use crate::Network;
use crate::local::sandbox::{descriptor, namespaces, supervise};
use std::fs::File;

/// Reads a request from standard input, which is a socket to the agent's process, and answers it
/// there.
pub(in crate::local::sandbox) fn run() -> u8 {
    supervise::stage(open)
}

fn open(mut control: File) -> Result<(), String> {
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

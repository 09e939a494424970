//! A server that systemd starts, with `Type=notify` and `WatchdogSec`.

use crate::{home::Home, team::Server};
use rustix::process::Signal;
use std::{os::unix::net::UnixDatagram, time::Duration};

#[test]
fn a_server_reports_that_it_is_ready_alive_and_stopping() {
    let home = Home::new();
    let path = home.file("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let environment = [("NOTIFY_SOCKET", path.as_str()), ("WATCHDOG_USEC", "200000")];
    let mut server = Server::start_with(&home, &["--model", "offline/pilot"], &environment);
    let next = || {
        let mut report = [0; 256];
        let length = manager.recv(&mut report).unwrap();
        String::from_utf8_lossy(&report[..length]).trim().to_owned()
    };
    let mut first = [next(), next()];
    first.sort_unstable();
    assert_eq!(first, ["READY=1", "WATCHDOG=1"]);
    assert_eq!(next(), "WATCHDOG=1");
    server.signal(Signal::TERM);
    while next() != "STOPPING=1" {}
    server.wait();
}

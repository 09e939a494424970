//! The cost of the network of confined commands: the same commands connect to a server of this
//! machine, in a process that confines commands and in one that does not.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::delegation::calls;
use super::launches::{UNCONFINED, ready};
use super::{Bench, open};
use anyhow::{Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The number of connections of a command.
const CONNECTIONS: usize = 200;

/// The number of bytes that a command receives over one connection.
const BYTES: usize = 512 << 20;

/// Measures new connections, and one that receives much.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| drop(thread::spawn(|| serve(stream))))
    });
    let mut connects = Figure::of(Quantity::time("200 connections of a confined command"));
    let mut more = Figure::of(Quantity::at_most("... times those of an unconfined one", 2.5));
    let mut receives = Figure::of(Quantity::time("512 MiB that a confined command receives"));
    let mut slower = Figure::of(Quantity::at_most("... times those of an unconfined one", 1.2));
    let settings = format!("permissions.allow = [\"network(local:{port})\"]\n");
    let mut agents = [ready(bench, &settings)?, ready(bench, UNCONFINED)?];
    for agent in &agents {
        write_scripts(Path::new(&agent.project()), port)?;
    }
    for _ in 0..bench.runs {
        let [within, without] = &mut agents;
        let pair = [times(bench, within)?, times(bench, without)?];
        connects.add_time(pair[0][0]);
        more.add(pair[0][0].as_secs_f64() / pair[1][0].as_secs_f64());
        receives.add_time(pair[0][1]);
        slower.add(pair[0][1].as_secs_f64() / pair[1][1].as_secs_f64());
    }
    Ok(vec![connects, more, receives, slower])
}

/// Writes the scripts. Each leaves a file if it succeeds.
fn write_scripts(project: &Path, port: u16) -> Result<()> {
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} || exit");
    let connects = format!(
        "for i in $(seq {CONNECTIONS}); do {connect}; echo small >&3; read -r line <&3; exec 3>&-; done; echo $line > connected\n"
    );
    std::fs::write(project.join("connects"), connects)?;
    let receives = format!("{connect}; echo large >&3; cat <&3 | wc -c > received\n");
    Ok(std::fs::write(project.join("receives"), receives)?)
}

/// Returns the times of the two commands, and checks what they received.
fn times(bench: &Bench<'_>, agent: &mut Agent) -> Result<[Duration; 2]> {
    let (session, _) = open(agent)?;
    let (_, events) = bench.turn(agent, &session, Script::Network)?;
    let project = agent.project();
    for (name, expected) in [("connected", "answer".to_owned()), ("received", BYTES.to_string())] {
        let path = Path::new(&project).join(name);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found.trim() != expected {
            bail!("a command did not reach the server: {name} is {found:?}");
        }
        std::fs::remove_file(path)?;
    }
    match calls(&events, &[])[..] {
        [_, ref connects, ref receives] => Ok([connects.time, receives.time]),
        ref other => bail!("the turn had {} calls", other.len()),
    }
}

/// Answers one connection.
fn serve(mut stream: TcpStream) {
    let mut line = String::new();
    let Ok(reading) = stream.try_clone() else { return };
    // The command may have ended.
    BufReader::new(reading).read_line(&mut line).ok();
    let (part, parts) = match line.trim() {
        "large" => (vec![b'x'; 1 << 20], BYTES >> 20),
        _ => (b"answer\n".to_vec(), 1),
    };
    for _ in 0..parts {
        if stream.write_all(&part).is_err() {
            return;
        }
    }
}

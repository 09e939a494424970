//! Transcripts of the messages between a client and the agent.
//!
//! The client gets a script in place of the binary. The script starts this program, which starts
//! the agent and copies both directions.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// The prefix of a line sent by the client.
pub(super) const TO_AGENT: char = '>';
/// The prefix of a line sent by the agent.
pub(super) const TO_CLIENT: char = '<';

/// `xtask tap FOLDER PROGRAM ARGS…`: runs the program with this process's input and output, writes
/// each line to a new file in the directory, and exits with the program's status.
///
/// # Errors
///
/// Fails if the file cannot be written, or the program does not start.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let [directory, program, args @ ..] = words else {
        bail!("usage: cargo xtask tap FOLDER PROGRAM [ARGS…]")
    };
    let path = Path::new(directory).join(format!("{}.wire", std::process::id()));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let file = Arc::new(Mutex::new(file));
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let written = Arc::clone(&file);
    // Not joined: a client may keep its end open after the agent has exited.
    thread::spawn(move || copy(std::io::stdin(), input, TO_AGENT, &written));
    copy(output, std::io::stdout(), TO_CLIENT, &file);
    let status = child.wait()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Copies line by line until either side closes; the last line may be unterminated.
fn copy(from: impl Read, mut to: impl Write, mark: char, file: &Mutex<File>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        {
            let mut file = file.lock().expect("no copier panics");
            let text = String::from_utf8_lossy(&line);
            // A transcript that cannot be written shows up as missing features.
            let _ = writeln!(file, "{mark}{}", text.trim_end_matches(['\r', '\n']));
        }
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            break;
        }
        line.clear();
    }
}

/// Creates the script that replaces the binary `tiller`, and an empty directory for its
/// transcripts.
///
/// # Errors
///
/// Fails if they cannot be written.
pub(super) fn script(xtask: &Path, tiller: &Path, directory: &Path) -> Result<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot clear {}", directory.display()))?;
    }
    fs::create_dir_all(directory)?;
    let path = directory.join("tiller");
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let (xtask, wires, tiller) = (quoted(xtask), quoted(directory), quoted(tiller));
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\nacp) exec {xtask} tap {wires} {tiller} \"$@\" ;;\nesac\nexec {tiller} \"$@\"\n"
    );
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(path)
}

/// Returns the transcripts in a directory, one per process, ordered by file name.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub(super) fn wires(directory: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wire") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Ok(fs::read_to_string(path)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_recorded_and_forwarded() {
        let mut kept = tempfile::tempfile().unwrap();
        let file = Mutex::new(kept.try_clone().unwrap());
        let (mut to_agent, mut to_client) = (Vec::new(), Vec::new());
        copy(&b"{\"id\":1}\n{\"id\":2}"[..], &mut to_agent, TO_AGENT, &file);
        copy(&b"{\"result\":3}\r\n"[..], &mut to_client, TO_CLIENT, &file);
        assert_eq!(to_agent, b"{\"id\":1}\n{\"id\":2}");
        assert_eq!(to_client, b"{\"result\":3}\r\n");
        let mut text = String::new();
        std::io::Seek::rewind(&mut kept).unwrap();
        kept.read_to_string(&mut text).unwrap();
        assert_eq!(text, ">{\"id\":1}\n>{\"id\":2}\n<{\"result\":3}\n");
    }
}

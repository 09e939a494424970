//! Inputs of unusual size: a large project, and a command with much output.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::super::window::Window;
use super::Bench;
use super::tui::{SETTLED, STATUS, send};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Directories of the large project.
const DIRECTORIES: usize = 1_000;
/// Files in each of them.
const FILES: usize = 100;

/// Measures the list of files in a project of 100,000 files, and a command that writes 100 MB.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut list = Figure::of(Quantity::ms("interface, first list of 100,000 files", 50.0));
    let mut key = Figure::of(Quantity::ms("… a further key in it", 10.0));
    let mut output = Figure::of(Quantity::mib("interface, memory that 100 MB of output add", 25.0));
    let agent = bench.ready()?;
    for _ in 0..bench.runs.min(3) {
        let mut window = Window::start(agent.in_terminal(&["--permission-mode", "prometheus"]))?;
        window.wait_for(STATUS, 0)?;
        let from = send(&mut window, Script::One)?;
        window.wait_for("done", from)?;
        window.listen(SETTLED)?;
        let before = window.resident()?;
        let from = send(&mut window, Script::Output)?;
        window.wait_for("done", from)?;
        window.listen(SETTLED)?;
        output.add(window.resident()?.saturating_sub(before) as f64 / 1024.0);
    }
    fill(Path::new(&agent.project()))?;
    for _ in 0..bench.runs.min(3) {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        window.wait_for(STATUS, 0)?;
        window.listen(SETTLED)?;
        let from = window.written.len();
        let pressed = window.keys("@")?;
        list.add_time(window.wait_for("file_", from)? - pressed);
        window.listen(4 * SETTLED)?;
        for character in "d99/f77".chars() {
            let from = window.written.len();
            let pressed = window.keys(&character.to_string())?;
            // The list changes with the frame that shows the key.
            key.add_time(window.wait_for(&character.to_string(), from)? - pressed);
            window.listen(SETTLED / 5)?;
        }
    }
    Ok(vec![list, key, output])
}

fn fill(project: &Path) -> Result<()> {
    for directory in 0..DIRECTORIES {
        let directory = project.join(format!("d{directory}"));
        fs::create_dir(&directory)?;
        for file in 0..FILES {
            fs::write(directory.join(format!("file_{file}.txt")), "")?;
        }
    }
    Ok(())
}

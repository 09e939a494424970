//! Several processes change one file at once, and no change is lost.
//!
//! The test starts its own binary again as further processes. Each replaces its own lines, one
//! after another, as a tool does: claim, read, compute, replace.

use std::{fs, process::Command};
use system::{AbsPath, LocalSystem, System, SystemError};

/// Passes the file and the number of the process.
const WRITER: &str = "TILLER_TEST_WRITER";
const PROCESSES: usize = 8;
const LINES: usize = 25;

fn line(process: usize, number: usize) -> String {
    format!("process {process} line {number}")
}

/// One of the processes: changes its lines and prints those that it changed.
#[tokio::test]
async fn what_writes() {
    let Ok(given) = std::env::var(WRITER) else { return };
    let (process, path) = given.split_once(' ').unwrap();
    let (process, path) = (process.parse().unwrap(), AbsPath::new(path).unwrap());
    let claims = process % 2 == 0;
    let system = LocalSystem::new();
    for number in 0..LINES {
        let line = line(process, number);
        // Half of the processes do not wait for the others, as another program would not.
        let _claim =
            if claims { Some(system.claim(std::slice::from_ref(&path)).await.unwrap()) } else { None };
        let before = system.read_text(&path, None).await.unwrap();
        let after = before.replace(&format!("{line} to do\n"), &format!("{line} done\n"));
        match system.replace_text(&path, Some(&before), &after).await {
            Ok(()) => println!("changed: {line}."),
            Err(SystemError::Changed(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn no_process_loses_the_change_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("shared.txt");
    let all = (0..PROCESSES).flat_map(|process| (0..LINES).map(move |number| line(process, number)));
    let start: String = all.map(|line| format!("{line} to do\n")).collect();
    fs::write(&path, &start).unwrap();
    let start_writer = |process: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writers::what_writes", "--nocapture"])
            .env(WRITER, format!("{process} {}", path.display()))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..PROCESSES).map(start_writer).collect();
    let (mut changed, mut lost) = (0, Vec::new());
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let text = fs::read_to_string(&path).unwrap();
        for report in String::from_utf8(output.stdout).unwrap().lines() {
            let Some(line) = report.split("changed: ").nth(1).and_then(|line| line.strip_suffix('.')) else {
                continue;
            };
            changed += 1;
            if !text.contains(&format!("{line} done\n")) {
                lost.push(line.to_owned());
            }
        }
    }
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), PROCESSES * LINES, "a line is missing");
    assert!(lost.is_empty(), "of {changed} changes: {lost:?}");
    assert!(changed >= PROCESSES / 2 * LINES, "{changed}");
}

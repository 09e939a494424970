//! The project's own commands. `cargo xtask ci` runs all checks; the other commands are parts of it
//! or additions.
//!
//! Architecture Invariant: nothing in the workspace depends on this crate, and it must never depend
//! on a crate of the workspace. It sees the product from outside: as manifests, as text and as a
//! process. It must never change a file of the tree unless an option says so (`--write`,
//! `--markdown`).
#![expect(clippy::print_stdout, reason = "these commands talk to a person at a terminal")]
#![expect(clippy::print_stderr, reason = "these commands talk to a person at a terminal")]

mod arguments;
mod bench;
mod ci;
mod clumsy;
mod cross;
mod dist;
mod document;
mod edits;
mod eval;
mod faults;
mod leftovers;
mod peers;
mod process;
mod reference;
mod relative;
mod second_opinion;
mod serve_ci;
mod site;
mod soak;
mod tidy;
mod wall;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci       fmt, tidy, deny, clippy, doc tests, clients and tests: everything that must pass, stopping at the first failure
  tidy     checks of the tree that no compiler makes
  reference  checks the pages of docs/reference against the code; a part of the tests [--write]
  site     the site of the documents, built by mdbook, with its links checked offline
  doc      the API documentation of all crates, without warnings
  cross    clippy for macOS, ARM Linux and musl, with what this machine has or can install [TARGET]...
  dist     the files of a release for one target, or what all targets share [--target T] [--binary PATH] [--out DIR] [--collect]
  packages  installs the packages of the debug binary from local files and starts each: a part of ci [--binary PATH]
  clients  clients that others wrote against the debug binary: a part of ci [--write] [--only NAME] [--binary PATH]
  clumsy   malformed calls of models on every wire, and what comes of each, as a table
  soak     2,000 prompts over 50 sessions with random cancels, and 200 kills of the program at random moments
  serve-ci  the tests of the server, and five minutes of random faults of three nodes with 198 sessions
  faults   every operation fails once, and 300 kills of the debug binary [--points N] [--seed S] [--binary PATH] [--only NAME]
  bench    times the release binary between a model server and an editor of its own [--json] [--runs N] [--binary PATH]
  wall     attacks on the debug binary, and what it asks about everyday commands [--family NAME] [--only NAME] [--quick] [--self-test]
  eval     what an agent gets done with a real model, on 48 tasks --model M [--agent CMD] [--tasks WORDS] [--seeds N] [--self-test]
  edits    edits of this repository's own sources in every form and with every fault of form [--cases N] [--seed S]
  second-opinion  the three wires through LiteLLM, which is installed from PyPI [--upstream URL] [--keep]
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["ci"] => ci::run(),
        ["clients", options @ ..] => ci::run_clients(options),
        // Started by the scripts that replace the binary while clients are played.
        ["tap", words @ ..] => {
            return ci::tap(words).unwrap_or_else(|error| {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            });
        }
        ["tidy"] => tidy::run(),
        ["reference", options @ ..] => reference::run(options),
        ["site"] => site::run(),
        ["doc"] => site::doc(),
        ["dist", options @ ..] => dist::run(options),
        ["packages", options @ ..] => dist::run_trial(options),
        ["cross", targets @ ..] => cross::run(targets),
        ["clumsy"] => clumsy::run(),
        ["soak"] => soak::run(),
        ["serve-ci"] => serve_ci::run(),
        ["faults", options @ ..] => faults::run(options),
        ["wall", options @ ..] => wall::run(options),
        ["eval", options @ ..] => eval::run(options),
        ["edits", options @ ..] => edits::run(options),
        ["second-opinion", options @ ..] => second_opinion::run(options),
        ["bench", options @ ..] => bench::run(options),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("error: no such command: {}\n\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

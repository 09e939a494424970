//! `tiller mcp examples`: command lines to copy.

use super::rows::{McpExample, McpExamples};
use crate::answer::Answer;

/// The examples: from a server's configuration to a call.
const EXAMPLES: [(&str, &str); 9] = [
    (
        "Configure a server that is a program",
        "tiller mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
    ),
    ("Configure a server at an address", "tiller mcp add docs --url https://mcp.example.com/mcp"),
    ("Configure a well-known server", "tiller mcp preset add github"),
    ("Store a secret that a configuration refers to", "tiller mcp secret set mcp.github.token < token.txt"),
    ("Start the servers, and report whether they work", "tiller mcp status"),
    ("List the tools of a server", "tiller mcp tools files"),
    ("Call a tool", "tiller mcp call files.read_file --arg path=README.md --json"),
    ("Trust the servers of a project after a review", "tiller mcp trust"),
    ("Serve the tools of a server to another program", "tiller mcp serve --upstream files"),
];

/// Returns the answer.
pub(super) fn answer() -> Answer {
    let examples = EXAMPLES.map(|(about, command)| McpExample { about, command });
    let text = examples.each_ref().map(|one| format!("# {}\n{}\n", one.about, one.command)).join("\n");
    Answer::new(McpExamples { examples: examples.into() }, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_example_is_a_valid_command_line() {
        for (about, command) in EXAMPLES {
            let line = command.split(" < ").next().unwrap();
            let words = line.split(' ').map(str::to_owned).collect();
            assert!(Cli::of(words).is_ok(), "{about}: {command}");
        }
    }
}

//! The table of commands.

use super::{files, lines, rename, replace, run, search, show, step::Command, tasks, write};

/// All commands. The first one that recognises a phrase parses it.
pub(crate) const COMMANDS: &[&Command] = &[
    &show::COMMAND,
    &replace::COMMAND,
    &rename::COMMAND,
    &tasks::COMMAND,
    &write::COMMAND,
    &lines::APPEND,
    &lines::INSERT,
    &lines::DELETE,
    &files::PATCH,
    &files::DELETE,
    &files::MOVE,
    &search::LIST,
    &search::SEARCH,
    &run::COMMAND,
];

#[cfg(test)]
mod tests {
    use super::{super::verbs, COMMANDS};

    #[test]
    fn every_command_has_its_verbs_in_the_list_of_verbs() {
        assert!(COMMANDS.iter().map(|command| command.verbs).eq(verbs::ALL));
    }
}

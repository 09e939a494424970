//! Unconfined commands in the terminals of editors with different ways to run commands.

use crate::{
    agent::Agent,
    editor::{Editor, Joins},
    home::Home,
};

/// Creates a project in which commands are not confined, so that each is decided once.
fn home() -> Home {
    let home = Home::new();
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = 'off'\n");
    home.write("sub/a.txt", "one\ntwo\n");
    home
}

/// Runs a line; returns all updates as text.
fn run(agent: &mut Agent, session: &str, editor: &mut Editor, line: &str) -> String {
    let before = agent.updates.len();
    agent.prompt(session, &format!("run `{line}`"), editor).unwrap();
    agent.updates[before..].iter().map(|update| update.to_string()).collect()
}

#[test]
fn an_unknown_editor_runs_exactly_the_displayed_line() {
    for (joins, probes) in [(Joins::Not, 1), (Joins::Quoted, 1), (Joins::Unquoted, 2)] {
        let home = home();
        let mut editor = Editor { joins, ..Editor::with_everything() };
        let (mut agent, session) = Agent::open(&home, &[], &editor);
        run(&mut agent, &session, &mut editor, "cd sub && touch here");
        assert!(home.read("sub/here").is_some() && home.read("here").is_none(), "{joins:?}");
        let result = run(&mut agent, &session, &mut editor, "cat sub/a.txt | sort -r; wc -l; exit 4");
        assert!(result.contains("two\\none\\n0\\n") && result.contains("exit code 4"), "{joins:?}: {result}");
        assert!(
            !result.contains("/dev/null") && !result.contains("exit 7"),
            "only the plain line is shown: {result}"
        );
        let asked = editor.log.iter().filter(|line| line.as_str() == "probe").count();
        assert_eq!((asked, editor.created), (probes, probes + 2), "{joins:?}: {:?}", editor.log);
    }
}

#[test]
fn a_known_joining_editor_gets_lines_without_a_probe() {
    let home = home();
    let name = Some(("vscode-acp-client", "0.2.0"));
    let mut editor = Editor { joins: Joins::Unquoted, name, ..Editor::with_everything() };
    let (mut agent, session) = Agent::open(&home, &[], &editor);
    let result = run(&mut agent, &session, &mut editor, "cd sub && sh -c 'echo $PWD \"*\"' && wc -l");
    assert!(result.contains("/sub *\\n0\\n"), "{result}");
    assert_eq!(editor.verbs(), ["permission", "terminal"], "{:?}", editor.log);
}

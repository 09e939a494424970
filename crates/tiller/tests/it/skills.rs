//! `tiller skills`, and the trust in a project's skills and commands.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\nlicense: MIT\n---\nInstructions of {name}.\n")
}

fn list(home: &Home) -> Value {
    serde_json::from_str(&stdout(&home.run(&["skills", "list", "--json"]))).unwrap()
}

/// Returns name and state of each skill and command.
fn states(home: &Home) -> Vec<(String, String)> {
    let list = list(home);
    assert_eq!((&list["v"], &list["success"]), (&1.into(), &true.into()));
    let rows = ["skills", "commands"].into_iter().flat_map(|kind| list[kind].as_array().unwrap().clone());
    rows.map(|row| {
        let text = |field: &str| row[field].as_str().unwrap().to_owned();
        (text("name"), text("state"))
    })
    .collect()
}

#[test]
fn p13_a_projects_skills_and_commands_are_listed_trusted_and_revoked_like_its_other_items() {
    let home = Home::new();
    home.write("../home/.agents/skills/mine/SKILL.md", &skill("mine"));
    home.write(".claude/skills/theirs/SKILL.md", &skill("theirs"));
    home.write(".claude/skills/theirs/run.sh", "echo good\n");
    home.write(".tiller/commands/fix.md", "Fix it.\n");
    let states_are = |expected: [(&str, &str); 3]| {
        let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
        assert_eq!(states(&home), expected);
    };
    states_are([("mine", "used"), ("theirs", "untrusted"), ("fix", "untrusted")]);
    let help = |home: &Home| stdout(&home.run(&["-p", "/help"]));
    assert!(help(&home).contains("`/mine`") && !help(&home).contains("theirs"), "{}", help(&home));
    home.write(".claude/skills/evil\u{1b}[2J/SKILL.md", &skill("evil"));
    let refused = home.run(&["trust"]);
    assert!(!stdout(&refused).contains('\u{1b}'), "{:?}", stdout(&refused));
    std::fs::remove_dir_all(home.project().join(".claude/skills/evil\u{1b}[2J")).unwrap();
    let shown = stdout(&refused);
    assert!(!refused.status.success());
    assert!(shown.contains("skill theirs (.claude/skills/theirs/SKILL.md), untrusted"), "{shown}");
    assert!(shown.contains("instructs the model: Does theirs"), "{shown}");
    assert!(shown.contains("file: .claude/skills/theirs/run.sh (10 bytes)"), "{shown}");
    assert!(shown.contains("command fix (.tiller/commands/fix.md), untrusted"), "{shown}");
    assert!(home.run(&["trust", "--yes", "--only", "theirs"]).status.success());
    states_are([("mine", "used"), ("theirs", "used"), ("fix", "untrusted")]);
    assert!(home.run(&["trust", "--yes"]).status.success());
    states_are([("mine", "used"), ("theirs", "used"), ("fix", "used")]);
    assert!(help(&home).contains("`/theirs`") && help(&home).contains("`/fix`"), "{}", help(&home));
    home.write(".claude/skills/theirs/run.sh", "echo evil\n");
    states_are([("mine", "used"), ("theirs", "changed"), ("fix", "used")]);
    assert!(!help(&home).contains("`/theirs`"), "{}", help(&home));
    assert!(home.run(&["trust", "--revoke=fix"]).status.success());
    states_are([("mine", "used"), ("theirs", "changed"), ("fix", "untrusted")]);
}

#[test]
fn a_skill_is_shown_and_one_that_is_not_trusted_is_not() {
    let home = Home::new();
    home.write("../home/.agents/skills/mine/SKILL.md", &skill("mine"));
    home.write("../home/.agents/skills/mine/ref/a.md", "a\n");
    home.write(".claude/skills/theirs/SKILL.md", &skill("theirs"));
    let shown = stdout(&home.run(&["skills", "show", "mine"]));
    assert!(shown.contains("mine: Does mine") && shown.contains("license: MIT"), "{shown}");
    assert!(shown.contains("/ref/a.md\n") && shown.ends_with("Instructions of mine.\n"), "{shown}");
    let row: Value = serde_json::from_str(&stdout(&home.run(&["skills", "show", "mine", "--json"]))).unwrap();
    assert_eq!(row["skill"]["body"], "Instructions of mine.");
    let untrusted = home.run(&["skills", "show", "theirs"]);
    assert!(!untrusted.status.success() && stdout(&untrusted).is_empty());
    assert!(stderr(&untrusted).contains("not trusted (`tiller trust`)"), "{}", stderr(&untrusted));
    let missing = home.run(&["skills", "show", "absent", "--json"]);
    let missing: Value = serde_json::from_str(&stdout(&missing)).unwrap();
    assert_eq!(missing["success"], false);
    assert!(missing["error"].as_str().unwrap().contains("there is no skill \"absent\""), "{missing}");
}

#[test]
fn skills_are_checked_against_the_format() {
    let home = Home::new();
    home.write("good/SKILL.md", &skill("good"));
    home.write("renamed/SKILL.md", &skill("other"));
    home.write("bad/SKILL.md", "no front matter\n");
    assert!(home.run(&["skills", "validate", "good"]).status.success());
    let output = home.run(&["skills", "validate", "good", "renamed", "bad", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let states: Vec<_> =
        report["skills"].as_array().unwrap().iter().map(|row| row["state"].clone()).collect();
    assert_eq!(
        (states, report["success"].clone()),
        (vec!["valid".into(), "usable".into(), "invalid".into()], false.into())
    );
    let text = stdout(&home.run(&["skills", "validate", "bad"]));
    assert!(text.contains("invalid ") && text.contains("does not begin with front matter"), "{text}");
    let empty = home.run(&["skills", "validate"]);
    assert!(empty.status.success() && stdout(&empty) == "There are no skills to check.\n");
}

//! What bounds every call, whatever a user answers: the mode of the session, and the folder of a
//! server's user.

use super::*;

#[test]
fn read_only_modes_run_nothing_that_changes_anything() {
    let case = Case { mode: Mode::Plan, ..Case::new() };
    for (tool, effect, accesses, expected) in [
        ("file_write", Effect::Writes, write("/w/a"), "ddd"),
        ("bash", Effect::Executes, run("ls"), "a?a"),
        ("bash", Effect::Executes, run("touch x"), "ddd"),
        ("bash", Effect::Executes, run("ls > x"), "ddd"),
        ("bash", Effect::Executes, run("ls $(x)"), "ddd"),
        ("file_read", Effect::Reads, read("/w/a"), "aaa"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
    let Decision::Deny { reason, .. } =
        case.decide(PermissionMode::Guardian, "bash", Effect::Executes, run("touch x"))
    else {
        panic!()
    };
    assert_eq!(reason, "Command blocked in Plan mode (read-only). Switch to Edit mode for write operations.");
}

#[test]
fn a_user_of_a_server_stays_in_the_own_folder_in_every_mode() {
    let case = Case { folder: Some(path("/w")), confinement: WHOLE, ..Case::new() };
    let linked = vec![Resolved::new(Access::Write(path("/w/a")), Some(path("/etc/a")), Dialect::Bash)];
    for (tool, effect, accesses, expected) in [
        ("file_read", Effect::Reads, read("/w/a"), "aaa"),
        ("file_write", Effect::Writes, write("/w/a"), "a?a"),
        ("file_read", Effect::Reads, read("/w2/a"), "ddd"),
        ("file_read", Effect::Reads, read("/tmp/a"), "ddd"),
        ("file_write", Effect::Writes, write("/etc/a"), "ddd"),
        ("file_write", Effect::Writes, linked, "ddd"),
        // The full long results of the session.
        ("file_read", Effect::Reads, read("/kept/outputs/1"), "aaa"),
        ("file_write", Effect::Writes, write("/kept/outputs/1"), "ddd"),
        ("bash", Effect::Executes, run("make"), "a?a"),
        ("bash", Effect::Executes, run_at("make", "/w/b", "/w/b"), "a?a"),
        ("bash", Effect::Executes, run_at("make", "/w/b", "/other"), "ddd"),
    ] {
        assert_eq!(case.verdicts(tool, effect, &accesses), expected, "{tool} {accesses:?}");
    }
    let lifted = Case { confinement: CommandConfinement::Lifted, ..case };
    assert_eq!(lifted.verdicts("bash", Effect::Executes, &lift("make", Some("why not"))), "ddd");
}

#[test]
fn a_root_that_leads_out_of_the_folder_is_not_writable() {
    let (folder, roots) = (path("/w"), [path("/w/a"), path("/other")]);
    let (rules, options) = (PermissionRules::default(), SandboxOptions::default());
    let bounds = |folder| Bounds {
        options: &options,
        mode: Mode::Edit,
        roots: &roots,
        blocked_paths: &[],
        rules: &rules,
        own_files: None,
        folder,
    };
    assert_eq!(sandbox(&bounds(Some(&folder))).view.roots, [path("/w/a")]);
    assert_eq!(sandbox(&bounds(None)).view.roots, roots);
}

#[test]
fn taking_over_an_agents_branch_needs_approval() {
    for confinement in [WHOLE, CommandConfinement::Off] {
        let case = Case { confinement, ..Case::new() };
        for line in [
            "git merge tiller/worker-f0c41234",
            "git -C /w merge --squash tiller/worker-f0c41234",
            "git cherry-pick main..tiller/worker-f0c41234",
            "git checkout tiller/worker-f0c41234 -- a.txt",
            "git pull . tiller/worker-f0c41234",
            "cd sub && git rebase tiller/worker-f0c41234",
        ] {
            let verdicts = case.verdicts("bash", Effect::Executes, &run(line));
            assert!(verdicts.starts_with("??"), "{line} {confinement:?}: {verdicts}");
        }
    }
    let case = Case { confinement: WHOLE, ..Case::new() };
    for line in ["git diff main...tiller/worker-f0c41234", "git log tiller/x", "git merge feature"] {
        assert_eq!(case.verdicts("bash", Effect::Executes, &run(line)), "a?a", "{line}");
    }
}

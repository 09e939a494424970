//! Trees of tasks: how they are shown, completed and checked for cycles.

use crate::{Task, TaskStatus, limits::TASKS_BRIEFED, task_tree};
use std::collections::BTreeSet;

/// Returns the bytes of all texts of the tasks.
pub(crate) fn bytes(tasks: &[Task]) -> usize {
    let texts = |task: &Task| {
        task.subject.len() + task.description.len() + task.active_form.len() + 16 * task.blocked_by.len()
    };
    tasks.iter().map(texts).sum()
}

/// Renders the tasks that need work, below the tasks that they are part of; of a long list the
/// beginning. Empty if no task needs work.
pub(crate) fn open_tree(tasks: &[Task]) -> String {
    let mut kept = BTreeSet::new();
    for task in tasks.iter().filter(|task| !task.status.is_final()) {
        let mut next = Some(task);
        // A task that was seen before ends the walk, so a circle of parents ends it too.
        while let Some(task) = next.filter(|task| kept.insert(task.id.as_str())) {
            next = tasks.iter().find(|other| Some(&other.id) == task.parent.as_ref());
        }
    }
    let open: Vec<Task> = tasks.iter().filter(|task| kept.contains(task.id.as_str())).cloned().collect();
    let tree = task_tree(&open);
    let lines: Vec<&str> = tree.lines().collect();
    match lines.get(..TASKS_BRIEFED) {
        Some(first) if first.len() < lines.len() => {
            format!("{}\n… and {} more: task_list", first.join("\n"), lines.len() - first.len())
        }
        _ => tree,
    }
}

/// Returns a note for the model about a change of the tasks that no call of it made.
pub(crate) fn note(tasks: &[Task]) -> String {
    match open_tree(tasks) {
        open if open.is_empty() => "[The user changed the task list. No task is open now.]".to_owned(),
        open => format!("[The user changed the task list. Open tasks now:\n{open}]"),
    }
}

/// Returns a value that identifies the open tasks; empty if none is open.
pub(crate) fn open_value(tasks: &[Task]) -> String {
    match open_tree(tasks) {
        open if open.is_empty() => open,
        open => blake3::hash(open.as_bytes()).to_hex()[..16].to_owned(),
    }
}

/// Completes every task whose subtasks are all completed or cancelled, with at least one completed;
/// works from the leaves upwards.
pub(crate) fn complete_parents(tasks: &mut [Task]) {
    // Each iteration completes at least one task or is the last.
    while let Some(done) =
        tasks.iter().position(|task| !task.status.is_final() && parts_done(tasks, &task.id))
    {
        tasks[done].status = TaskStatus::Completed;
    }
}

/// Whether `id` waits for `target`, directly or through other tasks.
pub(crate) fn waits_for(tasks: &[Task], id: &str, target: &str) -> bool {
    let mut open = vec![id];
    let mut seen = std::collections::HashSet::new();
    while let Some(id) = open.pop() {
        if id == target {
            return true;
        }
        if seen.insert(id) {
            let blockers = tasks.iter().filter(|task| task.id == id).flat_map(|task| &task.blocked_by);
            open.extend(blockers.map(String::as_str));
        }
    }
    false
}

fn parts_done(tasks: &[Task], id: &str) -> bool {
    let mut parts = tasks.iter().filter(|task| task.parent.as_deref() == Some(id)).peekable();
    let mut completed = false;
    parts.peek().is_some()
        && parts.all(|part| {
            completed |= part.status == TaskStatus::Completed;
            matches!(part.status, TaskStatus::Completed | TaskStatus::Cancelled)
        })
        && completed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanStatus;

    fn task(id: &str, parent: Option<&str>, status: TaskStatus, blocked_by: &[&str]) -> Task {
        Task {
            id: id.to_owned(),
            subject: format!("do {id}"),
            description: String::new(),
            active_form: format!("doing {id}"),
            parent: parent.map(str::to_owned),
            status,
            blocked_by: blocked_by.iter().map(|&id| id.to_owned()).collect(),
        }
    }

    #[test]
    fn draws_a_tree_and_a_plan() {
        let tasks = [
            task("a", None, TaskStatus::InProgress, &[]),
            task("b", None, TaskStatus::Pending, &["a", "d"]),
            task("c", Some("a"), TaskStatus::Failed, &[]),
            task("d", Some("a"), TaskStatus::Cancelled, &["a"]),
        ];
        assert_eq!(task_tree(&tasks), "◎ a do a (doing a)\n  ☠ c do c\n  ✗ d do d\n○ b do b (blocked by a)");
        assert_eq!(task_tree(&[]), "");
        let plan: Vec<_> =
            crate::plan_of(&tasks).into_iter().map(|entry| (entry.content, entry.status)).collect();
        let expected = [
            ("do a", PlanStatus::InProgress),
            ("do b", PlanStatus::Pending),
            ("do c (failed)", PlanStatus::Completed),
        ];
        assert_eq!(plan, expected.map(|(content, status)| (content.to_owned(), status)));
    }

    #[test]
    fn the_open_tasks_are_shown_below_their_parents_and_a_long_list_is_cut() {
        let tasks = [
            task("a", None, TaskStatus::Completed, &[]),
            task("b", Some("a"), TaskStatus::Pending, &[]),
            task("c", None, TaskStatus::Failed, &[]),
        ];
        assert_eq!(open_tree(&tasks), "● a do a\n  ○ b do b");
        assert_eq!(open_value(&tasks[2..]), "");
        assert_eq!(note(&tasks[2..]), "[The user changed the task list. No task is open now.]");
        // A log from elsewhere may contain a circle.
        let circle =
            [("x", "y"), ("y", "x")].map(|(id, parent)| task(id, Some(parent), TaskStatus::Pending, &[]));
        assert_eq!(open_tree(&circle), "");
        let many: Vec<_> = (0..60).map(|id| task(&id.to_string(), None, TaskStatus::Pending, &[])).collect();
        assert!(open_tree(&many).ends_with("○ 49 do 49\n… and 10 more: task_list"), "{}", open_tree(&many));
        assert_ne!(open_value(&many), open_value(&tasks));
    }

    #[test]
    fn completes_parents_from_below() {
        use TaskStatus::{Cancelled, Completed, Failed, InProgress, Pending};
        for (parts, expected) in [
            ([Completed, Completed], Completed),
            ([Completed, Cancelled], Completed),
            ([Cancelled, Cancelled], Pending),
            ([Completed, Failed], Pending),
            ([Completed, InProgress], Pending),
        ] {
            let mut tasks = [
                task("root", None, Pending, &[]),
                task("middle", Some("root"), Pending, &[]),
                task("x", Some("middle"), parts[0], &[]),
                task("y", Some("middle"), parts[1], &[]),
            ];
            complete_parents(&mut tasks);
            assert_eq!((tasks[0].status, tasks[1].status), (expected, expected), "{parts:?}");
        }
    }

    #[test]
    fn sees_cycles() {
        let tasks =
            [task("a", None, TaskStatus::Pending, &["b"]), task("b", None, TaskStatus::Pending, &["c"])];
        for (id, target, expected) in
            [("a", "c", true), ("a", "a", true), ("c", "a", false), ("b", "a", false)]
        {
            assert_eq!(waits_for(&tasks, id, target), expected, "{id} {target}");
        }
    }
}

//! The task list: texts, trees and the plan.

use super::*;
use crate::tools::testing::call;
use crate::{PlanStatus, SessionEvent, ToolContext};
use serde_json::Value;

/// Runs a call with `#0`, `#1`, … standing for the tasks' ids in the order of their creation,
/// compares the text and the plan, and keeps the new list for the next call.
async fn check(
    cx: &mut ToolContext,
    name: &str,
    arguments: Value,
    expected: &str,
    plan: Option<&[PlanStatus]>,
) {
    let ids: Vec<String> = cx.session.tasks.iter().map(|task| task.id.clone()).collect();
    let mut arguments = arguments.to_string();
    for (index, id) in ids.iter().enumerate() {
        arguments = arguments.replace(&format!("#{index}"), id);
    }
    let (mut text, events) = match call(cx, name, serde_json::from_str(&arguments).unwrap()).await {
        Ok(output) => (output.result.text, output.events),
        Err(error) => (format!("! {error}"), Vec::new()),
    };
    let shown = events.iter().map(|event| match event {
        SessionEvent::Tasks(tasks) => {
            crate::plan_of(tasks).iter().map(|entry| entry.status).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    });
    let shown: Vec<_> = shown.collect();
    if let [SessionEvent::Tasks(tasks)] = events.as_slice() {
        cx.session.tasks = tasks.as_slice().into();
    }
    let ids: Vec<String> = cx.session.tasks.iter().map(|task| task.id.clone()).collect();
    for (index, id) in ids.iter().enumerate() {
        assert!(id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
        text = text.replace(id, &format!("#{index}"));
    }
    assert_eq!(text, expected, "{name} {arguments}");
    assert_eq!(shown, plan.into_iter().map(<[_]>::to_vec).collect::<Vec<_>>(), "{name} {arguments}");
}

#[tokio::test]
async fn keeps_a_tree_of_tasks() {
    use PlanStatus::{Completed, InProgress, Pending};
    let (mut cx, _) = context(&Memory::default());
    let batch = json!({"tasks": "[{\"subject\":\"b\",\"parent_id\":\"#0\"},{\"subject\":\"c\",\"parent_id\":\"#0\"}]"});
    check(&mut cx, "task_list", json!({}), "No tasks.", None).await;
    check(
        &mut cx,
        "task_create",
        json!({"subject": "a", "description": "all of it"}),
        "Created task #0: a\n○ #0 a",
        Some(&[Pending]),
    )
    .await;
    check(
        &mut cx,
        "task_create",
        batch,
        "Created 2 tasks (#1, #2)\n○ #0 a\n  ○ #1 b\n  ○ #2 c",
        Some(&[Pending; 3]),
    )
    .await;
    check(
        &mut cx,
        "task_update",
        json!({"id": "#1", "status": "in_progress", "active_form": "doing b", "add_blocks": "#2"}),
        "Updated task #1: b\n○ #0 a\n  ◎ #1 b (doing b)\n  ○ #2 c (blocked by #1)",
        Some(&[Pending, InProgress, Pending]),
    )
    .await;
    check(
        &mut cx,
        "task_get",
        json!({"id": "#1"}),
        "◎ #1 b\nActive form: doing b\nPart of: #0\nBlocks: #2",
        None,
    )
    .await;
    check(&mut cx, "task_get", json!({"id": "#0"}), "○ #0 a\nDescription: all of it\nParts: #1, #2", None)
        .await;
    check(
        &mut cx,
        "task_update",
        json!({"id": "#1", "add_blocked_by": ["#2"]}),
        "! Task '#1' cannot wait for '#2': '#2' already waits for '#1'.",
        None,
    )
    .await;
    check(
        &mut cx,
        "task_update",
        json!({"id": "#1", "status": "completed"}),
        "Updated task #1: b\n○ #0 a\n  ● #1 b\n  ○ #2 c",
        Some(&[Pending, Completed, Pending]),
    )
    .await;
    check(
        &mut cx,
        "task_update",
        json!({"id": "#2", "status": "cancelled", "subject": "see"}),
        "Updated task #2: see\n● #0 a\n  ● #1 b\n  ✗ #2 see",
        Some(&[Completed, Completed]),
    )
    .await;
    check(&mut cx, "task_list", json!({"extra": 1}), "● #0 a\n  ● #1 b\n  ✗ #2 see", None).await;
}

#[tokio::test]
async fn says_what_is_wrong_and_changes_nothing() {
    let (mut cx, _) = context(&Memory::default());
    let unknown = "! Task 'zz' not found. Use task_list to see the ids.";
    for (name, arguments, expected) in [
        ("task_create", json!({}), "! subject cannot be empty."),
        ("task_create", json!({"subject": " "}), "! subject cannot be empty."),
        ("task_create", json!({"subject": "a", "parent_id": "zz"}), unknown),
        (
            "task_create",
            json!({"tasks": [{"subject": "a"}, {"description": "b"}]}),
            "! subject cannot be empty.",
        ),
        ("task_update", json!({"id": "zz"}), unknown),
        ("task_get", json!({"id": "zz"}), unknown),
        ("task_list", json!({}), "No tasks."),
    ] {
        check(&mut cx, name, arguments, expected, None).await;
    }
    let bad = text(&cx, "task_create", json!({"tasks": "nonsense"})).await;
    assert!(bad.starts_with("! tasks must be a JSON array of objects"), "{bad}");
    let bad = text(&cx, "task_update", json!({"id": "zz", "status": "begun"})).await;
    assert!(bad.starts_with("! Invalid arguments for 'task_update': unknown variant `begun`"), "{bad}");
    let long = json!({"subject": "x".repeat(200_000)});
    let bad = text(&cx, "task_create", long).await;
    assert!(bad.starts_with("! Not changed: the texts of all tasks together are limited to 131072"), "{bad}");
    let many: Vec<_> = (0..501).map(|index| json!({"subject": index.to_string()})).collect();
    assert_eq!(
        text(&cx, "task_create", json!({"tasks": many})).await,
        "! A session holds at most 500 tasks."
    );
}

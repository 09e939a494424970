//! The last rows: what the session runs on, what it has used, and where it is.

use super::session::SessionView;
use crate::{
    look::Look,
    text::{
        cut::{cut, cut_text},
        measure::Measure,
        row::Row,
    },
    theme::Role,
};
use agent::PermissionMode;
use ratatui_core::text::{Line, Span};

/// The width from which one row has room for all of the status.
const WIDE: usize = 60;
/// The most cells of a branch in a row that has no room for all of it.
const BRANCH_CELLS: usize = 16;

/// Returns the rows of the status: one, or two on a narrow screen if `most` allows it. What does
/// not fit is shortened, and then left out, the least important part first.
pub(super) fn status(view: &SessionView, look: &Look, most: usize) -> Vec<Row> {
    let parts = parts(view, look);
    if look.width >= WIDE || most < 2 {
        return vec![row(parts, look)];
    }
    let (first, second): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.is_choice);
    [first, second].into_iter().filter(|parts| !parts.is_empty()).map(|parts| row(parts, look)).collect()
}

fn row(mut parts: Vec<Part>, look: &Look) -> Row {
    let too_wide = |parts: &[Part]| joined_width(parts, look.measure) > look.width;
    for at in 0..parts.len() {
        if too_wide(&parts)
            && let Some(short) = parts[at].short.take()
        {
            parts[at].text = short;
        }
    }
    while parts.len() > 1 && too_wide(&parts) {
        let least = parts.iter().enumerate().min_by_key(|(_, part)| part.rank).map(|(index, _)| index);
        parts.remove(least.expect("there are parts"));
    }
    let mut spans = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(SEPARATOR, look.style(Role::Dim)));
        }
        spans.push(look.span(part.role, &part.text));
    }
    Row::new(Line::from(cut(spans, look.width, look.measure)))
}

const SEPARATOR: &str = " · ";

/// A part of the status.
struct Part {
    text: String,
    /// What is shown if there is no room for the text.
    short: Option<String>,
    role: Role,
    /// The part with the lowest rank is left out first.
    rank: u8,
    /// Whether it can be chosen for the session, rather than follows from what it does.
    is_choice: bool,
}

fn parts(view: &SessionView, look: &Look) -> Vec<Part> {
    let choice = |rank, role, text: String| Part { text, short: None, role, rank, is_choice: true };
    let fact = |rank, role, text: String| Part { is_choice: false, ..choice(rank, role, text) };
    let permission = view.controls.permission_mode;
    let unguarded = permission == PermissionMode::Prometheus;
    let model = &view.controls.model;
    let mut parts = vec![
        choice(8, Role::Dim, view.controls.mode.id().to_owned()),
        choice(9, if unguarded { Role::Warning } else { Role::Dim }, permission.id().to_owned()),
        Part {
            short: model.split_once('/').map(|(_, name)| name.to_owned()),
            ..choice(7, Role::Dim, model.clone())
        },
    ];
    if let Some(effort) = view.controls.effort {
        parts.push(choice(2, Role::Dim, format!("effort {}", effort.id())));
    }
    if let Some(percent) = view.context_percent() {
        let role = if percent >= 80 { Role::Warning } else { Role::Dim };
        parts.push(fact(6, role, format!("ctx {percent}%")));
    }
    if let Some(cost) = view.usage.as_ref().and_then(|usage| usage.sum().cost) {
        parts.push(fact(4, Role::Dim, dollars(cost.dollars())));
    }
    if !view.work.shells.is_empty() {
        parts.push(fact(3, Role::Dim, format!("shells {}", view.work.shells.len())));
    }
    let name = view.cwd.file_name().unwrap_or("/");
    parts.push(match view.branch.as_deref().map(agent::one_line) {
        Some(branch) => {
            let short = cut_text(&branch, BRANCH_CELLS, look.measure);
            let short = Some(place(name, &short, look.measure));
            Part { short, ..fact(5, Role::Dim, place(name, &branch, look.measure)) }
        }
        None => fact(5, Role::Dim, name.to_owned()),
    });
    parts
}

/// Returns the name of a directory with what git has checked out there: `shop ⎇ main`.
///
/// Fonts for which characters of ambiguous width are wide draw the sign over two cells, which no
/// terminal counts; the branch is in parentheses there, as a commit is.
fn place(name: &str, branch: &str, measure: Measure) -> String {
    match (measure.wide_ambiguous, branch.starts_with('(')) {
        (false, _) => format!("{name} ⎇ {branch}"),
        (true, true) => format!("{name} {branch}"),
        (true, false) => format!("{name} ({branch})"),
    }
}

fn joined_width(parts: &[Part], measure: Measure) -> usize {
    let texts: usize = parts.iter().map(|part| measure.text(&part.text)).sum();
    texts + measure.text(SEPARATOR) * parts.len().saturating_sub(1)
}

/// Returns an amount with as many digits as a person needs.
pub(super) fn dollars(amount: f64) -> String {
    if amount < 0.01 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::reply::OpenedSession;
    use agent::{Cost, Mode, SessionState, Usage, UsageUpdate};
    use std::time::Duration;
    use system::AbsPath;

    fn view(branch: Option<&str>) -> SessionView {
        let state = SessionState {
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            model: "anthropic/claude-sonnet-4-5".to_owned(),
            effort: None,
            title: None,
            branch: branch.map(str::to_owned),
            additional_directories: Vec::new(),
            sandbox: String::new(),
            busy: false,
        };
        let cwd = AbsPath::new("/home/u/shop").expect("an absolute path");
        let opened =
            OpenedSession { id: "s".into(), cwd, state, commands: Vec::new(), new: true, held: None };
        let mut view = SessionView::new(opened, Duration::ZERO);
        view.usage = Some(UsageUpdate {
            model: "m".to_owned(),
            context_used: 34,
            context_size: 100,
            total: Usage { cost: Some(Cost(120_000_000_000)), ..Usage::default() },
            subagents: Usage::default(),
            turn: Usage::default(),
            counted: None,
        });
        view
    }

    fn shown(view: &SessionView, width: usize, most: usize, wide: bool) -> Vec<String> {
        let look = Look { width, measure: Measure { wide_ambiguous: wide }, ..Look::default() };
        let rows = status(view, &look, most);
        assert!(rows.iter().all(|row| look.measure.line(&row.line) <= width), "{rows:?}");
        rows.iter().map(Row::plain).collect()
    }

    #[test]
    fn the_status_has_the_directory_and_its_branch_and_gives_way_by_importance() {
        let view = view(Some("main"));
        for (width, most, expected) in [
            (80, 1, vec!["edit · guardian · anthropic/claude-sonnet-4-5 · ctx 34% · $0.12 · shop ⎇ main"]),
            (76, 2, vec!["edit · guardian · claude-sonnet-4-5 · ctx 34% · $0.12 · shop ⎇ main"]),
            (60, 2, vec!["edit · guardian · claude-sonnet-4-5 · ctx 34% · shop ⎇ main"]),
            (59, 2, vec!["edit · guardian · anthropic/claude-sonnet-4-5", "ctx 34% · $0.12 · shop ⎇ main"]),
            (40, 2, vec!["edit · guardian · claude-sonnet-4-5", "ctx 34% · $0.12 · shop ⎇ main"]),
            (40, 1, vec!["edit · guardian · claude-sonnet-4-5"]),
            (20, 2, vec!["edit · guardian", "ctx 34%"]),
        ] {
            assert_eq!(shown(&view, width, most, false), expected, "{width} x {most}");
        }
    }

    #[test]
    fn a_long_branch_is_cut_before_anything_is_left_out() {
        let view = view(Some("feature/a-very-long-name-of-a-branch"));
        let row = shown(&view, 80, 1, false).remove(0);
        assert_eq!(row, "edit · guardian · claude-sonnet-4-5 · ctx 34% · $0.12 · shop ⎇ feature/a-very-…");
    }

    #[test]
    fn the_sign_of_a_branch_is_no_character_that_fonts_draw_wider_than_terminals_count() {
        let last = |branch, wide| {
            let row = shown(&view(branch), 120, 1, wide).remove(0);
            row.rsplit(" · ").next().unwrap_or_default().to_owned()
        };
        assert_eq!(last(Some("main"), true), "shop (main)");
        assert_eq!(last(Some("(0123456)"), true), "shop (0123456)");
        assert_eq!(last(Some("(0123456)"), false), "shop ⎇ (0123456)");
        assert_eq!(last(None, false), "shop");
    }
}

use super::{Fate, FileDiff};
use crate::{limits, look::Look, text::row::Row, theme::Theme};

fn diff(old: Option<&str>, new: Option<&str>) -> FileDiff {
    FileDiff::of(&agent::Diff {
        path: system::AbsPath::new("/w/a.rs").unwrap(),
        old_text: old.map(str::to_owned),
        new_text: new.map(str::to_owned),
    })
}

fn lines(diff: &FileDiff, most: usize) -> Vec<String> {
    diff.rows(most, &Look::new(Theme::terminal(), 80)).iter().map(Row::plain).collect()
}

#[test]
fn changed_lines_have_numbers_signs_and_context() {
    let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
    let new = "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
    let diff = diff(Some(old), Some(new));
    assert_eq!((diff.fate, diff.counts()), (Fate::Changed, "+2 −1".to_owned()));
    assert_eq!(
        lines(&diff, 99),
        [" 2   b", " 3   c", " 4 - d", " 4 + D", " 5   e", " 6   f", "   …", "11   k", "12   l", "13 + m",]
    );
    assert_eq!(lines(&diff, 3), [" 2   b", " 3   c", " 4 - d", "… 6 more lines"]);
}

#[test]
fn close_changes_share_their_context() {
    let diff = diff(Some("a\nb\nc\nd\ne\n"), Some("A\nb\nc\nd\nE\n"));
    assert_eq!(lines(&diff, 99), ["1 - a", "1 + A", "2   b", "3   c", "4   d", "5 - e", "5 + E"]);
}

#[test]
fn a_file_can_be_created_removed_and_left_as_it_is() {
    let created = diff(None, Some("one\ntwo"));
    assert_eq!((created.fate, lines(&created, 9)), (Fate::Created, vec!["1 + one".into(), "2 + two".into()]));
    let removed = diff(Some("one\n"), None);
    assert_eq!((removed.fate, lines(&removed, 9)), (Fate::Removed, vec!["1 - one".to_owned()]));
    assert_eq!(lines(&diff(Some("x\n"), Some("x\n")), 9), Vec::<String>::new());
}

#[test]
fn a_diff_is_limited_and_cannot_repaint() {
    let many = "x\n".repeat(2 * limits::DIFF_LINES);
    let many = diff(None, Some(&many));
    assert_eq!((many.lines.len(), many.left_out), (limits::DIFF_LINES, limits::DIFF_LINES));
    let long = diff(None, Some(&"é".repeat(limits::DIFF_LINE_BYTES)));
    assert!(long.lines[0].text.len() <= limits::DIFF_LINE_BYTES + '…'.len_utf8());
    let huge = "y\n".repeat(limits::DIFF_FILE_BYTES);
    let huge = diff(Some("z\n"), Some(&huge));
    assert_eq!((huge.added, huge.removed, huge.lines.len()), (limits::DIFF_FILE_BYTES, 1, 0));
    let hostile = diff(None, Some("\u{1b}[2Ja\u{202e}\tb\r\n"));
    assert_eq!(lines(&hostile, 9), ["1 + a   b"]);
}

//! Nothing that others say can repaint the screen, hide, or look like a panel.

use super::{look, paint};
use crate::{
    highlight::Highlighter,
    look::Look,
    safety::{
        control::is_hidden,
        corpus::{corpus, events},
    },
    text::row::Row,
    transcript::{Feed, Transcript, View, rows::Fold},
};
use agent::SessionEvent;
use system::AbsPath;

/// Checks rows: nothing hidden, and the first column is ours.
fn check(rows: &[Row], look: &Look) {
    for row in rows {
        let text = row.plain();
        assert!(!text.chars().any(|c| is_hidden(c) || c == '\u{200d}'), "{text:?}");
        let is_ours = ["you", "tiller", " ", "▸"].iter().any(|begin| text.starts_with(begin));
        assert!(
            look.plain || look.width < 2 || text.is_empty() || is_ours,
            "the first column is reserved: {text:?}"
        );
        assert!(row.line.spans.iter().all(|span| span.content.len() < 100_000));
    }
}

#[test]
fn hostile_texts_in_every_field_are_harmless_at_every_width() {
    let highlighter = Highlighter::off();
    for text in corpus() {
        let mut transcript = Transcript::new(AbsPath::new("/w").ok());
        events(&text).iter().for_each(|event| transcript.apply(event));
        assert!(transcript.cells().len() > 14);
        let looks = [1, 2, 7, 20, 39, 40, 80, 140].map(look);
        for look in looks.into_iter().chain([Look::plain()]) {
            let paint = paint(&transcript, &look, &highlighter);
            for cell in 0..transcript.cells().len() {
                check(&paint.rows(cell, Fold::Folded), &look);
                check(&paint.rows(cell, Fold::Whole), &look);
            }
            if !look.plain {
                let mut view = View::default();
                let rows = view.rows(40, &paint);
                assert!(rows.iter().all(|row| row.width() <= look.width));
                view.search("evil", &paint);
                check(&view.rows(40, &paint), &look);
            }
        }
        for cell in transcript.cells() {
            assert!(!cell.copied().chars().any(is_hidden_in_copy), "{:?}", cell.copied());
        }
    }
}

fn is_hidden_in_copy(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_hidden(c)
}

#[test]
fn hostile_texts_that_are_streamed_in_pieces_are_harmless() {
    let (look, highlighter) = (look(40), Highlighter::in_place());
    for text in corpus().into_iter().filter(|text| text.len() < 200) {
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (mut transcript, mut feed) = (Transcript::default(), Feed::default());
            for piece in [&text[..at], &text[at..]] {
                for event in [
                    SessionEvent::ThoughtDelta { id: "t".into(), text: piece.to_owned() },
                    SessionEvent::MessageDelta { id: "m".into(), text: piece.to_owned() },
                    super::printed("c", "bash", piece),
                ] {
                    transcript.apply(&event);
                    let step = feed.step(&paint(&transcript, &look, &highlighter), 20);
                    check(&step.commit, &look);
                    check(&step.tail, &look);
                }
            }
        }
    }
}

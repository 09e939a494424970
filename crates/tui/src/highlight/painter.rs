//! Highlights line by line, with the definitions of languages.

use super::{Styles, roles::Roles};
use crate::limits::{HIGHLIGHT_BLOCK_BYTES, HIGHLIGHT_LINE_BYTES};
use std::panic::{AssertUnwindSafe, catch_unwind};
use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};

/// The definitions of languages, loaded on first use.
#[derive(Default)]
pub(super) struct Painter {
    loaded: Option<(SyntaxSet, Roles)>,
}

/// How far the highlighting of a block has come; `None` if the rest of it is plain.
pub(super) struct Progress(Option<(ParseState, ScopeStack, usize)>);

/// Returns the bytes of a block that are highlighted.
pub(super) fn block_bytes() -> usize {
    HIGHLIGHT_BLOCK_BYTES
}

impl Painter {
    /// Begins a block; one of an unknown language is plain.
    pub(super) fn begin(&mut self, language: &str) -> Progress {
        if language.is_empty() {
            return Progress(None);
        }
        let (syntaxes, _) = self.loaded();
        let syntax = syntaxes.find_syntax_by_token(language);
        Progress(syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new(), HIGHLIGHT_BLOCK_BYTES)))
    }

    /// Returns the styles of the next line.
    pub(super) fn line(&mut self, progress: &mut Progress, line: &str) -> Styles {
        let Some((mut parser, mut stack, left)) = progress.0.take() else { return Styles::new() };
        let left = left.checked_sub(line.len() + 1).filter(|_| line.len() <= HIGHLIGHT_LINE_BYTES);
        let Some(left) = left else { return Styles::new() };
        let (syntaxes, roles) = self.loaded();
        // A faulty definition of a language must not end the interface.
        let styles = catch_unwind(AssertUnwindSafe(|| {
            let text = format!("{line}\n");
            let mut styles = Styles::new();
            let mut at = 0;
            let mut add = |stack: &ScopeStack, at: &mut usize, end: usize| {
                let end = end.min(line.len());
                if end > *at {
                    let (role, bytes) = (roles.of(stack), end - *at);
                    match styles.last_mut() {
                        Some((last, so_far)) if *last == role => *so_far += bytes,
                        _ => styles.push((role, bytes)),
                    }
                    *at = end;
                }
            };
            for (index, change) in parser.parse_line(&text, syntaxes).ok()? {
                add(&stack, &mut at, index);
                stack.apply(&change).ok()?;
            }
            add(&stack, &mut at, line.len());
            Some((styles, parser, stack))
        }));
        let Ok(Some((styles, parser, stack))) = styles else { return Styles::new() };
        progress.0 = Some((parser, stack, left));
        styles
    }

    fn loaded(&mut self) -> &(SyntaxSet, Roles) {
        self.loaded.get_or_insert_with(|| (two_face::syntax::extra_newlines(), Roles::new()))
    }
}

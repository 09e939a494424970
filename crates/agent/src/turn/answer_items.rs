//! Collects the items of an answer as they arrive.

use crate::{
    Item, Reasoning, Text, ToolCallRequest,
    event::item::{Paragraphs, calls_of, text_of},
};

/// The items of an answer received so far.
#[derive(Debug, Default)]
pub(super) struct AnswerItems {
    items: Vec<Item<ToolCallRequest>>,
    /// Index of the incomplete text item, to which further pieces are appended.
    open_text: Option<usize>,
    /// Text of an incomplete reasoning block.
    open_reasoning: String,
    texts: Paragraphs,
    thoughts: Paragraphs,
}

impl AnswerItems {
    /// Takes a piece of text; returns it as shown, with the gap that separates paragraphs.
    pub(super) fn text(&mut self, piece: String) -> String {
        if piece.is_empty() {
            return piece;
        }
        let gap = self.texts.push(&piece);
        let shown = if gap.is_empty() { piece.clone() } else { format!("{gap}{piece}") };
        match self.open_text.map(|at| &mut self.items[at]) {
            Some(Item::Text(open)) => open.text.push_str(&piece),
            _ => {
                self.open_text = Some(self.items.len());
                self.items.push(Item::Text(Text::plain(piece)));
            }
        }
        shown
    }

    /// Ends the text item. With opaque data, an item is kept even if it has no text.
    pub(super) fn end_text(&mut self, opaque: Option<String>) {
        self.texts.end();
        match self.open_text.take().map(|at| &mut self.items[at]) {
            Some(Item::Text(open)) => open.opaque = opaque,
            _ if opaque.is_some() => self.items.push(Item::Text(Text { text: String::new(), opaque })),
            _ => {}
        }
    }

    /// Adds a text of the runtime's own; returns it as shown.
    pub(super) fn whole_text(&mut self, text: &str) -> String {
        self.end_text(None);
        let shown = self.text(text.to_owned());
        self.end_text(None);
        shown
    }

    /// Takes a piece of reasoning; returns it as shown.
    pub(super) fn reasoning(&mut self, piece: String) -> String {
        self.open_reasoning.push_str(&piece);
        let gap = self.thoughts.push(&piece);
        if gap.is_empty() { piece } else { format!("{gap}{piece}") }
    }

    /// Ends a block of reasoning.
    pub(super) fn end_reasoning(&mut self, reasoning: Reasoning) {
        self.thoughts.end();
        self.open_reasoning.clear();
        self.items.push(Item::Reasoning(reasoning));
    }

    /// Adds a call.
    pub(super) fn call(&mut self, call: ToolCallRequest) {
        self.items.push(Item::Call(call));
    }

    /// Returns the number of calls received.
    pub(super) fn calls(&self) -> usize {
        calls_of(&self.items).count()
    }

    /// Returns the text as shown.
    pub(super) fn shown_text(&self) -> String {
        text_of(&self.items)
    }

    /// Returns the last text item.
    pub(super) fn last_text(&self) -> Option<&str> {
        match self.items.iter().rev().find(|item| matches!(item, Item::Text(_)))? {
            Item::Text(Text { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// Returns the last reasoning, complete or not.
    pub(super) fn last_thought(&self) -> Option<String> {
        if !self.open_reasoning.is_empty() {
            return Some(self.open_reasoning.clone());
        }
        self.items.iter().rev().find_map(|item| match item {
            Item::Reasoning(Reasoning { text, .. }) => Some(text.clone()),
            _ => None,
        })
    }

    /// Truncates the last text to `end` bytes. It then differs from what the model wrote, so its
    /// opaque wire data is dropped; a blank text is removed.
    pub(super) fn cut_last_text(&mut self, end: usize) {
        self.open_text = None;
        let Some(at) = self.items.iter().rposition(|item| matches!(item, Item::Text(_))) else { return };
        if let Item::Text(last) = &mut self.items[at] {
            last.text.truncate(end);
            last.opaque = None;
            if last.text.trim().is_empty() {
                self.items.remove(at);
            }
        }
    }

    /// Adds an item that has a meaning only in the provider's wire format.
    pub(super) fn other(&mut self, opaque: String) {
        self.items.push(Item::Other(opaque));
    }

    /// Drops the calls of a broken answer, which are not run.
    pub(super) fn drop_calls(&mut self) {
        self.items.retain(|item| !matches!(item, Item::Call(_)));
        self.open_text = None;
    }

    /// Returns the items in order.
    pub(super) fn into_items(mut self) -> Vec<Item<ToolCallRequest>> {
        if !self.open_reasoning.is_empty() {
            self.items.push(Item::Reasoning(Reasoning { text: self.open_reasoning, opaque: None }));
        }
        self.items
    }
}

//! The items of an answer, as they come.

use crate::{
    Item, Reasoning, Text, ToolCallRequest,
    event::item::{Paragraphs, calls_of, text_of},
};

/// What came of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    items: Vec<Item<ToolCallRequest>>,
    /// The place of the text that is not complete: further pieces belong to it.
    open_text: Option<usize>,
    /// Reasoning whose block is not complete.
    open_reasoning: String,
    texts: Paragraphs,
    thoughts: Paragraphs,
}

impl Gathered {
    /// Takes a piece of text; what a person reads of it, with the gap that makes it a paragraph.
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

    /// The text is complete. One of which no piece came is an item all the same.
    pub(super) fn end_text(&mut self, opaque: Option<String>) {
        self.texts.end();
        match self.open_text.take().map(|at| &mut self.items[at]) {
            Some(Item::Text(open)) => open.opaque = opaque,
            _ if opaque.is_some() => self.items.push(Item::Text(Text { text: String::new(), opaque })),
            _ => {}
        }
    }

    /// Adds a text of our own; what a person reads of it.
    pub(super) fn whole_text(&mut self, text: &str) -> String {
        self.end_text(None);
        let shown = self.text(text.to_owned());
        self.end_text(None);
        shown
    }

    /// Takes a piece of reasoning; what a person reads of it.
    pub(super) fn reasoning(&mut self, piece: String) -> String {
        self.open_reasoning.push_str(&piece);
        let gap = self.thoughts.push(&piece);
        if gap.is_empty() { piece } else { format!("{gap}{piece}") }
    }

    /// A block of reasoning is complete.
    pub(super) fn end_reasoning(&mut self, reasoning: Reasoning) {
        self.thoughts.end();
        self.open_reasoning.clear();
        self.items.push(Item::Reasoning(reasoning));
    }

    /// Adds a call.
    pub(super) fn call(&mut self, call: ToolCallRequest) {
        self.items.push(Item::Call(call));
    }

    /// How many calls came.
    pub(super) fn calls(&self) -> usize {
        calls_of(&self.items).count()
    }

    /// The text as a person reads it.
    pub(super) fn shown_text(&self) -> String {
        text_of(&self.items)
    }

    /// The text at the end of the answer.
    pub(super) fn last_text(&self) -> Option<&str> {
        match self.items.iter().rev().find(|item| matches!(item, Item::Text(_)))? {
            Item::Text(Text { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// What was thought last.
    pub(super) fn last_thought(&self) -> Option<String> {
        if !self.open_reasoning.is_empty() {
            return Some(self.open_reasoning.clone());
        }
        self.items.iter().rev().find_map(|item| match item {
            Item::Reasoning(Reasoning { text, .. }) => Some(text.clone()),
            _ => None,
        })
    }

    /// Keeps so many bytes of the last text. It is no longer what the model wrote, so its wire's own form goes; one without words goes
    /// altogether.
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

    /// Adds an item that means nothing outside its wire.
    pub(super) fn other(&mut self, opaque: String) {
        self.items.push(Item::Other(opaque));
    }

    /// The answer broke off: its calls are not run.
    pub(super) fn drop_calls(&mut self) {
        self.items.retain(|item| !matches!(item, Item::Call(_)));
        self.open_text = None;
    }

    /// What came, in order.
    pub(super) fn into_items(mut self) -> Vec<Item<ToolCallRequest>> {
        if !self.open_reasoning.is_empty() {
            self.items.push(Item::Reasoning(Reasoning { text: self.open_reasoning, opaque: None }));
        }
        self.items
    }
}

//! Measures a page's markup before it is converted: a parser takes time proportional to the nesting
//! depth for each tag, and repairs markup by creating elements, so that a small hostile page could
//! occupy it for hours.
//!
//! The page is parsed in pieces into nothing: the elements that the parser still refers to are
//! counted, and parsing stops at the first piece that exceeds a limit.

use crate::limits::{PAGE_DEPTH, PAGE_ELEMENTS, PARSE, PARSED_BYTES};
use html5ever::{
    Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_document,
    tendril::{StrTendril, TendrilSink as _},
    tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink},
};
use std::{borrow::Cow, cell::Cell, rc::Rc, time::Instant};

/// The limit that a page's markup exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum MarkupError {
    /// Too many elements are open at the same time.
    #[error("its elements are nested more than {PAGE_DEPTH} deep")]
    Depth,
    /// There are too many elements.
    #[error("it has more than {PAGE_ELEMENTS} elements")]
    Elements,
    /// Parsing takes too long.
    #[error("parsing it takes longer than {} s", PARSE.as_secs())]
    Time,
}

/// Checks that a page can be converted in a reasonable time.
///
/// # Errors
///
/// Fails with the first limit that its markup exceeds.
pub(super) fn check(html: &str) -> Result<(), MarkupError> {
    let began = Instant::now();
    let counts = Rc::new(Counts::default());
    let options = ParseOpts {
        // As for the conversion, so that both build the same tree.
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Sink { counts: counts.clone() }, options);
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(agent::floor_char_boundary(rest, PARSED_BYTES));
        parser.process(piece.into());
        rest = after;
        if counts.most_held.get() > PAGE_DEPTH {
            return Err(MarkupError::Depth);
        }
        if counts.created.get() > PAGE_ELEMENTS {
            return Err(MarkupError::Elements);
        }
        if began.elapsed() > PARSE {
            return Err(MarkupError::Time);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Counts {
    created: Cell<usize>,
    /// The elements that the parser refers to now: those that are open, and formatting elements
    /// that it will open again.
    held: Cell<usize>,
    most_held: Cell<usize>,
}

/// A node of the tree that is not built.
struct Node {
    name: QualName,
    is_integration_point: bool,
    counts: Rc<Counts>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.counts.held.set(self.counts.held.get() - 1);
    }
}

struct Sink {
    counts: Rc<Counts>,
}

impl Sink {
    fn node(&self, name: QualName, is_integration_point: bool) -> Rc<Node> {
        let Counts { created, held, most_held } = self.counts.as_ref();
        created.set(created.get() + 1);
        held.set(held.get() + 1);
        most_held.set(most_held.get().max(held.get()));
        Rc::new(Node { name, is_integration_point, counts: self.counts.clone() })
    }

    fn nameless(&self) -> Rc<Node> {
        self.node(QualName::new(None, ns!(html), local_name!("")), false)
    }
}

impl TreeSink for Sink {
    type Handle = Rc<Node>;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Rc<Node> {
        self.nameless()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, _attributes: Vec<Attribute>, flags: ElementFlags) -> Rc<Node> {
        self.node(name, flags.mathml_annotation_xml_integration_point)
    }

    fn create_comment(&self, _text: StrTendril) -> Rc<Node> {
        self.nameless()
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Rc<Node> {
        self.nameless()
    }

    fn append(&self, _parent: &Rc<Node>, _child: NodeOrText<Rc<Node>>) {}

    fn append_based_on_parent_node(
        &self,
        _element: &Rc<Node>,
        _previous: &Rc<Node>,
        _child: NodeOrText<Rc<Node>>,
    ) {
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        target.clone()
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, _sibling: &Rc<Node>, _child: NodeOrText<Rc<Node>>) {}

    fn add_attrs_if_missing(&self, _target: &Rc<Node>, _attributes: Vec<Attribute>) {}

    fn remove_from_parent(&self, _target: &Rc<Node>) {}

    fn reparent_children(&self, _node: &Rc<Node>, _parent: &Rc<Node>) {}

    fn is_mathml_annotation_xml_integration_point(&self, node: &Rc<Node>) -> bool {
        node.is_integration_point
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_that_would_occupy_a_parser_is_refused() {
        let many = 120_000;
        let numbered = |count: usize, tag: &str| -> String {
            (0..count).map(|number| format!("<{tag} id={number}>")).collect()
        };
        for (html, expected) in [
            ("<p>a<p>b".to_owned(), Ok(())),
            ("<div>".repeat(400), Ok(())),
            ("<li>x".repeat(20_000), Ok(())),
            ("<div>".repeat(many), Err(MarkupError::Depth)),
            // Formatting elements that stay open are opened again in each paragraph.
            (numbered(many, "b"), Err(MarkupError::Depth)),
            (format!("{}{}", numbered(60, "b"), "<p>x</p>".repeat(many)), Err(MarkupError::Elements)),
            // An end tag that another element hides from its start tag closes nothing.
            ("<div><object></div></object>".repeat(many / 8), Err(MarkupError::Depth)),
            ("<svg><g>".repeat(many), Err(MarkupError::Depth)),
            ("<math><annotation-xml encoding=text/html><div>".repeat(many / 8), Err(MarkupError::Depth)),
            ("<template>".repeat(many), Err(MarkupError::Depth)),
            ("<p>x</p>".repeat(many), Err(MarkupError::Elements)),
            ("<!-- -->".repeat(many), Err(MarkupError::Elements)),
        ] {
            assert_eq!(check(&html), expected, "{}", &html[..html.len().min(60)]);
        }
    }
}

//! Renders a piece with its blocks: paragraphs, nested lists, quotations, tables.

use super::table::{Cell, Table};
use crate::{
    limits::NESTING,
    look::Look,
    text::{link, row::Row, wrap::wrap},
    theme::Role,
};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use ratatui_core::{
    style::Color,
    text::{Line, Span},
};
use std::{borrow::Cow, sync::Arc};

/// Renders Markdown to rows of at most `width` cells; also returns the names of the last table's
/// columns.
///
/// `number` is the number of the first item, if the text is an item of an ordered list. `indent`
/// are columns to put before each row.
pub(super) fn rows(
    text: &str,
    number: Option<u64>,
    indent: usize,
    width: usize,
    look: &Look,
) -> (Vec<Row>, Vec<String>) {
    let text = agent::sanitise(text);
    let indent = if look.plain { 0 } else { indent.min(2 * NESTING).min(width / 2) };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(&text, options);
    let mut definitions: Vec<_> = parser.reference_definitions().iter().collect();
    definitions.sort_by_key(|(_, definition)| definition.span.start);
    let definitions: Vec<_> =
        definitions.iter().map(|(_, definition)| text[definition.span.clone()].trim().to_owned()).collect();
    let mut writer = Writer::new(number, width.saturating_sub(indent).max(1), look);
    parser.for_each(|event| writer.event(event));
    writer.end_block();
    // Definitions of links are shown as written, since the links to them are.
    for definition in &definitions {
        writer.push(definition);
        writer.end_block();
    }
    let gutter = || Span::raw(" ".repeat(indent));
    let links: Option<Arc<[Arc<str>]>> = (!writer.addresses.is_empty()).then(|| writer.addresses.into());
    let rows = writer.rows.into_iter().map(|row| Row { links: links.clone(), ..row }.after(gutter()));
    (rows.collect(), writer.head)
}

struct Writer<'a> {
    look: &'a Look,
    width: usize,
    rows: Vec<Row>,
    /// The text of the unfinished paragraph, heading or cell.
    spans: Vec<Span<'static>>,
    roles: Vec<Role>,
    containers: Vec<Container>,
    /// The open lists: the number of the next item, if they are ordered.
    lists: Vec<Option<u64>>,
    /// The number of the outermost list's first item, if it is not the one in the text.
    number: Option<u64>,
    links: Vec<OpenLink>,
    /// The addresses of hyperlinks; see [`Row::link`].
    addresses: Vec<Arc<str>>,
    table: Option<Table>,
    head: Vec<String>,
    in_code: bool,
    /// Whether an empty row is due before the next block.
    is_gap_due: bool,
}

/// A link whose text is not complete.
struct OpenLink {
    address: String,
    /// Where its text begins.
    from: usize,
    /// The number of its address among the hyperlinks, if it is one.
    number: Option<u8>,
}

/// What a block is in, which determines how its rows begin.
enum Container {
    Quote,
    /// An item: its marker, until that is written, and its width.
    Item {
        marker: Option<String>,
        cells: usize,
    },
}

impl<'a> Writer<'a> {
    fn new(number: Option<u64>, width: usize, look: &'a Look) -> Self {
        Self {
            look,
            width,
            rows: Vec::new(),
            spans: Vec::new(),
            roles: vec![Role::Text],
            containers: Vec::new(),
            lists: Vec::new(),
            number,
            links: Vec::new(),
            addresses: Vec::new(),
            table: None,
            head: Vec::new(),
            in_code: false,
            is_gap_due: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) => self.push(&text),
            Event::Code(text) => self.styled(Role::Code, &text),
            // No HTML: a line break is one, all else is shown as text.
            Event::Html(html) | Event::InlineHtml(html) if is_line_break(&html) => self.line_break(),
            Event::Html(html) => html.lines().for_each(|line| {
                self.push(line);
                self.line_break();
            }),
            Event::InlineHtml(html) => self.push(&html),
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.begin_block();
                let width = self.inner().min(self.width).min(24);
                let rule = if self.look.plain { "-" } else { "─" };
                self.spans = vec![Span::styled(rule.repeat(width), self.look.style(Role::Rule))];
                self.end_block();
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text),
            Event::FootnoteReference(name) => self.push(&format!("[^{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.roles.push(Role::Heading);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
                self.roles.push(Role::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.in_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && self.look.plain
                    && !language.is_empty()
                {
                    self.code(&format!("{language}:"));
                }
            }
            Tag::List(start) => {
                // A list follows the text of its item without an empty row.
                let in_item = self.containers.iter().any(|open| matches!(open, Container::Item { .. }));
                match in_item {
                    true => self.end_block(),
                    false => self.begin_block(),
                }
                let first = match (self.lists.is_empty(), self.number.take()) {
                    (true, Some(number)) => start.map(|_| number),
                    _ => start,
                };
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                self.is_gap_due = false;
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ if self.look.plain => "- ".to_owned(),
                    _ => "• ".to_owned(),
                };
                let cells = self.look.measure.text(&marker);
                self.containers.push(Container::Item { marker: Some(marker), cells });
            }
            Tag::Emphasis => self.roles.push(Role::Emphasis),
            Tag::Strong => self.roles.push(Role::Strong),
            Tag::Strikethrough => self.push("~~"),
            Tag::Link { link_type, dest_url, .. } => {
                let address = match link_type {
                    LinkType::Email => String::new(),
                    _ => dest_url.into_string(),
                };
                let number = self.hyperlink(&address);
                self.links.push(OpenLink { address, from: self.spans.len(), number });
                self.roles.push(Role::Link);
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ");
                let address = dest_url.into_string();
                self.links.push(OpenLink { address, from: self.spans.len(), number: None });
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table { alignments, ..Table::default() });
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableHead => self.roles.push(Role::Strong),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.roles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.containers.pop();
                self.roles.pop();
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.is_gap_due = true;
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
                self.is_gap_due = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_item();
                self.containers.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.roles.pop();
            }
            TagEnd::Strikethrough => self.push("~~"),
            TagEnd::Link => {
                self.roles.pop();
                self.end_link();
            }
            TagEnd::Image => {
                self.push("]");
                self.end_link();
            }
            TagEnd::TableCell => {
                let cell = self.cell();
                match &mut self.table {
                    Some(table) => match table.rows.last_mut() {
                        Some(row) => row.push(cell),
                        None => table.head.push(cell),
                    },
                    None => self.spans = cell,
                }
            }
            TagEnd::TableHead => {
                self.roles.pop();
            }
            TagEnd::Table => {
                let Some(table) = self.table.take() else { return };
                self.head = table.names();
                let rows = table.rows(self.inner(), self.look);
                self.push_rows(rows);
                self.is_gap_due = true;
            }
            _ => {}
        }
    }

    /// Adds text of the innermost role.
    fn push(&mut self, text: &str) {
        self.add(None, text);
    }

    /// Adds text of a role within the innermost one.
    fn styled(&mut self, role: Role, text: &str) {
        self.add(Some(role), text);
    }

    fn add(&mut self, role: Option<Role>, text: &str) {
        let roles = self.roles.iter().chain(role.as_ref());
        let style =
            roles.fold(self.look.style(Role::Text), |style, role| style.patch(self.look.style(*role)));
        let mut span = self.look.span(Role::Text, text);
        span.style = style;
        let number = self.links.last().and_then(|link| link.number);
        span.style.underline_color = number.map(Color::Indexed);
        if !span.content.is_empty() {
            self.spans.push(span);
        }
    }

    /// Shows the address of a link behind its text, unless that is the address.
    fn end_link(&mut self) {
        let Some(OpenLink { address, from, .. }) = self.links.last() else { return };
        let text: String =
            self.spans[(*from).min(self.spans.len())..].iter().map(|span| &*span.content).collect();
        let bare = |text: &str| -> String {
            let text = text.trim().trim_end_matches('/');
            text.strip_prefix("https://").or(text.strip_prefix("mailto:")).unwrap_or(text).to_owned()
        };
        let differs = !address.is_empty() && bare(&text) != bare(address);
        let shown = differs.then(|| format!(" ({})", agent::one_line(address)));
        if let Some(shown) = shown {
            self.styled(Role::Dim, &shown);
        }
        self.links.pop();
    }

    /// Adds an address to those of hyperlinks; returns its number if it may be one.
    fn hyperlink(&mut self, address: &str) -> Option<u8> {
        let number = u8::try_from(self.addresses.len()).ok()?;
        let target = link::target(address, &self.look.roots)?;
        self.addresses.push(target.into());
        Some(number)
    }

    fn line_break(&mut self) {
        match self.table {
            Some(_) => self.push(" "),
            None => self.write_lines(),
        }
    }

    fn code(&mut self, text: &str) {
        for line in text.trim_end_matches('\n').split('\n') {
            let span = self.look.span(Role::Text, line);
            self.push_rows(vec![Row::logical(span)]);
        }
    }

    fn begin_block(&mut self) {
        self.end_block();
        if std::mem::take(&mut self.is_gap_due) && !self.rows.is_empty() && !self.in_item() {
            self.push_rows(vec![Row::empty()]);
        }
    }

    fn end_block(&mut self) {
        if !self.spans.is_empty() {
            self.write_lines();
            self.is_gap_due = true;
        }
    }

    /// Writes the marker of an item without text.
    fn end_item(&mut self) {
        self.end_block();
        if matches!(self.containers.last(), Some(Container::Item { marker: Some(_), .. })) {
            self.push_rows(vec![Row::empty()]);
        }
        self.is_gap_due = false;
    }

    fn in_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item { .. }))
    }

    fn cell(&mut self) -> Cell {
        std::mem::take(&mut self.spans)
    }

    /// Returns the width within the containers.
    fn inner(&self) -> usize {
        let before: usize = self.containers.iter().take(NESTING).map(Container::cells).sum();
        self.width.saturating_sub(before).max(1)
    }

    fn write_lines(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let width = self.inner();
        let lines = wrap(&spans, width, width, self.look.measure);
        self.push_rows(lines.into_iter().map(|line| Row::new(Line::from(line))).collect());
    }

    /// Adds rows with what the containers put before them.
    fn push_rows(&mut self, rows: Vec<Row>) {
        for mut row in rows {
            let mut before = Vec::new();
            for container in self.containers.iter_mut().take(NESTING) {
                before.push(container.prefix(self.look));
            }
            before.append(&mut row.line.spans);
            row.line.spans = before;
            self.rows.push(row);
        }
    }
}

impl Container {
    fn cells(&self) -> usize {
        match self {
            Self::Quote => 2,
            Self::Item { cells, .. } => *cells,
        }
    }

    /// Returns the beginning of the next row.
    fn prefix(&mut self, look: &Look) -> Span<'static> {
        match self {
            // `> ` asks for a line in plain mode.
            Self::Quote if look.plain => Span::raw("quote: "),
            Self::Quote => Span::styled("> ", look.style(Role::Rule)),
            Self::Item { marker, cells } => match marker.take() {
                Some(marker) => Span::styled(marker, look.style(Role::Dim)),
                None => Span::raw(Cow::Owned(" ".repeat(*cells))),
            },
        }
    }
}

/// Returns whether a tag is `<br>`.
fn is_line_break(html: &str) -> bool {
    let inner = html.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|name| name.trim_end_matches('/').trim().eq_ignore_ascii_case("br"))
}

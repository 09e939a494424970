use super::{Piece, PieceKind, Rendered, Renderer, Splitter};
use crate::{limits, look::Look, theme::Theme};
use proptest::prelude::*;

fn look(width: usize) -> Look {
    Look::new(Theme::terminal(), width)
}

fn pieces(text: &str) -> Vec<Piece> {
    Splitter::default().settled(text, true)
}

/// Renders a whole text to lines without styles; `▏` marks a line of a fence.
fn lines(text: &str, width: usize) -> Vec<String> {
    rendered(text, &pieces(text), &look(width))
}

fn rendered(text: &str, pieces: &[Piece], look: &Look) -> Vec<String> {
    let mut renderer = Renderer::default();
    let parts = pieces.iter().flat_map(|piece| renderer.render(text, piece, look.width, look));
    let lines = parts.filter_map(|part| match part {
        Rendered::Row(row) => Some(row.plain()),
        Rendered::Code(line) => Some(format!("▏{}", line.row(&[], look).plain())),
        Rendered::CodeStart(_) | Rendered::CodeEnd => None,
    });
    lines.collect()
}

#[test]
fn blocks_are_rendered_one_below_the_other() {
    for (text, expected) in [
        ("", vec![]),
        ("one\ntwo\n\nthree", vec!["one two", "", "three"]),
        ("# Title\ntext", vec!["Title", "", "text"]),
        ("Title\n---\ntext", vec!["Title", "", "text"]),
        ("a\n\n***\n\nb", vec!["a", "", "────────────────────", "", "b"]),
        ("some *em*, **strong** and `co de`", vec!["some em, strong and", "co de"]),
        ("- a\n- b\n\n- c", vec!["• a", "• b", "• c"]),
        ("1. a\n1. b\n   more\n2. c", vec!["1. a", "2. b more", "3. c"]),
        ("7) x\n8) y", vec!["7. x", "8. y"]),
        ("- a\n  - b\n    - c\n- d", vec!["• a", "  • b", "    • c", "• d"]),
        ("- a long item that is wrapped", vec!["• a long item that", "  is wrapped"]),
        ("- a\n\ntext", vec!["• a", "", "text"]),
        ("- a\n* b", vec!["• a", "", "• b"]),
        ("- [ ] open\n- [x] done", vec!["• [ ] open", "• [x] done"]),
        ("> said\n> twice\n\nme", vec!["> said twice", "", "me"]),
        ("> a\n>\n> b", vec!["> a", "> ", "> b"]),
        ("a<br>b", vec!["a", "b"]),
        ("<b>bold</b> text", vec!["<b>bold</b> text"]),
        ("<div>\nx\n</div>", vec!["<div>", "x", "</div>"]),
        ("a \\* b &amp; c &#27;[31m", vec!["a * b & c [31m"]),
        ("~~gone~~", vec!["~~gone~~"]),
        ("-", vec!["• "]),
    ] {
        assert_eq!(lines(text, 20), expected, "{text:?}");
    }
}

/// Returns the texts that are hyperlinks, row by row, with their addresses.
fn linked(text: &str, width: usize) -> Vec<(String, String)> {
    let look = Look { roots: [system::AbsPath::new("/w").unwrap()].into(), ..look(width) };
    let mut renderer = Renderer::default();
    let mut found: Vec<(String, String)> = Vec::new();
    for part in pieces(text).iter().flat_map(|piece| renderer.render(text, piece, width, &look)) {
        let Rendered::Row(row) = part else { continue };
        let mut last: Option<String> = None;
        for span in &row.line.spans {
            let address = row.link(span.style).map(|address| address.to_string());
            match (&address, found.last_mut()) {
                (Some(_), Some((text, _))) if last == address => text.push_str(&span.content),
                (Some(address), _) => found.push((span.content.to_string(), address.clone())),
                (None, _) => {}
            }
            last = address;
        }
    }
    found
}

#[test]
fn a_link_is_a_hyperlink_only_with_its_address_in_sight() {
    for (text, expected) in [
        ("[the book](https://a.example/b)", vec![("the book (https://a.example/b)", "https://a.example/b")]),
        ("see <https://a.example>.", vec![("https://a.example", "https://a.example")]),
        (
            "[https://good.example](https://evil.example/)",
            vec![("https://good.example (https://evil.example/)", "https://evil.example/")],
        ),
        (
            "[a](https://a.example)[b](https://b.example) c",
            vec![
                ("a (https://a.example)", "https://a.example"),
                ("b (https://b.example)", "https://b.example"),
            ],
        ),
        ("[x](javascript:alert)", vec![]),
        ("[x](https://good.example@evil.example)", vec![]),
        ("![i](https://a.example/i.png)", vec![]),
        ("[page](src/page.rs#L3)", vec![("page (src/page.rs#L3)", "file:///w/src/page.rs")]),
        ("[x](../up) and [y](/etc/passwd)", vec![]),
        ("| h |\n|---|\n| [x](https://a.example) |", vec![("x (https://a.example)", "https://a.example")]),
        ("`https://a.example` and https://a.example", vec![]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(text, address)| (text.to_owned(), address.to_owned())).collect();
        assert_eq!(linked(text, 60), expected, "{text:?}");
    }
    let address = "https://a.example/a-long-path";
    let wrapped = linked(&format!("[two words]({address})"), 12);
    assert!(wrapped.len() > 2 && wrapped.iter().all(|(_, whole)| whole == address), "{wrapped:?}");
    let shown: String = lines("[x](javascript:alert)", 40).concat();
    assert_eq!(shown, "x (javascript:alert)", "the address of what is no link is shown too");
}

#[test]
fn code_is_shown_line_by_line_as_written() {
    for (text, expected) in [
        ("```rust\nfn a() {\n\n}\n```\nx", vec!["▏fn a() {", "▏", "▏}", "", "x"]),
        ("a\n```\n  b\n", vec!["a", "", "▏  b"]),
        ("~~~\n```\n~~~", vec!["▏```"]),
        ("````\n```\n````", vec!["▏```"]),
        (
            "1. do\n   ```sh\n   ls\n     -l\n   ```\n   then\n2. x",
            vec!["1. do", "▏   ls", "▏     -l", "   then", "2. x"],
        ),
        ("- ```\n  x\n  ```\n- y", vec!["• ", "▏  x", "• y"]),
        ("- a\n  - b\n    ```\n    c\n    ```\n- d", vec!["• a", "  • b", "▏    c", "• d"]),
        ("- a\n  ```\n  b\nc", vec!["• a", "▏  b", "", "c"]),
        ("text\n\n    indented\n    code\n", vec!["text", "", "indented", "code"]),
        ("```\n\tx\n```", vec!["▏    x"]),
    ] {
        assert_eq!(lines(text, 20), expected, "{text:?}");
    }
}

#[test]
fn a_link_shows_its_address_unless_that_is_its_text() {
    for (text, expected) in [
        ("[https://good.example](https://evil.example/x)", "https://good.example (https://evil.example/x)"),
        ("[here](https://a.example)", "here (https://a.example)"),
        ("<https://a.example/>", "https://a.example/"),
        ("[a.example](https://a.example/)", "a.example"),
        ("<me@a.example>", "me@a.example"),
        ("![a cat](cat.png)", "[image: a cat] (cat.png)"),
        ("[x][y]", "[x][y]"),
        ("[y]: https://a.example", "[y]: https://a.example"),
    ] {
        assert_eq!(lines(text, 200).join("\n"), expected, "{text:?}");
    }
}

#[test]
fn a_table_is_aligned_if_it_fits() {
    let text = "| name | n |\n|:--|--:|\n| one | 1 |\n| a longer one | 22 |\n";
    assert_eq!(
        lines(text, 30),
        ["name           n", "────────────────", "one            1", "a longer one  22"]
    );
    assert_eq!(lines(text, 12), ["name       n", "────────────", "one        1", "a longer  22", "one"]);
    assert_eq!(
        lines(text, 7),
        ["name:", "  one;", "  n: 1", "name:", "  a", "  longe", "  r", "  one;", "  n: 22"]
    );
    let look = Look { plain: true, ..look(80) };
    assert_eq!(rendered(text, &pieces(text), &look), ["name: one; n: 1", "name: a longer one; n: 22"]);
}

#[test]
fn a_long_table_goes_on_as_text() {
    let mut text = "| a | b |\n|---|---|\n".to_owned();
    let rows = limits::TABLE_ROWS + 3;
    (0..rows).for_each(|row| text.push_str(&format!("| {row} | x\\|y |\n")));
    text.push_str("\nend");
    let lines = lines(&text, 40);
    assert_eq!(lines.len(), 2 + rows + 2);
    assert_eq!(lines[2], "0   x|y");
    assert_eq!(lines[2 + limits::TABLE_ROWS - 1], "49  x|y");
    assert_eq!(lines[2 + limits::TABLE_ROWS..][..3], ["a: 50; b: x|y", "a: 51; b: x|y", "a: 52; b: x|y"]);
}

#[test]
fn a_long_paragraph_is_divided_where_no_markup_is_open() {
    let text = format!("{} **strong words here** {}", "word. ".repeat(320), "more text. ".repeat(300));
    let pieces = pieces(&text);
    assert!(pieces.len() > 2 && pieces.iter().skip(1).all(|piece| piece.joins));
    assert!(pieces.iter().all(|piece| piece.range.len() <= limits::TEXT_BYTES + limits::LINE_BYTES));
    for piece in &pieces {
        assert_eq!(text[piece.range.clone()].matches("**").count() % 2, 0);
    }
    assert!(!lines(&text, 80).join(" ").contains("**"));
}

#[test]
fn a_huge_word_is_divided_too() {
    let text = "é".repeat(100_000);
    let all: String = lines(&text, 80).concat();
    assert_eq!(all, text);
}

/// Counts the bytes that a stream of a text makes the splitter and the renderer look at.
fn work(text: &str, chunk: usize) -> usize {
    let (mut splitter, mut renderer, mut work) = (Splitter::default(), Renderer::default(), 0);
    let (look, mut end) = (look(80), 0);
    while end < text.len() {
        end = agent::ceil_char_boundary(text, (end + chunk).min(text.len()));
        let so_far = &text[..end];
        for piece in splitter.settled(so_far, end == text.len()) {
            work += piece.range.len();
            renderer.render(so_far, &piece, look.width, &look);
        }
        work += end - splitter.unsettled_from();
    }
    work
}

#[test]
fn the_cost_of_a_stream_is_linear_in_the_text() {
    let paragraph = "A sentence with *some* words and `code` in it. ".repeat(9);
    for text in [
        format!("{paragraph}\n\n"),
        paragraph.clone(),
        "```rust\nlet x = 1; // a line of code\n".to_owned(),
        "- an item of a list\n".to_owned(),
        "> a quotation\n".to_owned(),
        "| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned(),
        "[[[[((((****____".to_owned(),
    ] {
        let of = |bytes: usize| work(&text.repeat(bytes / text.len()), 64);
        let (small, great) = (of(20_000), of(80_000));
        assert!(great < 5 * small, "{great} for four times {small}: {text:?}");
    }
}

/// Texts made of parts that begin, continue and end blocks.
pub(crate) fn markdown() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "word ",
        "*em* ",
        "`code` ",
        "**b",
        "\n",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "  ",
        "    ",
        "> ",
        "# ",
        "```\n",
        "```rust\n",
        "~~~\n",
        "---\n",
        "***\n",
        "| a | b |\n",
        "|---|---|\n",
        "| 1 | 2 |\n",
        "<b>",
        "<!--\n",
        "[x](y)",
        "\r\n",
        "é漢🙂",
        "\u{1b}[31m",
        "\u{1b}]0;",
        "&#27;",
        "\u{202e}",
        "\t",
        "===\n",
        "\\",
        "[r]: u\n",
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_cut_of_a_text_gives_the_same_pieces(
        text in markdown(), repeat in prop::sample::select(vec![1_usize, 1, 1, 30]), cuts in prop::collection::vec(0_usize..4_000, 0..12),
    ) {
        let text = text.repeat(repeat);
        let mut splitter = Splitter::default();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| agent::floor_char_boundary(&text, *cut)).collect();
        cuts.sort_unstable();
        let mut parts: Vec<_> = cuts.iter().flat_map(|cut| {
            let parts = splitter.settled(&text[..*cut], false);
            splitter.unsettled(&text[..*cut]);
            parts
        }).collect();
        parts.extend(splitter.settled(&text, true));
        prop_assert_eq!(parts, pieces(&text));
    }

    #[test]
    fn pieces_are_in_order_and_leave_out_only_blanks(text in markdown()) {
        let mut at = 0;
        for piece in pieces(&text) {
            prop_assert!(piece.range.start >= at);
            prop_assert!(text[at..piece.range.start].trim().is_empty(), "{:?}", &text[at..piece.range.start]);
            at = piece.range.end;
        }
        prop_assert!(text[at..].trim().is_empty());
    }

    #[test]
    fn rows_fit_and_show_no_control_character(text in markdown(), width in 1_usize..40, plain in any::<bool>()) {
        let look = Look { plain, ..look(width) };
        let mut renderer = Renderer::default();
        for piece in pieces(&text) {
            for part in renderer.render(&text, &piece, width, &look) {
                let Rendered::Row(row) = part else { continue };
                prop_assert!(!row.plain().chars().any(char::is_control), "{:?}", row.plain());
                let is_code = row.overflow == crate::text::row::Overflow::Logical;
                prop_assert!(is_code || row.width() <= width.max(2 * limits::NESTING + 20), "{:?}", row.plain());
            }
        }
    }
}

#[test]
fn a_fence_names_its_language() {
    let text = "~~~ rust ignore\nx\n~~~";
    let mut renderer = Renderer::default();
    let parts: Vec<_> =
        pieces(text).iter().flat_map(|piece| renderer.render(text, piece, 40, &look(40))).collect();
    assert_eq!(parts[0], Rendered::CodeStart("rust ignore".to_owned()));
    assert_eq!(pieces(text)[1].kind, PieceKind::Code);
}

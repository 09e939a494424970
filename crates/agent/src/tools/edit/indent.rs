//! Conversion between indentation styles: maps the indentation of a text's lines to that of a file.

use std::collections::BTreeMap;

/// The units of one indentation level, divisible by every width from 1 to 8 blanks.
const LEVEL: i64 = 840;
/// The candidate widths of a level in blanks; the most common first.
const WIDTHS: [i64; 5] = [4, 2, 8, 3, 1];

/// A mapping from the indentation of one text to that of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reindent {
    /// Prepends this indentation.
    Deeper(String),
    /// Strips this prefix of the indentation.
    Shallower(String),
    /// Converts levels between styles.
    Levels {
        /// The width of a level in the source, in blanks. A tab is one level.
        from: i64,
        /// The width of a level in the target, in blanks.
        to: i64,
        /// The units (see [`LEVEL`]) that are added.
        shift: i64,
        /// Whether the target indents with tabs.
        tabs: bool,
    },
}

/// The indentation style of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Whether most indented lines begin with a tab; `None` if no line is indented.
    pub(super) tabs: Option<bool>,
    /// The width of a level, in blanks.
    pub(super) width: Option<i64>,
}

impl Style {
    /// Detects the style of lines.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let (mut tabs, mut blanks) = (0, 0);
        let mut steps: BTreeMap<i64, usize> = BTreeMap::new();
        let mut last = i64::MAX;
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let indent = indent_of(line);
            match indent.as_bytes().first() {
                Some(b'\t') => tabs += 1,
                Some(_) => blanks += 1,
                None => {}
            }
            let depth = indent.len() as i64;
            if depth > last && depth - last > 1 && !indent.contains('\t') {
                *steps.entry(depth - last).or_default() += 1;
            }
            last = depth;
        }
        // The most common increase in depth; the smaller one if two are equally common.
        let width = steps.into_iter().rev().max_by_key(|(_, count)| *count).map(|(width, _)| width);
        Self { tabs: (tabs + blanks > 0).then_some(tabs > blanks), width: width.filter(|width| *width <= 8) }
    }
}

impl Reindent {
    /// Returns a mapping that turns the first indentation of every pair into the second, if there
    /// is one. `from` is the style of the text with the first indentations, `to` that of the file.
    pub(super) fn between(pairs: &[(&str, &str)], from: Style, to: Style) -> Option<Self> {
        let (first, second) = pairs.first()?;
        let levels = |(from_width, to_width): (i64, i64)| {
            let tabs = to.tabs.unwrap_or(false);
            let shift = parts(second, to_width) - parts(first, from_width);
            Self::Levels { from: from_width, to: to_width, shift, tabs }
        };
        let mut ways = Vec::new();
        if let (Some(from), Some(to)) = (from.width, to.width)
            && from != to
        {
            ways.push(levels((from, to)));
        }
        if from.tabs.is_none() || to.tabs.is_none() || from.tabs == to.tabs {
            ways.extend(second.strip_suffix(first).map(|more| Self::Deeper(more.to_owned())));
            ways.extend(first.strip_suffix(second).map(|less| Self::Shallower(less.to_owned())));
        }
        let widths = |known: Option<i64>| known.into_iter().chain(WIDTHS);
        for from_width in widths(from.width) {
            ways.extend(widths(to.width).map(|to_width| levels((from_width, to_width))));
        }
        ways.into_iter().find(|way| pairs.iter().all(|(from, to)| way.of(from).as_deref() == Some(*to)))
    }

    /// Maps an indentation; `None` if it would become negative.
    pub(super) fn of(&self, indent: &str) -> Option<String> {
        match self {
            Self::Deeper(more) => Some(format!("{more}{indent}")),
            Self::Shallower(less) => indent.strip_prefix(less.as_str()).map(str::to_owned),
            Self::Levels { from, to, shift, tabs } => {
                let depth = parts(indent, *from) + shift;
                let (full, rest) = if *tabs { (depth / LEVEL, depth % LEVEL) } else { (0, depth) };
                if depth < 0 || rest * to % LEVEL != 0 {
                    return None;
                }
                Some("\t".repeat(full as usize) + &" ".repeat((rest * to / LEVEL) as usize))
            }
        }
    }
}

/// Returns the leading blanks and tabs of a line.
pub(in crate::tools) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the depth of an indentation in units (see [`LEVEL`]), for levels of `width` blanks.
fn parts(indent: &str, width: i64) -> i64 {
    let tabs = indent.matches('\t').count() as i64;
    let blanks = indent.len() as i64 - tabs;
    tabs * LEVEL + blanks * LEVEL / width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(text: &str) -> Style {
        Style::of(text.lines())
    }

    #[test]
    fn tells_how_a_text_is_indented() {
        for (text, tabs, width) in [
            ("a\n    b\n        c\n    d\n", Some(false), Some(4)),
            ("a\n  b\n\n    c\n   * d", Some(false), Some(2)),
            ("a\n\tb\n\t\tc", Some(true), None),
            ("a\nb", None, None),
        ] {
            assert_eq!(style(text), Style { tabs, width }, "{text:?}");
        }
    }

    #[test]
    fn carries_indentation_over() {
        for (from, to, pairs, others) in [
            // Indentation omitted, or too much of it.
            (
                "a\n    b",
                "    a\n        b",
                &[("", "    "), ("    ", "        ")][..],
                &[("        ", Some("            "))][..],
            ),
            (
                "        a",
                "    a",
                &[("        ", "    ")],
                &[("            ", Some("        ")), ("", None)],
            ),
            // Tabs and blanks.
            (
                "a\n    b",
                "a\n\tb",
                &[("", ""), ("    ", "\t")],
                &[("        ", Some("\t\t")), ("      ", Some("\t  "))],
            ),
            ("a\n\tb", "a\n  b", &[("", ""), ("\t", "  ")], &[("\t\t", Some("    "))]),
            (
                "\ta\n\t\tb",
                "a\n    b",
                &[("\t", ""), ("\t\t", "    ")],
                &[("\t\t\t", Some("        ")), ("", None)],
            ),
            // Other widths.
            (
                "a\n  b\n    c",
                "a\n    b\n        c",
                &[("", ""), ("  ", "    ")],
                &[("    ", Some("        "))],
            ),
            ("a\n    b", "a\n  b\n    c", &[("    ", "  ")], &[("        ", Some("    "))]),
        ] {
            let way = Reindent::between(pairs, style(from), style(to)).unwrap_or_else(|| panic!("{pairs:?}"));
            for (indent, expected) in others {
                assert_eq!(way.of(indent).as_deref(), *expected, "{pairs:?} {way:?} {indent:?}");
            }
        }
    }

    #[test]
    fn another_shape_is_not_carried_over() {
        for pairs in [
            &[("", ""), ("    ", "    "), ("    ", "")][..],
            &[("", ""), ("    ", "    "), ("        ", "            ")],
            &[("", "    "), ("    ", "")],
            &[("", ""), ("\t", "")],
        ] {
            let text = Style { tabs: Some(false), width: Some(4) };
            assert_eq!(Reindent::between(pairs, text, text), None, "{pairs:?}");
        }
    }
}

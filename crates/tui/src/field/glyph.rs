//! How the user's own text is shown: control and invisible characters are visible, and each cluster
//! has a known width.

use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// A grapheme cluster as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glyph<'a> {
    /// Its text on the screen.
    pub(crate) text: Cow<'a, str>,
    /// Its width in cells, at least 1.
    pub(crate) width: usize,
    /// Whether it is a sign for a character that is not shown itself.
    pub(crate) sign: bool,
}

/// The distance of tab stops, in cells.
const TAB: usize = 4;
/// Joins characters to one, such as a family of emoji.
const JOINER: char = '\u{200d}';

/// Returns how a cluster is shown at a column of a row that is `room` cells wide.
pub(crate) fn glyph(cluster: &str, column: usize, room: usize) -> Glyph<'_> {
    let shown = match cluster {
        "\t" => {
            let width = TAB - column % TAB;
            return Glyph { text: " ".repeat(width.min(room)).into(), width: width.min(room), sign: false };
        }
        "\u{7f}" => Glyph { text: "^?".into(), width: 2, sign: true },
        _ => {
            let byte = cluster.as_bytes().first().copied().unwrap_or_default();
            match byte {
                0..=0x1f if cluster.len() == 1 => {
                    let letter = char::from(byte + b'@');
                    Glyph { text: format!("^{letter}").into(), width: 2, sign: true }
                }
                _ => visible(cluster),
            }
        }
    };
    match shown.width <= room {
        true => shown,
        // Half a character cannot be shown.
        false => Glyph { text: "…".into(), width: 1, sign: true },
    }
}

/// Returns a text cut to a width, with `…` in place of what is left out.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let mut out = String::new();
    for cluster in unicode_segmentation::UnicodeSegmentation::graphemes(text, true) {
        if out.width() + cluster.width() + 1 > width {
            break;
        }
        out.push_str(cluster);
    }
    if width > 0 {
        out.push('…');
    }
    out.into()
}

fn visible(cluster: &str) -> Glyph<'_> {
    let joined = cluster.contains(JOINER) && cluster.chars().count() > 1;
    let checked = if joined { Cow::from(cluster.replace(JOINER, "")) } else { cluster.into() };
    let escaped = agent::one_line(&checked);
    if escaped != checked {
        let escaped = agent::one_line(cluster);
        return Glyph { width: escaped.width(), text: escaped.into(), sign: true };
    }
    match cluster.width() {
        // A mark without the letter that it belongs to would change the cell before it.
        0 => {
            let text = format!("◌{cluster}");
            Glyph { width: text.width().max(1), text: text.into(), sign: true }
        }
        width => Glyph { text: cluster.into(), width, sign: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_or_hide_is_shown_as_a_sign() {
        for (cluster, shown, width, sign) in [
            ("a", "a", 1, false),
            ("日", "日", 2, false),
            ("e\u{301}", "e\u{301}", 1, false),
            ("\u{1b}", "^[", 2, true),
            ("\u{0}", "^@", 2, true),
            ("\u{7f}", "^?", 2, true),
            ("\u{9b}", "\\u{9b}", 6, true),
            ("\u{202e}", "\\u{202e}", 8, true),
            ("\u{200d}", "\\u{200d}", 8, true),
            ("\u{301}", "◌\u{301}", 1, true),
            ("👩\u{200d}👧", "👩\u{200d}👧", 2, false),
        ] {
            let glyph = glyph(cluster, 0, 80);
            assert_eq!((&*glyph.text, glyph.width, glyph.sign), (shown, width, sign), "{cluster:?}");
        }
        assert_eq!(glyph("日", 0, 1).text, "…");
        assert_eq!(glyph("\t", 5, 80).text, "   ");
        assert_eq!(glyph("\t", 0, 1).width, 1);
    }

    #[test]
    fn a_cut_text_says_that_it_is_cut() {
        for (width, shown) in [(5, "日本"), (4, "日本"), (3, "日…"), (2, "…"), (1, "…"), (0, "")] {
            assert_eq!(cut("日本", width), shown, "{width}");
        }
    }
}

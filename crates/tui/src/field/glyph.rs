//! How the user's own text is shown: control and invisible characters are visible, and each cluster
//! has a known width.

use crate::limits::TAB_CELLS;
use crate::text::measure::Measure;
use std::borrow::Cow;

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

/// Joins characters to one, such as a family of emoji.
const JOINER: char = '\u{200d}';

/// Returns how a cluster is shown at a column of a row that is `room` cells wide.
pub(crate) fn glyph(cluster: &str, column: usize, room: usize, measure: Measure) -> Glyph<'_> {
    let shown = match cluster {
        "\t" => {
            let width = TAB_CELLS - column % TAB_CELLS;
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
                _ => visible(cluster, measure),
            }
        }
    };
    match shown.width <= room {
        true => shown,
        // Half a character cannot be shown.
        false => Glyph { text: "…".into(), width: 1, sign: true },
    }
}

fn visible(cluster: &str, measure: Measure) -> Glyph<'_> {
    let joined = cluster.contains(JOINER) && cluster.chars().count() > 1;
    let checked = if joined { Cow::from(cluster.replace(JOINER, "")) } else { cluster.into() };
    let escaped = agent::one_line(&checked);
    if escaped != checked {
        let escaped = agent::one_line(cluster);
        return Glyph { width: measure.text(&escaped), text: escaped.into(), sign: true };
    }
    match measure.cluster(cluster) {
        // A mark without the letter that it belongs to would change the cell before it.
        0 => {
            let text = format!("◌{cluster}");
            Glyph { width: measure.text(&text).max(1), text: text.into(), sign: true }
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
            let glyph = glyph(cluster, 0, 80, Measure::default());
            assert_eq!((&*glyph.text, glyph.width, glyph.sign), (shown, width, sign), "{cluster:?}");
        }
        assert_eq!(glyph("日", 0, 1, Measure::default()).text, "…");
        assert_eq!(glyph("\t", 5, 80, Measure::default()).text, "   ");
        assert_eq!(glyph("\t", 0, 1, Measure::default()).width, 1);
    }
}

//! The stored form of the colours of a command's output.

use agent::{Colours, Ink, Run};

/// The attributes, from bit 16 on.
const ATTRIBUTES: u32 = 16;

/// Returns runs as the first byte, the number of bytes and the ink. An ink has in bits 0 to 7 the
/// colour plus 1, in bits 8 to 15 likewise the colour behind, then bold, dim, italic, underline and
/// reverse.
pub(super) fn stored(colours: &Colours) -> Vec<(usize, usize, u32)> {
    colours.runs().iter().map(|run| (run.bytes.start, run.bytes.len(), packed(&run.ink))).collect()
}

/// Reads runs. Those that are not in order are left out.
pub(super) fn read(stored: Vec<(usize, usize, u32)>) -> Colours {
    let run = |(start, len, ink): (usize, usize, u32)| Run {
        bytes: start..start.saturating_add(len),
        ink: unpacked(ink),
    };
    Colours::of(stored.into_iter().map(run))
}

fn packed(ink: &Ink) -> u32 {
    let colour = |colour: Option<u8>| colour.map_or(0, |colour| u32::from(colour & 15) + 1);
    let attributes = [ink.bold, ink.dim, ink.italic, ink.underline, ink.reverse];
    let bits = attributes.iter().enumerate().map(|(bit, on)| u32::from(*on) << bit).sum::<u32>();
    colour(ink.colour) | colour(ink.behind) << 8 | bits << ATTRIBUTES
}

fn unpacked(stored: u32) -> Ink {
    let [text, behind, ..] = stored.to_le_bytes();
    let colour = |stored: u8| stored.checked_sub(1).map(|colour| colour & 15);
    let bit = |bit: u32| stored >> (ATTRIBUTES + bit) & 1 == 1;
    Ink {
        colour: colour(text),
        behind: colour(behind),
        bold: bit(0),
        dim: bit(1),
        italic: bit(2),
        underline: bit(3),
        reverse: bit(4),
    }
}

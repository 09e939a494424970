//! The contrast of two colours, as the Web Content Accessibility Guidelines define it.

use ratatui_core::style::Color;

/// A colour by its red, green and blue parts.
pub type Rgb = [u8; 3];

/// The least contrast of text to its background.
pub(super) const LEAST: f64 = 4.5;

/// What the terminal's background is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Dark, or not known.
    #[default]
    Dark,
    /// Light.
    Light,
}

impl Background {
    /// Returns what a background is like: dark if white text has the greater contrast to it.
    pub fn of(colour: Rgb) -> Self {
        match ratio([255; 3], colour) >= ratio([0; 3], colour) {
            true => Self::Dark,
            false => Self::Light,
        }
    }
}

/// Returns the contrast of two colours: from 1 for the same ones to 21 for black and white.
pub(super) fn ratio(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the parts of a true colour.
pub(super) fn rgb(colour: Color) -> Option<Rgb> {
    match colour {
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        _ => None,
    }
}

fn luminance([red, green, blue]: Rgb) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

//! What the terminal can do, from its variables and its own answers.

use ratatui_core::style::{Color, Style};

/// The variables that describe a terminal, read at the edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `TERM`.
    pub term: String,
    /// `TERM_PROGRAM`.
    pub term_program: String,
    /// `COLORTERM`.
    pub colorterm: String,
    /// Whether colours are off: `NO_COLOR`, or asked for on the command line.
    pub no_colour: bool,
    /// The multiplexer that the variables name: `ZELLIJ`, `TMUX`, or `STY` for GNU screen.
    pub multiplexer: Option<Multiplexer>,
    /// Whether `SSH_CONNECTION` or `SSH_TTY` is set.
    pub ssh: bool,
    /// Whether `XTERM_VERSION` is set.
    pub xterm: bool,
    /// Whether `VTE_VERSION`, `KITTY_WINDOW_ID`, `ALACRITTY_WINDOW_ID`, `KONSOLE_VERSION`,
    /// `WEZTERM_PANE`, `ITERM_SESSION_ID` or `WT_SESSION` is set: terminals that wrap their lines
    /// again when they are resized.
    pub rewraps: bool,
}

/// The colours that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colours {
    /// None; bold, dim and reverse are shown nevertheless.
    None,
    /// The 16 named ones.
    #[default]
    Sixteen,
    /// A fixed palette of 256.
    Indexed,
    /// All of them.
    True,
}

/// A program between Tiller and the terminal that draws the screen itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplexer {
    /// tmux.
    Tmux,
    /// GNU screen.
    Screen,
    /// Zellij.
    Zellij,
}

/// What a terminal can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The colours.
    pub colours: Colours,
    /// The multiplexer around Tiller, if any.
    pub multiplexer: Option<Multiplexer>,
    /// Whether lines are wrapped again when the terminal is resized.
    pub rewraps: bool,
    /// Whether an update can be shown at once (mode 2026); `None` until the terminal has answered.
    pub synchronised: Option<bool>,
    /// Whether it answers questions without showing parts of them.
    pub answers: bool,
    /// Whether it knows the older way to tell keys apart, and does not mistake it for a style.
    pub other_keys: bool,
    /// Whether it is known to have hyperlinks.
    pub hyperlinks: bool,
    name: String,
}

impl Capabilities {
    /// Returns what is known from the variables.
    pub fn from_variables(variables: &Variables) -> Self {
        let multiplexer = variables.multiplexer.or(match variables.term.as_str() {
            term if term.starts_with("tmux") => Some(Multiplexer::Tmux),
            term if term.starts_with("screen") => Some(Multiplexer::Screen),
            _ => None,
        });
        let program = variables.term_program.to_lowercase();
        let poor = matches!(variables.term.as_str(), "dumb" | "" | "unknown");
        let old = poor || matches!(variables.term.as_str(), "linux" | "vt100" | "vt220" | "cons25");
        let rewraps = match multiplexer {
            Some(Multiplexer::Tmux | Multiplexer::Zellij) => true,
            Some(Multiplexer::Screen) => false,
            None => {
                variables.rewraps
                    || ["vscode", "ghostty", "wezterm", "iterm.app", "apple_terminal", "rio", "warpterminal"]
                        .contains(&program.as_str())
                    || ["foot", "xterm-kitty", "xterm-ghostty", "alacritty", "wezterm", "contour"]
                        .iter()
                        .any(|name| variables.term.starts_with(name))
            }
        };
        Self {
            colours: colours(variables, poor),
            multiplexer,
            rewraps,
            synchronised: None,
            // tmux says its version; only then it is known.
            hyperlinks: multiplexer.is_none() && rewraps && !NO_LINKS.contains(&program.as_str()),
            other_keys: multiplexer == Some(Multiplexer::Tmux) || multiplexer.is_none() && variables.xterm,
            answers: !old && program != "apple_terminal",
            name: program,
        }
    }

    /// Returns the terminal's name, as it says itself or by its variables. For choices among
    /// notifications.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the name and version that the terminal gave of itself.
    pub fn named(&mut self, name: &str) {
        let name = name.to_lowercase();
        self.rewraps |= REWRAPS.iter().any(|known| name.starts_with(known));
        if let Some(version) = name.strip_prefix("tmux") {
            self.multiplexer = Some(Multiplexer::Tmux);
            self.hyperlinks = version.trim().split_once('.').is_some_and(|(major, minor)| {
                let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
                (major.parse().unwrap_or(0), minor.parse().unwrap_or(0)) >= (3, 4)
            });
        } else if self.multiplexer.is_none() {
            self.hyperlinks |= REWRAPS.iter().any(|known| name.starts_with(known));
            self.name = name;
        }
    }
}

/// Terminals, by the beginning of their own name, that wrap their lines again when they are
/// resized. All of them have hyperlinks.
const REWRAPS: [&str; 13] = [
    "tmux",
    "kitty",
    "wezterm",
    "foot",
    "iterm2",
    "ghostty",
    "vte",
    "konsole",
    "alacritty",
    "contour",
    "xterm.js",
    "windows terminal",
    "rio",
];

/// Programs that wrap their lines again and have no hyperlinks, or are not known to.
const NO_LINKS: [&str; 2] = ["apple_terminal", "warpterminal"];

fn colours(variables: &Variables, poor: bool) -> Colours {
    let term = variables.term.as_str();
    match variables.colorterm.as_str() {
        _ if variables.no_colour || poor => Colours::None,
        "truecolor" | "24bit" => Colours::True,
        _ if term.contains("direct") || term == "xterm-kitty" || term == "xterm-ghostty" => Colours::True,
        _ if term.contains("256color") => Colours::Indexed,
        _ => Colours::Sixteen,
    }
}

impl Colours {
    /// Returns the style with the nearest colours that the terminal shows.
    pub fn reduce(self, style: Style) -> Style {
        let reduce = |colour: Option<Color>| colour.and_then(|colour| self.nearest(colour));
        let mut reduced = Style::new().add_modifier(style.add_modifier.difference(style.sub_modifier));
        reduced.fg = reduce(style.fg);
        reduced.bg = reduce(style.bg);
        reduced
    }

    fn nearest(self, colour: Color) -> Option<Color> {
        match (self, colour) {
            (_, Color::Reset) | (Self::None, _) => None,
            (Self::Indexed, Color::Rgb(red, green, blue)) => Some(Color::Indexed(indexed(red, green, blue))),
            (Self::Sixteen, Color::Rgb(red, green, blue)) => Some(named([red, green, blue])),
            (Self::Sixteen, Color::Indexed(index)) => Some(named(rgb(index))),
            _ => Some(colour),
        }
    }
}

/// Returns the nearest colour of the 6×6×6 cube or of the greys.
fn indexed(red: u8, green: u8, blue: u8) -> u8 {
    let wanted = [red, green, blue];
    (16..=255_u8).min_by_key(|&index| distance(rgb(index), wanted)).unwrap_or(16)
}

/// Returns the components of a colour of the palette of 256.
fn rgb(index: u8) -> [u8; 3] {
    match index {
        0..16 => NAMED[usize::from(index)].1,
        16..232 => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

fn named(wanted: [u8; 3]) -> Color {
    NAMED.iter().min_by_key(|(_, rgb)| distance(*rgb, wanted)).map_or(Color::Reset, |(colour, _)| *colour)
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

const NAMED: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(term: &str, change: impl FnOnce(&mut Variables)) -> Capabilities {
        let mut variables = Variables { term: term.to_owned(), ..Variables::default() };
        change(&mut variables);
        Capabilities::from_variables(&variables)
    }

    #[test]
    fn colours_follow_from_the_variables() {
        for (term, colorterm, no_colour, expected) in [
            ("xterm", "", false, Colours::Sixteen),
            ("xterm-256color", "", false, Colours::Indexed),
            ("xterm-256color", "truecolor", false, Colours::True),
            ("xterm-256color", "truecolor", true, Colours::None),
            ("dumb", "truecolor", false, Colours::None),
            ("", "", false, Colours::None),
            ("xterm-kitty", "", false, Colours::True),
        ] {
            let found = of(term, |variables| {
                variables.colorterm = colorterm.to_owned();
                variables.no_colour = no_colour;
            });
            assert_eq!(found.colours, expected, "{term} {colorterm} {no_colour}");
        }
    }

    #[test]
    fn a_terminal_rewraps_only_if_it_is_known_to() {
        assert!(!of("xterm-256color", |_| {}).rewraps);
        assert!(of("xterm-256color", |variables| variables.rewraps = true).rewraps);
        assert!(of("tmux-256color", |_| {}).rewraps);
        assert!(!of("screen.xterm", |variables| variables.rewraps = true).rewraps);
        assert!(of("xterm-256color", |variables| variables.term_program = "vscode".to_owned()).rewraps);
        let mut named = of("xterm-256color", |_| {});
        named.named("XTerm(390)");
        assert!(!named.rewraps);
        named.named("foot(1.16.2)");
        assert!(named.rewraps);
        named.named("tmux 3.4");
        assert_eq!(named.multiplexer, Some(Multiplexer::Tmux));
    }

    #[test]
    fn hyperlinks_are_for_terminals_that_are_known_to_have_them() {
        assert!(!of("xterm-256color", |_| {}).hyperlinks);
        assert!(of("xterm-kitty", |_| {}).hyperlinks);
        assert!(of("xterm-256color", |variables| variables.rewraps = true).hyperlinks);
        assert!(
            !of("xterm-256color", |variables| variables.term_program = "Apple_Terminal".to_owned())
                .hyperlinks
        );
        for (name, known) in [
            ("tmux 3.3a", false),
            ("tmux 3.4", true),
            ("tmux 3.5a", true),
            ("tmux 4.0", true),
            ("tmux next", false),
            ("XTerm(390)", false),
            ("foot(1.16.2)", true),
            ("kitty(0.32)", true),
        ] {
            let mut found = of("xterm-256color", |_| {});
            found.named(name);
            assert_eq!(found.hyperlinks, known, "{name}");
        }
        let inside = of("tmux-256color", |variables| variables.rewraps = true);
        assert!(!inside.hyperlinks, "the variables of the terminal outside say nothing about tmux");
    }

    #[test]
    fn a_colour_becomes_the_nearest_that_is_shown() {
        let red = Style::new().fg(Color::Rgb(250, 5, 5)).bg(Color::Reset);
        assert_eq!(Colours::True.reduce(red).fg, red.fg);
        assert_eq!(Colours::Indexed.reduce(red).fg, Some(Color::Indexed(196)));
        assert_eq!(Colours::Sixteen.reduce(red).fg, Some(Color::LightRed));
        assert_eq!(Colours::None.reduce(red).fg, None);
        assert_eq!(Colours::True.reduce(red).bg, None);
        assert_eq!(Colours::Sixteen.reduce(Style::new().fg(Color::Indexed(2))).fg, Some(Color::Green));
    }
}

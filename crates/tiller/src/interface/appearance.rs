//! How the interface looks and behaves: settings, flags and what the environment says of the
//! terminal, in one place.

use super::InterfaceOptions;
use crate::{
    environment::Environment,
    failure::{Failure, Kind},
    options::{EnterChoice, Options, ScreenChoice},
};
use anyhow::Result;
use std::sync::Arc;
use system::AbsPath;
use tui::{
    app::AppOptions,
    keys::Bindings,
    look::Look,
    screens::{frame::Screen, terminal::Options as TerminalOptions},
    terminal::capabilities::{Multiplexer, Variables},
    text::measure::Measure,
    theme::{Background, Theme},
};

/// Returns the options of the interface and of its terminal.
///
/// # Errors
///
/// Fails if the theme of the settings does not exist or is wrong, or keys are bound wrongly.
pub(super) fn of(
    settings: &Options,
    environment: &Environment,
    flags: &InterfaceOptions,
    cwd: &AbsPath,
) -> Result<(AppOptions, TerminalOptions)> {
    let ui = &settings.client.interface;
    let (screen, because) = screen(flags.screen, ui.screen, environment);
    let measure = Measure { wide_ambiguous: ui.switches.wide_ambiguous };
    let variables = variables(environment);
    let mut theme = theme(settings, &ui.theme)?;
    if variables.no_colour {
        theme = theme.without_colour();
    }
    let (bindings, errors) = Bindings::with(&ui.keys);
    if let Some(error) = errors.first() {
        return Err(Failure::new(Kind::Config, error.to_string()).next("tiller settings edit").into());
    }
    let hyperlinks = ui.switches.hyperlinks;
    // The terminal of another machine does not have these files.
    let roots = if hyperlinks && !variables.ssh { [cwd.clone()].into() } else { Arc::default() };
    let home = environment.get("HOME").and_then(|home| AbsPath::new(home).ok());
    let background = theme.follows_background() && !variables.no_colour;
    let app = AppOptions {
        look: Look { theme, measure, roots, home, ..Look::default() },
        bindings,
        screen,
        enter_steers: ui.enter == EnterChoice::Steer,
        animation: ui.switches.animation && !flags.no_animation,
        notify: ui.switches.notify,
        everywhere: false,
        plain_because: because.map(|because| format!(" ({because})")),
    };
    let (mouse, title) = (ui.switches.mouse, ui.switches.title);
    let terminal = TerminalOptions { screen, variables, measure, mouse, title, hyperlinks, background };
    Ok((app, terminal))
}

/// Returns the screen, and for plain lines what decided: a flag, a variable or a setting, in this
/// order.
fn screen(
    flag: Option<ScreenChoice>,
    setting: ScreenChoice,
    environment: &Environment,
) -> (Screen, Option<&'static str>) {
    let of = |choice, because| match choice {
        ScreenChoice::Inline => Some((Screen::Inline, None)),
        ScreenChoice::Full => Some((Screen::Full, None)),
        ScreenChoice::Plain => Some((Screen::Plain, Some(because))),
        ScreenChoice::Auto => None,
    };
    if let Some(chosen) = flag.and_then(|flag| of(flag, "--screen")) {
        return chosen;
    }
    if environment.get("ACCESSIBLE").is_some_and(|value| !value.is_empty() && value != "0") {
        return (Screen::Plain, Some("ACCESSIBLE is set"));
    }
    if let Some(chosen) = of(setting, "the setting ui.screen") {
        return chosen;
    }
    match environment.get("TERM") {
        None | Some("" | "dumb") => (Screen::Plain, Some("the terminal is dumb")),
        Some(_) => (Screen::Inline, None),
    }
}

/// Returns a theme that comes with Tiller, or one of the user's directory `themes`.
fn theme(settings: &Options, name: &str) -> Result<Theme> {
    if let Some(theme) = Theme::shipped(name, Background::Dark) {
        return Ok(theme);
    }
    let file = settings.directories.config.join("themes").join(format!("{name}.toml"));
    let bytes = system::read_regular(&file).map_err(|error| {
        anyhow::anyhow!(
            "ui.theme: there is no theme {name:?} ({error}); choose one of {}",
            Theme::SHIPPED.join(", ")
        )
    })?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{file} is not UTF-8"))?;
    let of = |background| {
        Theme::from_toml(name, &text, background).map_err(|error| anyhow::anyhow!("{file}: {error}"))
    };
    Ok(Theme::following(of(Background::Dark)?, of(Background::Light)?))
}

fn variables(environment: &Environment) -> Variables {
    let text = |name| environment.get(name).unwrap_or_default().to_owned();
    let set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    const REWRAPPING: [&str; 7] = [
        "VTE_VERSION",
        "KITTY_WINDOW_ID",
        "ALACRITTY_WINDOW_ID",
        "KONSOLE_VERSION",
        "WEZTERM_PANE",
        "ITERM_SESSION_ID",
        "WT_SESSION",
    ];
    Variables {
        term: text("TERM"),
        term_program: text("TERM_PROGRAM"),
        colorterm: text("COLORTERM"),
        no_colour: set("NO_COLOR"),
        multiplexer: [
            ("ZELLIJ", Multiplexer::Zellij),
            ("TMUX", Multiplexer::Tmux),
            ("STY", Multiplexer::Screen),
        ]
        .into_iter()
        .find_map(|(name, multiplexer)| set(name).then_some(multiplexer)),
        ssh: set("SSH_CONNECTION") || set("SSH_TTY"),
        xterm: set("XTERM_VERSION"),
        rewraps: REWRAPPING.into_iter().any(set),
    }
}

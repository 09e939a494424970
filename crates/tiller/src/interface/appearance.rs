//! How the interface looks and behaves: settings, flags and what the environment says of the
//! terminal, in one place.

use super::settings::InterfaceFlags;
use crate::{
    environment::Environment,
    failure::{Failure, Kind},
    options::{EnterChoice, Options, ScreenChoice},
    themes,
};
use anyhow::Result;
use std::sync::Arc;
use system::AbsPath;
use tui::{
    keys::{Action, Bindings},
    look::Look,
    options::{AppOptions, Notes},
    screens::{
        frame::Screen,
        terminal::{Options as TerminalOptions, Switches},
    },
    terminal::capabilities::{Multiplexer, Variables},
    text::measure::Measure,
    theme::Theme,
};

/// Returns the options of the interface and of its terminal.
///
/// A theme that does not exist or is wrong is a problem of the interface, which then has the
/// default theme.
///
/// # Errors
///
/// Fails if keys are bound wrongly.
pub(super) async fn of(
    settings: &Options,
    environment: &Environment,
    flags: InterfaceFlags,
    cwd: &AbsPath,
) -> Result<(AppOptions, TerminalOptions)> {
    let ui = &settings.client.interface;
    let (screen, because) = screen(flags.screen, ui.screen, environment);
    let measure = Measure { wide_ambiguous: ui.switches.wide_ambiguous };
    let variables = variables(environment);
    let (mut theme, problem) = match themes::find(&settings.directories, &ui.theme).await {
        Ok(theme) => (theme, None),
        Err(problem) => (Theme::default(), Some(format!("{problem}; the default theme is used"))),
    };
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
    let (mouse, title) = (ui.switches.mouse, ui.switches.title);
    let switches = Switches { measure, mouse, title, hyperlinks };
    let unfold_key = bindings.key_of(Action::Transcript).map_or("no key".into(), Into::into);
    let app = AppOptions {
        look: Look { theme, measure, roots, home, unfold_key, ..Look::default() },
        bindings,
        screen,
        enter_steers: ui.enter == EnterChoice::Steer,
        animation: ui.switches.animation && !flags.no_animation,
        notify: ui.switches.notify,
        everywhere: false,
        switches,
        notes: Notes { plain_because: because.map(|because| format!(" ({because})")), problem },
    };
    let terminal = TerminalOptions { screen, variables, switches, background };
    Ok((app, terminal))
}

/// Returns the screen, and for plain lines what decided: a flag, a variable or a setting, in this
/// order.
fn screen(
    flag: Option<ScreenChoice>,
    setting: ScreenChoice,
    environment: &Environment,
) -> (Screen, Option<&'static str>) {
    let because = |screen, because| (screen, (screen == Screen::Plain).then_some(because));
    match (screen_of_run(flag, environment), of_choice(setting)) {
        (Some((screen, ACCESSIBLE)), _) => because(screen, "ACCESSIBLE is set"),
        (Some((screen, by)), _) => because(screen, by),
        (None, Some(screen)) => because(screen, "the setting ui.screen"),
        (None, None) => match environment.get("TERM") {
            None | Some("" | "dumb") => (Screen::Plain, Some("the terminal is dumb")),
            Some(_) => (Screen::Inline, None),
        },
    }
}

/// The variable that chooses plain lines.
const ACCESSIBLE: &str = "ACCESSIBLE";

/// Returns the screen that a flag or a variable chooses for this run, whatever the settings say,
/// and what chooses it.
pub(super) fn screen_of_run(
    flag: Option<ScreenChoice>,
    environment: &Environment,
) -> Option<(Screen, &'static str)> {
    let of_flag = flag.and_then(of_choice).map(|screen| (screen, "--screen"));
    of_flag.or_else(|| {
        let is_set = environment.get(ACCESSIBLE).is_some_and(|value| !value.is_empty() && value != "0");
        is_set.then_some((Screen::Plain, ACCESSIBLE))
    })
}

fn of_choice(choice: ScreenChoice) -> Option<Screen> {
    match choice {
        ScreenChoice::Inline => Some(Screen::Inline),
        ScreenChoice::Full => Some(Screen::Full),
        ScreenChoice::Plain => Some(Screen::Plain),
        ScreenChoice::Auto => None,
    }
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

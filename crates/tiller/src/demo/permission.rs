//! Answers the agent's permission requests: the demo itself on its own sample, the user on the
//! user's files.

use super::screen::Screen;
use serde_json::Value;
use std::io::IsTerminal;

/// The source of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approver {
    /// Allows each request once: the files are the demo's own.
    AllowOnce,
    /// Asks on the terminal; without a terminal, rejects every request.
    Terminal,
}

/// The chosen option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) allows: bool,
}

impl Approver {
    /// Chooses one of the options; `None` dismisses the request.
    pub(super) async fn choose(self, options: &Value, screen: &mut Screen) -> Option<Choice> {
        let options: Vec<(Choice, String)> =
            options.as_array().into_iter().flatten().filter_map(parse).collect();
        let of_kind =
            |kind: &str| options.iter().find(|(_, own)| own == kind).map(|(choice, _)| choice.clone());
        match self {
            Self::AllowOnce => of_kind("allow_once"),
            Self::Terminal if !std::io::stdin().is_terminal() => of_kind("reject_once"),
            Self::Terminal => {
                let names: Vec<_> = options
                    .iter()
                    .enumerate()
                    .map(|(at, (choice, _))| format!("{} {}", at + 1, choice.name))
                    .collect();
                screen.ask(&format!("[{}] ", names.join(", ")));
                let number = tokio::task::spawn_blocking(read_number).await.ok().flatten()?;
                options.get(number.checked_sub(1)?).map(|(choice, _)| choice.clone())
            }
        }
    }
}

fn parse(option: &Value) -> Option<(Choice, String)> {
    let kind = option["kind"].as_str()?;
    let choice = Choice {
        id: option["optionId"].as_str()?.to_owned(),
        name: format!("{} ({kind})", option["name"].as_str()?),
        allows: kind.starts_with("allow"),
    };
    Some((choice, kind.to_owned()))
}

fn read_number() -> Option<usize> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    line.trim().parse().ok()
}

//! Sends what the user wrote: a command of the interface, or a prompt for the session.

use super::{
    App, Overlay,
    commands::{self, UiCommand},
    effect::Effect,
};
use crate::{
    composer::{Fragment, Message, Part, Sent, Token},
    driver::request::{Request, When, Which},
    screens::frame::Screen,
    transcript::{Body, Feed},
};
use agent::{Content, one_line};
use std::collections::HashMap;

/// The characters of a waiting message that are shown.
const SHOWN_CHARS: usize = 60;

impl App {
    /// Takes a message from the composer.
    pub(super) fn sent(&mut self, sent: Sent) -> Vec<Effect> {
        #[cfg(debug_assertions)]
        if let Message::Prompt(parts) = &sent.message
            && let [Part::Text(text)] = parts.as_slice()
            && let Some(place) = text.strip_prefix("/panic ")
        {
            return Self::panic_in(place.trim());
        }
        if let Message::Prompt(parts) = &sent.message
            && let Some(effects) = self.retry_message(parts)
        {
            return effects;
        }
        let mut effects = Vec::new();
        if let Some(entry) = sent.entry {
            effects.push(Effect::Request(Request::Remember(entry)));
        }
        if let Some(slip) = self.slip(&sent.message) {
            effects.extend(slip);
            return effects;
        }
        let after = sent.after || !self.options.enter_steers;
        let when = if after { When::After } else { When::Next };
        let parts = match sent.message {
            Message::Command(line) => {
                effects.push(self.send_command(line.trim(), when));
                return effects;
            }
            Message::Prompt(parts) => parts,
        };
        if let [Part::Text(text)] = parts.as_slice()
            && text.trim() == "/model"
            && self.options.screen != Screen::Plain
        {
            effects.extend(Self::list_models());
            return effects;
        }
        if let [Part::Text(text)] = parts.as_slice()
            && let Some((command, argument)) = commands::parse(text.trim_end())
        {
            let argument = argument.to_owned();
            effects.extend(self.ui_command(command, &argument));
            return effects;
        }
        if self.is_read_only() {
            effects.extend(self.keep_while_held(&parts));
            return effects;
        }
        effects.push(self.send(parts, when));
        effects
    }

    /// Panics, for tests of what follows.
    #[cfg(debug_assertions)]
    #[expect(clippy::panic, reason = "it is what the tests ask for")]
    fn panic_in(place: &str) -> Vec<Effect> {
        match place {
            "screen" => panic!("on the terminal's thread"),
            "driver" => vec![Effect::Request(Request::Panic { caught: false })],
            _ => vec![Effect::Request(Request::Panic { caught: true })],
        }
    }

    /// Sends a prompt to the session; it waits until it is part of the conversation.
    pub(super) fn send(&mut self, parts: Vec<Part>, when: When) -> Effect {
        let shown: String = parts.iter().map(label).collect();
        let shown = agent::label(&one_line(&shown), SHOWN_CHARS);
        let content = self.content(&parts);
        let id = self.waiting.add(Fragment::from_parts(parts), shown, when);
        Effect::Request(Request::Send { id, content, when, is_own: false })
    }

    /// Sends a command of the user's own, which the session runs as its command `/run`, but outside
    /// the sandbox and without a question.
    fn send_command(&mut self, line: &str, when: When) -> Effect {
        let shown = agent::label(&one_line(&format!("! {line}")), SHOWN_CHARS);
        let id = self.waiting.add(Fragment::text(format!("!{line}")), shown, when);
        let content = vec![Content::text(format!("/run {line}"))];
        Effect::Request(Request::Send { id, content, when, is_own: true })
    }

    /// Returns the content of a prompt: texts as they were pasted, images with their bytes, files
    /// as links.
    fn content(&self, parts: &[Part]) -> Vec<Content> {
        let mut content: Vec<Content> = Vec::new();
        let text = |content: &mut Vec<Content>, more: &str| match content.last_mut() {
            Some(Content::Text(text)) => text.push_str(more),
            _ => content.push(Content::text(more)),
        };
        for part in parts {
            match part {
                Part::Text(typed) => text(&mut content, typed),
                Part::Token(Token::Paste(pasted)) => text(&mut content, pasted),
                Part::Token(Token::File(path)) => content.push(self.link(path)),
                Part::Token(Token::Image(image)) => {
                    if let Some(attached) = self.images.get(&image.id) {
                        let (mime_type, data) = (attached.mime_type.clone(), attached.data.clone());
                        content.push(Content::Image { mime_type, data });
                    }
                }
            }
        }
        content
    }

    fn link(&self, path: &str) -> Content {
        let uri = match &self.session {
            Some(session) => format!("file://{}", session.cwd.join(path)),
            None => path.to_owned(),
        };
        Content::ResourceLink { uri, name: path.to_owned() }
    }

    fn ui_command(&mut self, command: UiCommand, argument: &str) -> Vec<Effect> {
        let request = |request| vec![Effect::Request(request)];
        match command {
            UiCommand::Quit => vec![Effect::Quit],
            UiCommand::New => request(Request::Open(Which::New)),
            UiCommand::Fork => match &self.session {
                Some(session) => request(Request::Open(Which::Fork(session.id.clone()))),
                None => Vec::new(),
            },
            UiCommand::Keys => {
                self.overlay = Overlay::Keys(0);
                Vec::new()
            }
            UiCommand::Agents => {
                self.overlay = Overlay::Work(0);
                Vec::new()
            }
            UiCommand::Screen => match screen(argument) {
                Some(screen) => self.change_screen(screen),
                None => self.fail("write /screen inline, /screen full or /screen plain"),
            },
            UiCommand::Theme => self.choose_theme(argument),
            UiCommand::Settings => self.settings_command(argument),
            UiCommand::Sessions => self.list_sessions(argument),
            UiCommand::Permissions => self.list_permission_modes(),
            UiCommand::Copy => match self.last_answer() {
                Some(text) => vec![Effect::Copy(text)],
                None => self.fail("there is no answer to copy yet"),
            },
            UiCommand::Export if argument.is_empty() => self.fail("write the name of the file: /export FILE"),
            UiCommand::Export => request(Request::Export(argument.to_owned())),
            UiCommand::Image if argument.is_empty() => self.fail("write the path of the image: /image FILE"),
            UiCommand::Image => request(Request::LoadImage(argument.to_owned())),
            UiCommand::Editor => vec![Effect::Edit(self.composer.as_text())],
            UiCommand::Notify => {
                self.options.notify = argument != "off";
                let state = if self.options.notify { "on" } else { "off" };
                self.tell(&format!("notifications are {state} in this session of the interface"));
                Vec::new()
            }
            UiCommand::TakeOver => self.take_over(),
            UiCommand::Redraw => {
                self.feed = Feed::default();
                Vec::new()
            }
        }
    }

    /// Returns the last answer of the model.
    fn last_answer(&self) -> Option<String> {
        let cells = self.transcript.cells().iter().rev();
        cells.map(|cell| &cell.body).find_map(|body| match body {
            Body::Answer(said) => Some(agent::sanitise(&said.text)),
            _ => None,
        })
    }

    /// Drops the bytes of images that no message refers to any more.
    pub(super) fn drop_images(&mut self) {
        let ids = |content: &Fragment| -> Vec<u64> {
            let images = content.parts().into_iter().filter_map(|part| match part {
                Part::Token(Token::Image(image)) => Some(image.id),
                _ => None,
            });
            images.collect()
        };
        let mut used = ids(self.composer.content());
        used.extend(self.waiting.all().iter().flat_map(|message| ids(&message.content)));
        let images: HashMap<_, _> =
            std::mem::take(&mut self.images).into_iter().filter(|(id, _)| used.contains(id)).collect();
        self.images = images;
    }
}

fn screen(name: &str) -> Option<Screen> {
    match name {
        "inline" => Some(Screen::Inline),
        "full" => Some(Screen::Full),
        "plain" => Some(Screen::Plain),
        _ => None,
    }
}

fn label(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Token(token) => token.label(),
    }
}

//! What the terminal's own module writes: modes, titles, notifications, the clipboard, links, and
//! all of it through a pseudoterminal.

use super::{
    control::{self, Written},
    corpus::corpus,
};
use crate::{
    screens::{
        frame::{Frame, Screen},
        terminal::{Options, Switches, Terminal},
    },
    terminal::{
        capabilities::{Capabilities, Multiplexer, Variables},
        device::Device,
        modes::{self, Modes},
        osc, watcher,
    },
    text::{link, measure::Measure, row::Row},
};
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    io::{BufRead as _, Read as _},
    sync::{Arc, mpsc},
};
use system::AbsPath;

/// Terminals of each kind that notifications distinguish.
fn kinds() -> Vec<Capabilities> {
    let names = ["", "kitty(0.32)", "foot(1.16)", "vte(7200)", "xterm(390)", "iterm2 3.5", "alacritty"];
    let multiplexers = [None, Some(Multiplexer::Tmux), Some(Multiplexer::Screen), Some(Multiplexer::Zellij)];
    let of = |name: &str, multiplexer| {
        let (term, term_program) = ("xterm".to_owned(), name.to_owned());
        Capabilities::from_variables(&Variables { term, term_program, multiplexer, ..Variables::default() })
    };
    names.iter().flat_map(|name| multiplexers.map(|multiplexer| of(name, multiplexer))).collect()
}

#[test]
fn titles_notifications_copies_and_links_have_nothing_of_others_but_text() {
    let roots = [AbsPath::new("/w").unwrap()];
    for text in corpus() {
        control::read(&osc::title(&text), Screen::Inline);
        for kind in kinds() {
            let bytes = osc::notification(&text, &kind);
            let Written { commands, text: rest, .. } = control::read(&bytes, Screen::Inline);
            assert!(commands.len() <= 1 && rest.is_empty());
            let has_bell = bytes.ends_with(b"\x07");
            assert!(has_bell || kind.multiplexer.is_none(), "{kind:?}");
            assert!(!commands.is_empty() || has_bell, "something is to be noticed: {kind:?}");
            if let Some(copied) = osc::copy(&text, &kind) {
                assert_eq!(control::read(&copied, Screen::Inline).commands.len(), 1);
            }
        }
        let address = format!("https://a.example/{text}");
        for address in [text.as_str(), address.as_str()] {
            let target = link::target(address, &roots);
            if let Some((begin, end)) = target.as_deref().and_then(osc::hyperlink) {
                control::read(format!("{begin}x{end}").as_bytes(), Screen::Inline);
            }
            if let Some((begin, end)) = osc::hyperlink(address) {
                control::read(format!("{begin}x{end}").as_bytes(), Screen::Inline);
            }
        }
    }
}

#[test]
fn a_notification_is_in_the_form_that_the_terminal_knows() {
    let words = "Tiller has finished: a;b";
    let shown = |name: &str, multiplexer| {
        let kind = kinds().into_iter().find(|kind| kind.name() == name && kind.multiplexer == multiplexer);
        let bytes = osc::notification(words, &kind.expect("it is among the kinds"));
        String::from_utf8(bytes).unwrap().replace('\u{1b}', "E").replace('\u{7}', "B")
    };
    assert_eq!(shown("kitty(0.32)", None), "E]99;;Tiller has finished: a,bE\\");
    assert_eq!(shown("foot(1.16)", None), "E]777;notify;Tiller;Tiller has finished: a,bE\\");
    assert_eq!(shown("iterm2 3.5", None), "E]9;Tiller has finished: a,bB");
    assert_eq!(shown("xterm(390)", None), "B");
    assert_eq!(shown("", Some(Multiplexer::Tmux)), "EPtmux;EE]9;Tiller has finished: a,bBE\\B");
    assert_eq!(shown("", Some(Multiplexer::Screen)), "B");
    assert_eq!(shown("", Some(Multiplexer::Zellij)), "E]9;Tiller has finished: a,bBB");
}

#[test]
fn modes_and_questions_are_on_the_list() {
    let mut entered = Modes::default();
    let mut bytes = String::new();
    for mode in [
        modes::TITLE,
        modes::ALTERNATE_SCREEN,
        modes::BRACKETED_PASTE,
        modes::FOCUS,
        modes::KEYBOARD,
        modes::OTHER_KEYS,
        modes::MOUSE,
    ] {
        bytes.push_str(entered.enter(mode));
    }
    bytes.push_str(&entered.undone());
    bytes.push_str(&modes::undo_all());
    control::read(bytes.as_bytes(), Screen::Full);
    control::read(osc::QUESTIONS.as_bytes(), Screen::Inline);
    control::read(osc::BACKGROUND.as_bytes(), Screen::Inline);
}

#[test]
fn the_watcher_writes_only_what_undoes_and_a_line() {
    for text in corpus().into_iter().filter(|text| text.len() < 500) {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let id = agent::one_line(&text).replace('\n', " ");
        watcher::run(format!("undo 1b5b6d\nsession {id}\n").as_bytes(), writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert!(control::read(&bytes, Screen::Inline).text.contains("tiller was killed."));
    }
}

/// Opens a pseudoterminal of 80 × 24; a thread reads its outside up to a mark.
fn pseudoterminal() -> (Arc<Device>, mpsc::Receiver<Vec<u8>>) {
    let outside: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&outside).unwrap();
    unlockpt(&outside).unwrap();
    tcsetwinsize(&outside, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&outside, Vec::new()).unwrap();
    let inside = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        while !all.windows(END.len()).any(|part| part == END) {
            match rustix::io::read(&outside, &mut piece) {
                Ok(count) => all.extend_from_slice(&piece[..count]),
                Err(_) => break,
            }
        }
        drop(sender.send(all));
    });
    (Device::new(inside).unwrap(), receiver)
}

/// What the test writes last.
const END: &[u8] = b"=THE END=";

/// Writes the end as a shell does, to which the terminal was given back.
fn end(device: &Device) {
    rustix::io::write(device.output(), END).unwrap();
}

fn drained(device: &Device) {
    while !device.flush().unwrap() {
        std::thread::yield_now();
    }
}

/// Reads a stream in which screens follow each other.
fn read_mixed(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut out = String::new();
    for (number, part) in text.split("\u{1b}[?1049h").enumerate() {
        let (full, inline) = match part.split_once("\u{1b}[?1049l") {
            Some(parts) if number > 0 => parts,
            _ => ("", part),
        };
        out.push_str(&control::read(full.as_bytes(), Screen::Full).text);
        out.push_str(&control::read(inline.as_bytes(), Screen::Inline).text);
    }
    out
}

#[tokio::test]
async fn all_that_a_terminal_gets_from_its_opening_to_its_end_is_on_the_list() {
    let (device, received) = pseudoterminal();
    let variables = Variables { term: "xterm-kitty".to_owned(), xterm: true, ..Variables::default() };
    let (mouse, title, hyperlinks, background) = (true, true, true, true);
    let switches = Switches { mouse, title, hyperlinks, ..Switches::default() };
    let options = Options { variables, switches, background, ..Options::default() };
    let mut terminal = Terminal::on(Arc::clone(&device), options).unwrap();
    for (number, text) in corpus().iter().enumerate() {
        let frame = Frame {
            commit: vec![Row::new(text.clone()), Row::logical(text.clone())],
            live: vec![Row::new("live"), Row::new(text.clone())],
            cursor: Some((3, 1)),
        };
        drained(&device);
        assert!(terminal.draw(&frame));
        terminal.set_title(text);
        terminal.notify(text);
        terminal.copy(text);
        let wide_ambiguous = number % 5 == 0;
        terminal.set_switches(Switches {
            measure: Measure { wide_ambiguous },
            mouse: number % 2 == 0,
            title: number % 3 == 0,
            hyperlinks: number % 2 == 1,
        });
        match number % 4 {
            0 => assert!(terminal.set_screen(Screen::Full)),
            1 => assert!(terminal.set_screen(Screen::Inline)),
            2 => {
                drained(&device);
                terminal.pause();
                terminal.resume().unwrap();
            }
            _ => terminal.redraw(),
        }
    }
    drained(&device);
    assert!(terminal.set_screen(Screen::Plain));
    drained(&device);
    terminal.close();
    end(&device);
    let bytes = received.recv().unwrap();
    // The writer replaces control characters, so the frames need no clean text.
    assert!(read_mixed(&without_hidden(&bytes)).contains("live"));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    for (enter, leave) in [
        ("\u{1b}[?2004h", "\u{1b}[?2004l"),
        ("\u{1b}[?1004h", "\u{1b}[?1004l"),
        ("\u{1b}[>1u", "\u{1b}[<1u"),
        ("\u{1b}[22;0t", "\u{1b}[23;0t"),
        ("\u{1b}[?1000h", "\u{1b}[?1000l"),
    ] {
        assert_eq!(text.matches(enter).count(), text.matches(leave).count(), "{enter:?}");
        assert!(text.rfind(enter) < text.rfind(leave), "{enter:?}");
    }
}

/// Rows of this test are not cleaned; what would hide in them is not the subject.
fn without_hidden(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let kept = text.chars().filter(|c| c.is_control() || !control::is_hidden(*c));
    kept.filter(|c| !('\u{80}'..='\u{9f}').contains(c)).collect::<String>().into_bytes()
}

#[tokio::test]
async fn whoever_gives_the_terminal_back_tells_the_watcher_and_nothing_is_written_afterwards() {
    let (device, received) = pseudoterminal();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut terminal = Terminal::on(Arc::clone(&device), Options::default()).unwrap();
    device.watch(writer);
    terminal.show_session("abc");
    drained(&device);
    // As a panic and a signal do, on another thread, while the screen is drawn.
    device.give_back();
    let frame = Frame { commit: vec![Row::new("too late")], live: Vec::new(), cursor: None };
    terminal.draw(&frame);
    terminal.notify("too late");
    let mut orders = Vec::new();
    for line in std::io::BufReader::new(reader).lines().map(Result::unwrap) {
        orders.push(line);
        if orders.last().is_some_and(|line| line == "given back") {
            break;
        }
    }
    let told = |orders: &[String]| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        watcher::run(orders.join("\n").as_bytes(), writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(told(&orders), "", "{orders:?}");
    orders.pop();
    assert!(told(&orders).contains("tiller --session abc"), "{orders:?}");
    end(&device);
    let bytes = String::from_utf8(received.recv().unwrap()).unwrap();
    assert!(bytes.contains("\u{1b}[?2004l") && !bytes.contains("too late"), "{bytes:?}");
}

#[tokio::test]
async fn plain_gets_lines_and_a_bell_only() {
    let (device, received) = pseudoterminal();
    let options = Options {
        screen: Screen::Plain,
        switches: Switches { title: true, hyperlinks: true, ..Switches::default() },
        background: true,
        ..Options::default()
    };
    let mut terminal = Terminal::on(Arc::clone(&device), options).unwrap();
    for text in corpus() {
        drained(&device);
        let link = Row { links: Some(["https://a.example/".into()].into()), ..Row::new(text.clone()) };
        assert!(terminal.draw(&Frame { commit: vec![link], live: vec![Row::new("live")], cursor: None }));
        terminal.set_title(&text);
        terminal.notify(&text);
        assert!(!terminal.copy(&text));
        terminal.ask_background();
    }
    drained(&device);
    terminal.close();
    end(&device);
    let bytes = received.recv().unwrap();
    assert!(!bytes.contains(&0x1b));
    let text = String::from_utf8(without_hidden(&bytes)).unwrap().replace("\r\n", "\n");
    assert!(!control::read(text.as_bytes(), Screen::Plain).text.contains("live"));
}

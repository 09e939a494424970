//! One test per fact, over the rows: a change of the table needs a change here.

use super::*;
use serde_json::Value;

fn facts(name: &str, version: &str) -> ClientFacts {
    find(Some(name), Some(version)).unwrap_or_else(|| panic!("{name} {version} has no row")).facts
}

#[test]
fn names_are_compared_without_case_and_blanks() {
    for name in ["zed", "Zed", " ZED "] {
        assert_eq!(find(Some(name), Some("0.228.0")).map(|client| client.title), Some("Zed"), "{name}");
    }
    for name in ["zed2", "my zed", "ze", "", "é"] {
        assert!(find(Some(name), Some("0.228.0")).is_none(), "{name}");
    }
    assert!(find(Some("JetBrains.IntelliJ IDEA"), None).is_some());
    assert!(find(Some("JetBrains"), None).is_none());
}

#[test]
fn unknown_clients_have_no_facts() {
    for (name, version) in [(None, None), (Some("my editor"), Some("1.0")), (None, Some("0.2.0"))] {
        assert_eq!(look_up(name, version), ClientFacts::default());
    }
    assert_eq!(ClientFacts::default().terminal, Terminal::Unknown);
    assert_eq!(ClientFacts::default().ranges, Ranges::Unknown);
}

#[test]
fn an_unexamined_version_counts_as_unknown() {
    assert_eq!(facts("vscode-acp-client", "0.2.7").terminal, Terminal::Joined);
    for version in [Some("0.3.0"), Some("1.0"), Some("latest"), None] {
        assert_eq!(look_up(Some("vscode-acp-client"), version), ClientFacts::default(), "{version:?}");
    }
}

#[test]
fn known_terminals_interpret_commands_as_the_table_states() {
    for (name, version, terminal, stdin) in [
        ("zed", "0.210.0", Terminal::Joined, Stdin::Empty),
        ("zed", "1.12.0+stable", Terminal::Joined, Stdin::Empty),
        ("vscode-acp-client", "0.2.0", Terminal::Joined, Stdin::Waits),
        ("toad", "0.6.18", Terminal::Joined, Stdin::Waits),
        ("obsidian-agent-client", "0.10.6", Terminal::Joined, Stdin::Waits),
        ("acpx", "0.19.1", Terminal::Vector, Stdin::Empty),
        ("JetBrains.PyCharm", "2026.2", Terminal::Unknown, Stdin::Unknown),
    ] {
        let facts = facts(name, version);
        assert_eq!((facts.terminal, facts.stdin), (terminal, stdin), "{name} {version}");
    }
}

#[test]
fn known_clients_honour_ranges_as_the_table_states() {
    for (name, version, ranges) in [
        ("zed", "0.228.0", Ranges::Honoured),
        ("CodeCompanion.nvim", "1.0.0", Ranges::Honoured),
        ("agent-shell", "0.48.1", Ranges::Honoured),
        ("vscode-acp-client", "0.2.0", Ranges::Honoured),
        ("acpx", "0.19.1", Ranges::Honoured),
        ("toad", "0.6.18", Ranges::Inexact),
        ("JetBrains.PyCharm", "2026.2", Ranges::Unknown),
    ] {
        assert_eq!(facts(name, version).ranges, ranges, "{name} {version}");
    }
}

#[test]
fn known_clients_display_content_as_the_table_states() {
    for (name, version, diff, terminals) in [
        ("zed", "0.228.0", Diff::Anywhere, Displayed::Yes),
        ("CodeCompanion.nvim", "1.0.0", Diff::First, Displayed::No),
        ("agent-shell", "0.48.1", Diff::Anywhere, Displayed::No),
        ("toad", "0.6.18", Diff::Anywhere, Displayed::Yes),
        ("vscode-acp-client", "0.2.0", Diff::Nowhere, Displayed::No),
        ("obsidian-agent-client", "0.10.6", Diff::Anywhere, Displayed::Yes),
        ("acpx", "0.19.1", Diff::Nowhere, Displayed::No),
    ] {
        let shows = facts(name, version).shows;
        assert_eq!((shows.diff, shows.terminals, shows.plan), (diff, terminals, Displayed::Yes), "{name}");
    }
}

#[test]
fn known_clients_log_in_when_the_table_states() {
    for (name, version, login) in [
        ("zed", "0.228.0", Login::WhenRefused),
        ("vscode-acp-client", "0.2.0", Login::WhenRefused),
        ("obsidian-agent-client", "0.10.6", Login::WhenRefused),
        ("CodeCompanion.nvim", "1.0.0", Login::Configured),
        ("agent-shell", "0.48.1", Login::Configured),
        ("acpx", "0.19.1", Login::Configured),
        ("toad", "0.6.18", Login::Never),
    ] {
        assert_eq!(facts(name, version).login, login, "{name}");
    }
}

#[test]
fn every_row_is_complete_and_cites_its_sources() {
    for client in KNOWN {
        let capabilities: Value = serde_json::from_str(client.capabilities).expect(client.title);
        assert!(capabilities.is_object(), "{}", client.title);
        assert!(client.versions.contain(Some(client.version)), "{}", client.title);
        let sourced = |fact: Fact| client.sources.iter().any(|source| source.facts.contains(&fact));
        let ClientFacts { terminal, stdin, ranges, shows, login, buffers } = client.facts;
        let unknown = ClientFacts::default();
        for (fact, known) in [
            (Fact::Name, true),
            (Fact::Capabilities, true),
            (Fact::Terminal, terminal != unknown.terminal),
            (Fact::Stdin, stdin != unknown.stdin),
            (Fact::Ranges, ranges != unknown.ranges),
            (Fact::Shows, shows != unknown.shows),
            (Fact::Login, login != unknown.login),
            (Fact::Buffers, buffers != unknown.buffers),
        ] {
            assert_eq!(sourced(fact), known, "{}: {fact:?}", client.title);
        }
        for source in client.sources {
            assert!(source.at.starts_with("https://"), "{}: {}", client.title, source.at);
            assert!(!source.version.is_empty(), "{}: {}", client.title, source.at);
            let digits = source.read.bytes().filter(u8::is_ascii_digit).count();
            assert!(digits == 8 && source.read.len() == 10, "{}: {}", client.title, source.read);
        }
    }
}

#[test]
fn a_row_matches_the_client_info_that_its_client_sends() {
    for client in KNOWN {
        for name in client.names {
            let found = match *name {
                Name::Is(name) => find(Some(name), Some(client.version)),
                Name::Starts(start) => find(Some(&format!("{start}x")), Some(client.version)),
            };
            assert_eq!(found.map(|client| client.title), Some(client.title));
        }
    }
}

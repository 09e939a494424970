use super::*;
use proptest::prelude::*;

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> NetworkRules {
    let parsed = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    NetworkRules { allow: parsed(allow), ask: parsed(ask), deny: parsed(deny) }
}

fn options() -> NetworkOptions {
    NetworkOptions { network: Network::Session, ..NetworkOptions::default() }
}

fn policy<'a>(rules: &'a NetworkRules, grants: &'a NetworkGrants) -> NetworkPolicy<'a> {
    NetworkPolicy {
        options: Box::leak(Box::new(options())),
        permission_mode: PermissionMode::Guardian,
        rules,
        grants,
    }
}

fn host(name: &str, port: u16) -> Destination {
    Destination::host(name, port).unwrap()
}

fn word(decision: &NetworkDecision) -> &'static str {
    match decision {
        NetworkDecision::Allow { .. } => "allow",
        NetworkDecision::Ask { .. } => "ask",
        NetworkDecision::Deny { .. } => "deny",
    }
}

#[test]
fn rules_are_read_and_shown_the_same() {
    for text in [
        "network(domain:crates.io)",
        "network(domain:db.corp:5432)",
        "network(host:localhost)",
        "network(group:npm)",
        "network(address:10.0.0.5:5432)",
        "network(address:[fd00::1]:80)",
        "network(local:5432)",
    ] {
        assert_eq!(text.parse::<NetworkRule>().unwrap().to_string(), text);
    }
    for (text, says) in [
        ("network(domain:com)", "names a whole top-level domain"),
        ("network(group:nmp)", "did you mean \"npm\"?"),
        ("network(host:a.b:0)", "a port from 1 to 65535"),
        ("network(host:a.b:+80)", "a port from 1 to 65535"),
        ("network(host:a.b:53)", "not 53"),
        ("network(host:127.1)", "a host name"),
        ("network(domain:оk.com)", "a host name"),
        ("network(domain:*.ok.com)", "a host name"),
        ("network(address:10.0.0.5)", "an address and a port"),
        ("network(local:0)", "a port from 1 to 65535"),
        ("network(x:y)", "takes network("),
        ("network(", "takes network("),
    ] {
        let said = text.parse::<NetworkRule>().unwrap_err();
        assert!(said.contains(says), "{text}: {said}");
    }
}

#[test]
fn a_word_names_a_group_a_host_or_an_address() {
    for (word, rule) in [
        ("npm", "network(group:npm)"),
        ("example.com", "network(host:example.com)"),
        ("db.corp:5432", "network(host:db.corp:5432)"),
        ("10.0.0.5:80", "network(address:10.0.0.5:80)"),
        ("localhost:5432", "network(local:5432)"),
    ] {
        let parsed = NetworkRule::of_word(word).unwrap();
        assert_eq!((parsed.to_string().as_str(), parsed.word().as_str()), (rule, word));
    }
    assert!(NetworkRule::of_word("crate").unwrap_err().contains("did you mean \"crates\"?"));
    assert_eq!(NetworkRule::of_word("https://a.org/x?y").unwrap_err(), "takes a host and no URL: a.org");
}

#[test]
fn the_strictest_rule_decides() {
    let rules = rules(
        &["network(domain:ok.com)", "network(group:pypi)", "network(host:db.corp:5432)"],
        &["network(host:ask.ok.com)"],
        &["network(host:no.ok.com)"],
    );
    let grants = NetworkGrants::default();
    let policy = policy(&rules, &grants);
    for (name, port, expected) in [
        ("ok.com", 443, "allow"),
        ("a.ok.com", 80, "allow"),
        ("a.ok.com", 22, "ask"),
        ("evilok.com", 443, "ask"),
        ("ask.ok.com", 443, "ask"),
        ("no.ok.com", 443, "deny"),
        ("no.ok.com", 8080, "deny"),
        ("files.pythonhosted.org", 443, "allow"),
        ("db.corp", 5432, "allow"),
        ("db.corp", 443, "ask"),
    ] {
        assert_eq!(word(&decide(&policy, &host(name, port))), expected, "{name}:{port}");
    }
    let options_off = NetworkOptions { network: Network::Off, ..options() };
    let off = NetworkPolicy { options: &options_off, ..policy };
    assert_eq!(word(&decide(&off, &host("ok.com", 443))), "deny");
    let options_silent = NetworkOptions { ask_hosts: false, ..options() };
    let silent = NetworkPolicy { options: &options_silent, ..policy };
    assert_eq!(word(&decide(&silent, &host("other.com", 443))), "deny");
    assert_eq!(word(&decide(&silent, &host("ask.ok.com", 443))), "ask");
}

#[test]
fn prometheus_passes_public_hosts_only() {
    let (rules, grants) = (rules(&[], &["network(host:ask.com)"], &[]), NetworkGrants::default());
    let local = NetworkOptions { local_hosts: vec!["intern.corp".to_owned()], ..options() };
    let policy = NetworkPolicy {
        permission_mode: PermissionMode::Prometheus,
        options: &local,
        ..policy(&rules, &grants)
    };
    for (name, port, expected) in [
        ("any.com", 443, "allow"),
        ("any.com", 22, "ask"),
        ("intern.corp", 443, "ask"),
        ("ask.com", 443, "ask"),
    ] {
        assert_eq!(word(&decide(&policy, &host(name, port))), expected, "{name}:{port}");
    }
    let address = Destination::Address("93.184.216.34:443".parse().unwrap());
    assert_eq!(word(&decide(&policy, &address)), "ask");
}

#[test]
fn one_answer_covers_a_group() {
    let rules = rules(&[], &[], &["network(host:jsr.io)"]);
    let mut grants = NetworkGrants::default();
    grants.insert(NetworkScope::of(&host("registry.npmjs.org", 443)), true);
    grants.insert(NetworkScope::of(&host("bad.com", 443)), false);
    let policy = policy(&rules, &grants);
    for (name, port, expected) in [
        ("registry.yarnpkg.com", 443, "allow"),
        ("registry.npmjs.org", 80, "allow"),
        ("registry.npmjs.org", 22, "ask"),
        ("jsr.io", 443, "deny"),
        ("bad.com", 80, "deny"),
    ] {
        assert_eq!(word(&decide(&policy, &host(name, port))), expected, "{name}:{port}");
    }
}

#[test]
fn some_addresses_are_never_connected_to() {
    let texts = [
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "0.0.0.0",
        "127.0.0.1",
        "255.255.255.255",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::1",
        "::1",
    ];
    for text in texts {
        let ip = text.parse().unwrap();
        assert!(address::refused(ip, true).is_some(), "{text}");
        let everything = rules(&[&format!("network(address:{})", SocketAddr::new(ip, 80))], &[], &[]);
        let grants = NetworkGrants::default();
        let decision = decide(&policy(&everything, &grants), &Destination::Address(SocketAddr::new(ip, 80)));
        assert_eq!(word(&decision), "deny", "{text}");
    }
    let named = rules(&["network(address:10.0.0.5:5432)"], &[], &[]);
    let grants = NetworkGrants::default();
    for (address, expected) in
        [("10.0.0.5:5432", "allow"), ("10.0.0.5:22", "deny"), ("10.0.0.6:5432", "deny")]
    {
        let destination = Destination::Address(address.parse().unwrap());
        assert_eq!(word(&decide(&policy(&named, &grants), &destination)), expected, "{address}");
    }
    assert!(address::refused("10.1.2.3".parse().unwrap(), true).is_none());
    assert!(address::refused("10.1.2.3".parse().unwrap(), false).is_some());
    assert!(address::refused("203.0.113.80".parse().unwrap(), true).is_none());
}

proptest! {
    #[test]
    fn a_denied_host_is_never_allowed(name in "[a-z]{1,5}\\.[a-z]{1,5}\\.com", port: u16, prometheus: bool) {
        let text = format!("network(host:{name})");
        let rules = rules(&[&text], &[], &[&text]);
        let mut grants = NetworkGrants::default();
        grants.insert(NetworkScope::of(&host(&name, port)), true);
        let mode = if prometheus { PermissionMode::Prometheus } else { PermissionMode::Argus };
        let policy = NetworkPolicy { permission_mode: mode, ..policy(&rules, &grants) };
        prop_assert_eq!(word(&decide(&policy, &host(&name, port))), "deny");
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "network\\(\\PC{0,40}\\)") {
        if let Ok(rule) = text.parse::<NetworkRule>() {
            prop_assert_eq!(rule.to_string().parse::<NetworkRule>().unwrap(), rule);
        }
    }

    #[test]
    fn the_rule_of_a_scope_allows_what_was_asked(name in "[a-z]{1,8}\\.(org|io)", port in 1u16..) {
        let asked = host(&name, port);
        let rule = NetworkScope::of(&asked).rule();
        prop_assert!(rule.allows(&asked));
    }
}

#[test]
fn ports_of_this_machine_need_a_rule_or_an_answer() {
    let rules = rules(&["network(local:5432)"], &[], &["network(local:6379)"]);
    let grants = NetworkGrants::default();
    let prometheus = NetworkPolicy { permission_mode: PermissionMode::Prometheus, ..policy(&rules, &grants) };
    for policy in [policy(&rules, &grants), prometheus] {
        for (port, expected) in [(5432, "allow"), (6379, "deny"), (3306, "ask")] {
            assert_eq!(word(&decide(&policy, &Destination::Local(port))), expected, "{port}");
        }
    }
    assert_eq!(word(&decide(&policy(&rules, &grants), &host("db.corp", 5432))), "ask");
    assert_eq!(rules.local_ports(), [5432]);
    assert_eq!(rules.ports(), [22, 80, 443]);
}

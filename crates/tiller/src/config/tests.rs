//! Tests of the layers.

use super::*;
use crate::{
    environment::Environment,
    options::{HookOptions, Options},
    stored_keys::StoredKeys,
};
use ::mcp::Offered;
use ::providers::Wire;
use agent::{Mode, PermissionMode};
use std::collections::BTreeMap;
use system::AbsPath;

const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");

#[derive(Default)]
struct Case<'a> {
    user: &'a str,
    project: &'a str,
    environment: &'a [(&'a str, &'a str)],
    flags: Flags,
    /// Whether the user trusts the project's directory.
    trusted: bool,
}

fn run(case: Case<'_>) -> Result<Resolved, ConfigError> {
    let path = |text: &str| AbsPath::new(text).unwrap();
    let file =
        |path: AbsPath, text: &str| (!text.is_empty()).then(|| SettingsFile { path, text: text.to_owned() });
    let directories = Directories {
        settings: AbsPath::new("/c/config.toml").unwrap(),
        home: path("/home/me"),
        config: path("/c"),
        data: path("/d"),
        cache: path("/k"),
        temp: path("/tmp"),
        folder: None,
    };
    let environment: Environment =
        case.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    resolve(Layers {
        served: None,
        server: None,
        user: file(user_path(&directories), case.user),
        project: file(project_path(&path("/w")), case.project).map(|file| ProjectLayer {
            file,
            distrust: (!case.trusted).then(|| "not trusted".to_owned()),
            user_set: BTreeMap::new(),
            untrusted_hooks: (!case.trusted)
                .then(|| ("guard".to_owned(), "not trusted".to_owned()))
                .into_iter()
                .collect(),
        }),
        past: &ProjectHistory::default(),
        directories,
        environment: &environment,
        keys: &StoredKeys::default(),
        flags: case.flags,
    })
}

fn options(case: Case<'_>) -> Options {
    run(case).unwrap().options
}

#[test]
fn each_layer_overrides_the_one_below() {
    let layers = [
        ("", &[][..], Flags::default(), Mode::Edit),
        ("agent.mode = 'plan'", &[], Flags::default(), Mode::Plan),
        ("agent.mode = 'plan'", &[("TILLER_MODE", "ask")], Flags::default(), Mode::Ask),
        ("agent.mode = 'plan'", &[("TILLER_MODE", "")], Flags::default(), Mode::Plan),
        (
            "agent.mode = 'plan'",
            &[("TILLER_MODE", "ask")],
            Flags { mode: Some(Mode::Edit), ..Flags::default() },
            Mode::Edit,
        ),
    ];
    for (user, environment, flags, expected) in layers {
        assert_eq!(
            options(Case { user, environment, flags, ..Case::default() }).session.mode,
            expected,
            "{user} {environment:?}"
        );
    }
}

#[test]
fn a_project_may_only_tighten() {
    let case = |user, project| run(Case { user, project, ..Case::default() }).unwrap();
    let tight = case(
        "tools.denied_tools = ['bash']",
        "tools = { default_permission_mode = 'argus', denied_tools = ['grep'] }\n[limits]\nturn_requests = 3",
    );
    assert_eq!(tight.notices, Vec::<String>::new());
    assert_eq!(tight.options.session.permission_mode, PermissionMode::Argus);
    assert_eq!(tight.options.permissions.denied_tools, ["bash", "grep"]);
    assert_eq!(tight.options.session.limits.turn_requests, 3);
    let fewer = case("mcp.servers.s.offer = ['roots', 'sampling']", "mcp.servers.s.offer = ['roots']");
    assert_eq!(
        (fewer.notices.len(), fewer.options.permissions.offers["s"].as_slice()),
        (0, &[Offered::named("roots").unwrap()][..])
    );

    for (user, project) in [
        ("", "tools.default_permission_mode = 'prometheus'"),
        ("tools.default_permission_mode = 'argus'", "tools.default_permission_mode = 'guardian'"),
        ("agent.mode = 'ask'", "agent.mode = 'edit'"),
        ("", "agent.default_model = 'openai/evil'"),
        ("", "agent.system_prompt = 'obey'"),
        ("", "providers.openai.base_url = 'http://evil.example'"),
        ("", "providers.anthropic.api_key_env = 'AWS_SECRET'"),
        ("", "providers.local.urls = ['http://evil.example']"),
        ("", "tools.allowed_paths = ['/']"),
        ("", "client.terminal = 'local'"),
        ("", "tools.bash.timeout = 121"),
        ("", "limits.turn_requests = 201"),
        ("mcp.servers.s.offer = ['roots']", "mcp.servers.s.offer = ['roots', 'sampling']"),
        ("mcp.servers.s.offer = ['roots']", "mcp.servers.other.offer = ['roots']"),
    ] {
        let loose = case(user, project);
        assert_eq!(loose.options, options(Case { user, ..Case::default() }), "{project}");
        let key = project.split(" =").next().unwrap();
        assert_eq!(loose.notices.len(), 1, "{project}");
        assert!(
            loose.notices[0].starts_with(&format!("/w/.tiller/config.toml:1: {key} is ignored: ")),
            "{}",
            loose.notices[0]
        );
    }
}

#[test]
fn a_trusted_project_may_redirect_but_not_loosen() {
    let case = |project| run(Case { project, trusted: true, ..Case::default() }).unwrap();
    let trusted = case(
        "agent.default_model = 'custom/x'\npermissions.allow = ['bash(make *)']\nproviders.openai.base_url = 'http://in.house'",
    );
    assert_eq!(trusted.notices, Vec::<String>::new());
    assert_eq!(trusted.options.session.model.as_deref(), Some("custom/x"));
    assert_eq!(trusted.options.providers.openai.base_url.as_deref(), Some("http://in.house"));
    assert_eq!(trusted.options.permissions.rules.allow.len(), 1);
    // Settings that restrict the project remain the user's own, trusted or not.
    for project in [
        "mcp.servers.s.offer = ['roots']",
        "tools.default_permission_mode = 'prometheus'",
        "sandbox.level = 'off'",
        "sandbox.network = 'on'",
        "limits.turn_requests = 100000",
    ] {
        let loose = case(project);
        assert_eq!(loose.options, options(Case::default()), "{project}");
        assert_eq!(loose.notices.len(), 1, "{project}");
    }
}

#[test]
fn a_trusted_project_adds_hooks_and_never_replaces_the_users() {
    let hook = |word: &str| format!("[hooks.guard]\non = 'before_tool'\ncommand = ['{word}']");
    let (user, project) = (hook("mine"), hook("theirs"));
    let commands = |trusted| {
        let options = options(Case { user: &user, project: &project, trusted, ..Case::default() });
        let hooks = options.session.hooks.into_iter();
        let trusted = |hook: &HookOptions| hook.project_hook.as_ref().map(|brought| brought.trusted);
        hooks.map(|(name, hook)| (name, hook.command[0].clone(), trusted(&hook))).collect::<Vec<_>>()
    };
    let own = ("guard".to_owned(), "mine".to_owned(), None);
    for trusted in [false, true] {
        let theirs = ("project/guard".to_owned(), "theirs".to_owned(), Some(trusted));
        assert_eq!(commands(trusted), [own.clone(), theirs]);
    }
    let half = run(Case { project: "hooks.guard.on = 'stop'", ..Case::default() }).unwrap();
    assert!(half.options.session.hooks.is_empty() && half.notices[0].contains("\"guard\" is not run"));
    let incomplete = run(Case { user: "hooks.x.command = ['a']", ..Case::default() }).unwrap_err();
    assert_eq!(incomplete.to_string(), "the hook \"x\" has no \"on\"; write hooks.NAME.on");
}

/// What the interface does with the user's terminal, keys and files is never a project's.
#[test]
fn no_project_sets_anything_of_the_interface_trusted_or_not() {
    let of_interface = KEYS.iter().filter(|key| key.name.starts_with("ui.")).collect::<Vec<_>>();
    assert!(
        of_interface.len() > 8
            && of_interface.iter().all(|key| matches!(key.in_project, InProject::Never(_)))
    );
    for project in [
        "ui.screen = 'full'",
        "ui.theme = '../../evil'",
        "ui.keys.permission_once = ['enter']",
        "ui.enter = 'after'",
        "ui.notify = false",
        "ui.title = true",
        "ui.hyperlinks = false",
        "ui.history = false",
    ] {
        for trusted in [false, true] {
            let found = run(Case { project, trusted, ..Case::default() }).unwrap();
            assert_eq!(found.options, options(Case::default()), "{project}");
            assert!(
                found.notices[0].contains("is ignored: a project must not change your terminal"),
                "{project}"
            );
        }
    }
    for project in ["ui.editor = 'evil'", "ui.notify_command = 'evil'"] {
        let unknown = run(Case { project, trusted: true, ..Case::default() });
        let takes_it = unknown.is_ok_and(|found| found.notices.is_empty());
        assert!(!takes_it, "{project}");
    }
}

/// Every combination of the user's and the project's permission lists, with and without trust: the
/// strictest rule applies. What a session remembers is a third layer above both.
#[test]
fn s39_the_strictest_layer_wins_in_every_combination() {
    let lists = ["", "deny", "ask", "allow"];
    for (user, project, trusted) in
        lists.iter().flat_map(|u| lists.iter().flat_map(move |p| [(u, p, false), (u, p, true)]))
    {
        let line = |list: &str| match list {
            "" => String::new(),
            list => format!("permissions.{list} = ['bash(make *)']"),
        };
        let rules = options(Case { user: &line(user), project: &line(project), trusted, ..Case::default() })
            .permissions
            .rules;
        let has = |list: &str| *user == list || (*project == list && (list != "allow" || trusted));
        assert_eq!(!rules.deny.is_empty(), has("deny"), "{user} {project} {trusted}");
        assert_eq!(!rules.ask.is_empty(), has("ask"), "{user} {project} {trusted}");
        assert_eq!(!rules.allow.is_empty(), has("allow"), "{user} {project} {trusted}");
    }
}

#[test]
fn every_setting_enforces_whether_a_project_may_set_it() {
    // This holds for future settings too: a project must never set a vendor's address, a key, or
    // the
    // place where commands run.
    for key in KEYS {
        let closed = key.name.starts_with("providers.")
            || ["agent.default_model", "client.terminal"].contains(&key.name);
        assert!(!closed || matches!(key.in_project, InProject::WhenTrusted(_)), "{}", key.name);
    }
}

#[test]
fn errors_name_the_place_of_the_invalid_setting() {
    for (user, expected) in [
        ("\n\n[tols]\n", "/c/config.toml:3: unknown setting \"tols\"; did you mean \"tools\"?"),
        (
            "[agent]\nmodle = 1",
            "/c/config.toml:2: unknown setting \"agent.modle\"; did you mean \"agent.mode\"?",
        ),
        (
            "default_model = 'a/b'",
            "/c/config.toml:1: unknown setting \"default_model\"; did you mean \"agent.default_model\"?",
        ),
        (
            "tools.bash.timeot = 1",
            "/c/config.toml:1: unknown setting \"tools.bash.timeot\"; did you mean \"tools.bash.timeout\"?",
        ),
        (
            "[providers.custom.openai]\nbase_url = 'http://x'",
            "/c/config.toml:2: providers.custom.openai.base_url: \"openai\" cannot be the name of a custom provider; choose another",
        ),
        (
            "providers.custom.groq = 1",
            "/c/config.toml:1: providers.custom.groq: is a group of settings; write [providers.custom.groq] and the settings below it",
        ),
        (
            "providers.custom.groq.wrie = 1",
            "/c/config.toml:1: unknown setting \"providers.custom.groq.wrie\"; did you mean \"providers.custom.NAME.wire\"?",
        ),
        (
            "zzz = 1",
            "/c/config.toml:1: unknown setting \"zzz\"; docs/reference/settings.md lists all of them",
        ),
        (
            "agent = 1",
            "/c/config.toml:1: agent: is a group of settings; write [agent] and the settings below it",
        ),
        (
            "agent.mode = 'edi'",
            "/c/config.toml:1: agent.mode: unknown mode \"edi\"; use one of edit, plan, ask",
        ),
        ("agent.mode = 1", "/c/config.toml:1: agent.mode: takes text, not a number"),
        (
            "agent.default_model = 'gpt'",
            "/c/config.toml:1: agent.default_model: takes PROVIDER/NAME, such as offline/pilot, not \"gpt\"",
        ),
        (
            "tools.bash.timeout = 0",
            "/c/config.toml:1: tools.bash.timeout: takes a whole number from 1, not 0",
        ),
        ("tools.bash.timeout = 99999", "/c/config.toml:1: tools.bash.timeout: is at most 7200 seconds"),
        (
            "tools.allowed_paths = ['x']",
            "/c/config.toml:1: tools.allowed_paths: path is not absolute: x; write it from / or ~/",
        ),
        (
            "client.terminal = 'both'",
            "/c/config.toml:1: client.terminal: unknown value \"both\"; use one of client, local",
        ),
        (
            "providers.openai.base_url = 'ftp://x'",
            "/c/config.toml:1: providers.openai.base_url: takes an address that begins with http:// or https://, not \"ftp://x\"",
        ),
        (
            "providers.local.discover = 'yes'",
            "/c/config.toml:1: providers.local.discover: takes true or false, not text",
        ),
        (
            "permissions.allow = ['mcp__*']",
            "/c/config.toml:1: permissions.allow: mcp__*: an allow rule names its tool; a star may stand for functions of one MCP server or integration only: mcp__server__*",
        ),
        (
            "tools.denied_tools = 'bash'",
            "/c/config.toml:1: tools.denied_tools: takes a list of texts, not text",
        ),
        // A misspelt tool name would protect nothing.
        (
            "tools.denied_tools = ['bsh']",
            "/c/config.toml:1: tools.denied_tools: there is no tool \"bsh\"; did you mean \"bash\"?",
        ),
        (
            "permissions.deny = ['file_raed(x)']",
            "/c/config.toml:1: permissions.deny: there is no tool \"file_raed\"; did you mean \"file_read\"?",
        ),
        (
            "permissions.ask = ['Bash']",
            "/c/config.toml:1: permissions.ask: there is no tool \"Bash\"; did you mean \"bash\"?",
        ),
        (
            "permissions.allow = ['fiel_write']",
            "/c/config.toml:1: permissions.allow: there is no tool \"fiel_write\"; did you mean \"file_write\"?",
        ),
        (
            "hooks.x.tools = ['file_*', 'fiel_*']",
            "/c/config.toml:1: hooks.x.tools: no tool's name matches \"fiel_*\"",
        ),
    ] {
        assert_eq!(run(Case { user, ..Case::default() }).unwrap_err().to_string(), expected);
    }
    let syntax = run(Case { user: "a = 1\nb = ", ..Case::default() }).unwrap_err().to_string();
    assert!(syntax.starts_with("/c/config.toml:2: "), "{syntax}");
    let variable =
        run(Case { environment: &[("TILLER_MODE", "x")], ..Case::default() }).unwrap_err().to_string();
    assert_eq!(
        variable,
        "environment variable TILLER_MODE: agent.mode: unknown mode \"x\"; use one of edit, plan, ask"
    );
}

#[test]
fn keys_never_come_from_settings_and_are_never_shown() {
    let environment = [("MY_KEY", "s3cret"), ("ANTHROPIC_API_KEY", "other"), ("OPENAI_API_KEY", "unused")];
    let options = options(Case {
        user: "providers.openai.api_key_env = 'MY_KEY'",
        environment: &environment,
        ..Case::default()
    });
    assert_eq!(options.providers.openai.api_key.as_ref().map(|key| key.reveal()), Some("s3cret"));
    assert_eq!(options.providers.anthropic.api_key.as_ref().map(|key| key.reveal()), Some("other"));
    assert!(!format!("{options:?}").contains("s3cret"));

    for (environment, expected) in [
        (&[("GOOGLE_API_KEY", "old")][..], "old"),
        (&[("GOOGLE_API_KEY", "old"), ("GEMINI_API_KEY", "new")], "new"),
    ] {
        let key = self::options(Case { environment, ..Case::default() }).providers.gemini.api_key;
        assert_eq!(key.as_ref().map(|key| key.reveal()), Some(expected));
    }

    let custom = options_of_custom();
    assert_eq!(custom.api_key.as_ref().map(|key| key.reveal()), Some("g"));
    assert_eq!((custom.base_url.as_deref(), custom.wire), (Some("https://g.example/v1"), Wire::Anthropic));

    let pasted = run(Case { user: "providers.openai.api_key_env = 'sk-abc'", ..Case::default() })
        .unwrap_err()
        .to_string();
    assert!(
        pasted.contains("takes the name of an environment variable") && !pasted.contains("sk-abc"),
        "{pasted}"
    );
}

fn options_of_custom() -> crate::options::Provider {
    let user = "[providers.custom.my-groq]\nbase_url = 'https://g.example/v1/'\nwire = 'anthropic'";
    let environment = [("MY_GROQ_API_KEY", "g")];
    options(Case { user, environment: &environment, ..Case::default() }).providers.custom["my-groq"].clone()
}

/// Resolves a user's file with this text, for tests of other modules.
pub(super) fn resolved(user: &str) -> Result<Options, ConfigError> {
    run(Case { user, ..Case::default() }).map(|resolved| resolved.options)
}

#[test]
fn every_environment_variable_is_documented() {
    for (variable, key) in VARIABLES {
        assert!(DOCUMENT.contains(&format!("| `{variable}` | `{key}` |")), "{variable} is not documented");
    }
}

#[test]
fn a_rule_about_searches_turns_the_hosted_search_off() {
    for (more, expected) in [
        ("", true),
        ("[tools]\ndenied_tools = ['web_search']", false),
        ("[permissions]\ndeny = ['web_search']", false),
        ("[permissions]\nask = ['web_*']", false),
        ("[permissions]\ndeny = ['web_fetch(domain:evil.example)', 'bash']", true),
    ] {
        let user = format!("[web.search]\nprovider = 'hosted'\n{more}");
        let options = options(Case { user: &user, ..Case::default() });
        assert_eq!(options.providers.hosted_search, expected, "{more}");
        assert_eq!(options.integrations.web.resolved().search, None, "{more}");
    }
    assert!(
        !options(Case { user: "[web.search]\nprovider = 'brave'", ..Case::default() })
            .providers
            .hosted_search
    );
}

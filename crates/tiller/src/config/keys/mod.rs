//! Every setting. `about` describes them, in the same order.

mod serve;

use super::checks::{
    checked, hosts, local_hosts, megabytes, model, offers_no_more, order_of_mode, order_of_permission, rules,
    silence,
};
use super::key::joined;
use super::{InProject, Key, Value, ValueError};
use crate::limits::HOOK_TIMEOUT_MAX;
use crate::options::{
    AskLoginShell, EnterChoice, NETWORKS, RuleList, SIGN_COMMITS, ScreenChoice, SearchChoice, Terminal, Tools,
};
use ::mcp::{Offered, server_name};
use ::providers::Wire;
use agent::{Answer, CallsAsText, HookEvent, Secrets, ToolProfile, check_tool_name, check_tool_pattern};
use std::time::Duration;
use system::{HomeEntry, SandboxLevel};

const MODEL: &str = "a project must not choose where your code is sent";
const PROMPT: &str = "a project must not add to the system prompt";
const CONTEXT: &str = "a project must not choose how much of a conversation is sent";
const PATHS: &str = "a project must not widen what may be touched without asking";
const HOOKS: &str = "a project must not run commands of its own";
const SERVERS: &str = "a project must not say what servers may do without asking";
const SERVICES: &str = "a project must not say which services are called in your name";
const WEB: &str = "a project must not choose who gets your searches, or open local hosts";
const SHELL: &str = "a project must not choose which programs are found";
const TOOLS: &str = "a project must not choose which tools models get";
const SUBAGENTS: &str = "a project must not choose how much runs at a time, and for how long";
const UI: &str = "a project must not change your terminal";
const PLACE: &str = "a project must not choose where commands run";

/// Every setting, those of a server last.
pub(crate) const KEYS: &[Key] = &joined::<Key, { OWN.len() + serve::KEYS.len() }>(OWN, serve::KEYS);

/// The settings of sessions and of the program.
const OWN: &[Key] = &[
    Key {
        name: "agent.default_model",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.session.model = Some(model(v.text()?)?)),
    },
    Key {
        name: "agent.mode",
        in_project: InProject::Tightens(|before, after| order_of_mode(after) >= order_of_mode(before)),
        set: |o, _, v| Ok(o.session.mode = v.word()?),
    },
    Key {
        name: "agent.system_prompt",
        in_project: InProject::WhenTrusted(PROMPT),
        set: |o, _, v| Ok(o.session.prompt.append_system_prompt = Some(v.text()?)),
    },
    Key {
        name: "agent.subagent_model",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.session.subagent_models[0] = Some(model(v.text()?)?)),
    },
    Key {
        name: "agent.subagent_depth2_model",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.session.subagent_models[1] = Some(model(v.text()?)?)),
    },
    Key {
        name: "agent.subagent_concurrency",
        in_project: InProject::WhenTrusted(SUBAGENTS),
        set: |o, _, v| Ok(o.session.limits.subagents.concurrency = v.count_or_zero()?),
    },
    Key {
        name: "agent.subagent_max_depth",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.subagents.depth <= before.session.limits.subagents.depth
        }),
        set: |o, _, v| Ok(o.session.limits.subagents.depth = v.count()?),
    },
    Key {
        name: "agent.subagent_attempts",
        in_project: InProject::WhenTrusted(SUBAGENTS),
        set: |o, _, v| Ok(o.session.limits.subagents.attempts = v.count()?),
    },
    Key {
        name: "agent.subagent_idle_timeout",
        in_project: InProject::WhenTrusted(SUBAGENTS),
        set: |o, _, v| Ok(o.session.limits.subagents.idle = Duration::from_secs(v.count_or_zero()?)),
    },
    Key {
        name: "tools.default_permission_mode",
        in_project: InProject::Tightens(|before, after| {
            order_of_permission(after) >= order_of_permission(before)
        }),
        set: |o, _, v| Ok(o.session.permission_mode = v.word()?),
    },
    Key {
        name: "tools.denied_tools",
        in_project: InProject::Adds,
        set: |o, _, v| Ok(o.permissions.denied_tools.extend(checked(v.texts()?, check_tool_name)?)),
    },
    Key {
        name: "tools.blocked_paths",
        in_project: InProject::Adds,
        set: |o, _, v| {
            let at_home = |pattern: String| match pattern.strip_prefix("~/") {
                Some(rest) => {
                    o.directories.home.join(rest).to_string() + if rest.ends_with('/') { "/" } else { "" }
                }
                None => pattern,
            };
            let patterns: Vec<_> = v.texts()?.into_iter().map(at_home).collect();
            o.permissions.blocked_paths.extend(patterns);
            Ok(())
        },
    },
    Key {
        name: "tools.allowed_paths",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.permissions.allowed_paths.extend(v.paths(&o.directories.home)?)),
    },
    Key {
        name: "tools.bash.timeout",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.tools.command_timeout <= before.session.limits.tools.command_timeout
        }),
        set: |o, _, v| {
            let (given, most) = (v.seconds()?, o.session.limits.tools.command_timeout_max);
            if given > most {
                return Err(ValueError::TooLong(most));
            }
            Ok(o.session.limits.tools.command_timeout = given)
        },
    },
    Key {
        name: "tools.profile",
        in_project: InProject::WhenTrusted(TOOLS),
        set: |o, _, v| {
            let words = ToolProfile::ALL.map(|(word, profile)| (word, Some(profile)));
            let words: Vec<_> = std::iter::once(("auto", None)).chain(words).collect();
            Ok(o.providers.tool_profile = v.one_of(&words)?)
        },
    },
    Key {
        name: "permissions.deny",
        in_project: InProject::Adds,
        set: |o, _, v| Ok(RuleList::Deny.extend(&mut o.permissions.rules, rules(&o.directories, v)?)),
    },
    Key {
        name: "permissions.ask",
        in_project: InProject::Adds,
        set: |o, _, v| Ok(RuleList::Ask.extend(&mut o.permissions.rules, rules(&o.directories, v)?)),
    },
    Key {
        name: "permissions.allow",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| {
            let rules = rules(&o.directories, v)?;
            match rules.iter().find_map(|rule| Some((rule, rule.too_wide_to_allow()?))) {
                Some((rule, problem)) => {
                    Err(ValueError::TooWide { rule: rule.to_string(), problem: problem.to_string() })
                }
                None => Ok(RuleList::Allow.extend(&mut o.permissions.rules, rules)),
            }
        },
    },
    Key {
        name: "mcp.permissions_default",
        in_project: InProject::WhenTrusted(SERVERS),
        set: |o, _, v| Ok(o.permissions.rules.servers.default = v.one_of(&Answer::ALL)?),
    },
    Key {
        name: "mcp.servers.NAME.permissions.read",
        in_project: InProject::WhenTrusted(SERVERS),
        set: |o, name, v| Ok(o.server(name).read = Some(v.one_of(&Answer::ALL)?)),
    },
    Key {
        name: "mcp.servers.NAME.permissions.write",
        in_project: InProject::WhenTrusted(SERVERS),
        set: |o, name, v| Ok(o.server(name).write = Some(v.one_of(&Answer::ALL)?)),
    },
    Key {
        name: "mcp.servers.NAME.offer",
        in_project: InProject::Tightens(offers_no_more),
        set: |o, name, v| {
            let offered = v
                .texts()?
                .iter()
                .map(|word| Offered::named(word).map_err(ValueError::invalid))
                .collect::<Result<_, _>>()?;
            o.permissions.offers.insert(server_name(name), offered);
            Ok(())
        },
    },
    Key {
        name: "integrations.permissions_default",
        in_project: InProject::WhenTrusted(SERVICES),
        set: |o, _, v| Ok(o.permissions.rules.integrations.default = v.one_of(&Answer::ALL)?),
    },
    Key {
        name: "integrations.native_tools",
        in_project: InProject::WhenTrusted(SERVICES),
        set: |o, _, v| Ok(o.integrations.native_tools = v.flag()?),
    },
    Key {
        name: "integrations.NAME.enabled",
        in_project: InProject::WhenTrusted(SERVICES),
        set: |o, name, v| {
            o.integration(name)?;
            o.integrations.enabled.insert(name.to_owned(), v.flag()?);
            Ok(())
        },
    },
    Key {
        name: "integrations.NAME.permissions.read",
        in_project: InProject::WhenTrusted(SERVICES),
        set: |o, name, v| Ok(o.integration(name)?.read = Some(v.one_of(&Answer::ALL)?)),
    },
    Key {
        name: "integrations.NAME.permissions.write",
        in_project: InProject::WhenTrusted(SERVICES),
        set: |o, name, v| Ok(o.integration(name)?.write = Some(v.one_of(&Answer::ALL)?)),
    },
    Key {
        name: "web.local_hosts",
        in_project: InProject::WhenTrusted(WEB),
        set: |o, _, v| Ok(o.integrations.web.local_hosts.extend(hosts(v)?)),
    },
    Key {
        name: "web.search.provider",
        in_project: InProject::WhenTrusted(WEB),
        set: |o, _, v| Ok(o.integrations.web.search = v.one_of(&SearchChoice::ALL)?),
    },
    Key {
        name: "web.search.url",
        in_project: InProject::WhenTrusted(WEB),
        set: |o, _, v| Ok(o.integrations.web.search_url = Some(v.url()?)),
    },
    Key {
        name: "ui.screen",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.screen = v.one_of(&ScreenChoice::ALL)?),
    },
    Key {
        name: "ui.theme",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.theme = v.text()?),
    },
    Key {
        name: "ui.keys.NAME",
        in_project: InProject::Never(UI),
        set: |o, name, v| {
            o.client.interface.keys.insert(name.to_owned(), v.texts()?);
            Ok(())
        },
    },
    Key {
        name: "ui.enter",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.enter = v.one_of(&EnterChoice::ALL)?),
    },
    Key {
        name: "ui.mouse",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.mouse = v.flag()?),
    },
    Key {
        name: "ui.notify",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.notify = v.flag()?),
    },
    Key {
        name: "ui.title",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.title = v.flag()?),
    },
    Key {
        name: "ui.animation",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.animation = v.flag()?),
    },
    Key {
        name: "ui.hyperlinks",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.hyperlinks = v.flag()?),
    },
    Key {
        name: "ui.ambiguous_width",
        in_project: InProject::Never(UI),
        set: |o, _, v| {
            Ok(o.client.interface.switches.wide_ambiguous = v.one_of(&[("narrow", false), ("wide", true)])?)
        },
    },
    Key {
        name: "ui.history",
        in_project: InProject::Never(UI),
        set: |o, _, v| Ok(o.client.interface.switches.history = v.flag()?),
    },
    Key {
        name: "hooks.NAME.on",
        in_project: InProject::WhenTrusted(HOOKS),
        set: |o, name, v| Ok(o.hook(name).event = Some(v.one_of(&HookEvent::ALL)?)),
    },
    Key {
        name: "hooks.NAME.command",
        in_project: InProject::WhenTrusted(HOOKS),
        set: |o, name, v| {
            let command = v.texts()?;
            if command.is_empty() {
                return Err(ValueError::NoProgram);
            }
            Ok(o.hook(name).command = command)
        },
    },
    Key {
        name: "hooks.NAME.tools",
        in_project: InProject::WhenTrusted(HOOKS),
        set: |o, name, v| Ok(o.hook(name).tools = checked(v.texts()?, check_tool_pattern)?),
    },
    Key {
        name: "hooks.NAME.confined",
        in_project: InProject::Never("a hook of a project runs in the sandbox"),
        set: |o, name, v| Ok(o.hook(name).confined = v.flag()?),
    },
    Key {
        name: "hooks.NAME.timeout",
        in_project: InProject::WhenTrusted(HOOKS),
        set: |o, name, v| {
            let given = v.seconds()?;
            if given > HOOK_TIMEOUT_MAX {
                return Err(ValueError::TooLong(HOOK_TIMEOUT_MAX));
            }
            Ok(o.hook(name).timeout = given)
        },
    },
    Key {
        name: "sandbox.level",
        in_project: InProject::Tightens(|before, after| after.commands.sandbox >= before.commands.sandbox),
        set: |o, _, v| {
            let words = [SandboxLevel::Off, SandboxLevel::WorkspaceWrite, SandboxLevel::ReadOnly];
            Ok(o.commands.sandbox = v.one_of(&words.map(|level| (level.id(), level)))?)
        },
    },
    Key {
        name: "sandbox.network",
        in_project: InProject::Tightens(|before, after| {
            after.commands.network.network <= before.commands.network.network
        }),
        set: |o, _, v| Ok(o.commands.network.network = v.one_of(&NETWORKS)?),
    },
    Key {
        name: "sandbox.local_hosts",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.commands.network.local_hosts.extend(local_hosts(v.texts()?)?)),
    },
    Key {
        name: "sandbox.ask_hosts",
        in_project: InProject::Tightens(|before, after| {
            after.commands.network.ask_hosts <= before.commands.network.ask_hosts
        }),
        set: |o, _, v| Ok(o.commands.network.ask_hosts = v.flag()?),
    },
    Key {
        name: "sandbox.ask_seconds",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.commands.network.ask_wait = v.seconds()?),
    },
    Key {
        name: "sandbox.forward_ports",
        in_project: InProject::Tightens(|before, after| {
            after.commands.network.forward_ports <= before.commands.network.forward_ports
        }),
        set: |o, _, v| Ok(o.commands.network.forward_ports = v.flag()?),
    },
    Key {
        name: "sandbox.sign_commits",
        in_project: InProject::Tightens(|before, after| {
            after.commands.network.sign_commits <= before.commands.network.sign_commits
        }),
        set: |o, _, v| Ok(o.commands.network.sign_commits = v.one_of(&SIGN_COMMITS)?),
    },
    Key {
        name: "sandbox.writable_paths",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.commands.files.writable.extend(v.paths(&o.directories.home)?)),
    },
    Key {
        name: "sandbox.readable_paths",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.commands.files.readable.extend(v.paths(&o.directories.home)?)),
    },
    Key {
        name: "sandbox.home_paths",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| {
            let entries = v.texts()?.into_iter().map(|text| HomeEntry::parse(&text));
            Ok(o.commands
                .files
                .home_entries
                .extend(entries.collect::<Result<Vec<_>, _>>().map_err(ValueError::HomePath)?))
        },
    },
    Key {
        name: "sandbox.secrets",
        in_project: InProject::Tightens(|before, after| after.commands.secrets >= before.commands.secrets),
        set: |o, _, v| Ok(o.commands.secrets = v.one_of(&[("read", Secrets::Read), ("hide", Secrets::Hide)])?),
    },
    Key {
        name: "sandbox.max_processes",
        in_project: InProject::Tightens(|before, after| {
            after.commands.resource_limits.processes <= before.commands.resource_limits.processes
        }),
        set: |o, _, v| Ok(o.commands.resource_limits.processes = v.count()?),
    },
    Key {
        name: "sandbox.max_memory_mb",
        in_project: InProject::Tightens(|before, after| {
            after.commands.resource_limits.memory_bytes <= before.commands.resource_limits.memory_bytes
        }),
        set: |o, _, v| Ok(o.commands.resource_limits.memory_bytes = megabytes(v.count()?)),
    },
    Key {
        name: "sandbox.max_file_mb",
        in_project: InProject::Tightens(|before, after| {
            after.commands.resource_limits.file_bytes <= before.commands.resource_limits.file_bytes
        }),
        set: |o, _, v| Ok(o.commands.resource_limits.file_bytes = megabytes(v.count()?)),
    },
    Key {
        name: "sandbox.max_cpu_seconds",
        in_project: InProject::Tightens(|before, after| {
            after.commands.resource_limits.cpu_seconds <= before.commands.resource_limits.cpu_seconds
        }),
        set: |o, _, v| Ok(o.commands.resource_limits.cpu_seconds = v.count()?),
    },
    Key {
        name: "sandbox.keep_variables",
        in_project: InProject::WhenTrusted(PATHS),
        set: |o, _, v| Ok(o.commands.keep_variables.extend(v.texts()?)),
    },
    Key {
        name: "env.login_shell",
        in_project: InProject::WhenTrusted(SHELL),
        set: |o, _, v| Ok(o.commands.ask_login_shell = v.one_of(&AskLoginShell::ALL)?),
    },
    Key {
        name: "context.max_output_lines",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.tools.output_lines <= before.session.limits.tools.output_lines
        }),
        set: |o, _, v| Ok(o.session.limits.tools.output_lines = v.count()?),
    },
    Key {
        name: "context.max_output_bytes",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.tools.output_bytes <= before.session.limits.tools.output_bytes
        }),
        set: |o, _, v| Ok(o.session.limits.tools.output_bytes = v.count()?),
    },
    Key {
        name: "context.memories",
        in_project: InProject::Tightens(|before, after| {
            before.session.prompt.memories.enabled || !after.session.prompt.memories.enabled
        }),
        set: |o, _, v| Ok(o.session.prompt.memories.enabled = v.flag()?),
    },
    Key {
        name: "context.auto_compact",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.auto_compact = v.flag()?),
    },
    Key {
        name: "context.compact_threshold",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.compact_threshold = v.percent()?),
    },
    Key {
        name: "context.reserve_output_tokens",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.reserve_output = v.count()?),
    },
    Key {
        name: "context.auto_compact_buffer_tokens",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.auto_compact_buffer = v.count()?),
    },
    Key {
        name: "context.warning_buffer_tokens",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.warning_buffer = v.count()?),
    },
    Key {
        name: "context.blocking_buffer_tokens",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.blocking_buffer = v.count()?),
    },
    Key {
        name: "context.prune_protect",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.prune_protect = v.count()?),
    },
    Key {
        name: "context.prune_min_savings",
        in_project: InProject::WhenTrusted(CONTEXT),
        set: |o, _, v| Ok(o.session.limits.context.prune_min_savings = v.count()?),
    },
    Key {
        name: "providers.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.silence = Some(silence(v)?)),
    },
    Key {
        name: "providers.openai.api_key_env",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.openai.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.openai.base_url",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.openai.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.openai.wire",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| {
            let words = [("auto", Wire::Auto), ("chat", Wire::Chat), ("responses", Wire::Responses)];
            Ok(o.providers.openai.wire = v.one_of(&words)?)
        },
    },
    Key {
        name: "providers.openai.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.openai.silence = Some(silence(v)?)),
    },
    Key {
        name: "providers.anthropic.api_key_env",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.anthropic.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.anthropic.base_url",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.anthropic.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.anthropic.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.anthropic.silence = Some(silence(v)?)),
    },
    Key {
        name: "providers.gemini.api_key_env",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.gemini.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.gemini.base_url",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.gemini.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.gemini.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.gemini.silence = Some(silence(v)?)),
    },
    Key {
        name: "providers.custom.NAME.base_url",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, name, v| Ok(o.providers.named(name)?.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.custom.NAME.api_key_env",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, name, v| Ok(o.providers.named(name)?.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.custom.NAME.wire",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, name, v| {
            let words = [
                ("chat", Wire::Chat),
                ("responses", Wire::Responses),
                ("anthropic", Wire::Anthropic),
                ("gemini", Wire::Gemini),
            ];
            Ok(o.providers.named(name)?.wire = v.one_of(&words)?)
        },
    },
    Key {
        name: "providers.custom.NAME.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, name, v| Ok(o.providers.named(name)?.silence = Some(silence(v)?)),
    },
    Key {
        name: "providers.local.discover",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.local.discover = v.flag()?),
    },
    Key {
        name: "providers.local.urls",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| {
            for url in v.texts()? {
                o.providers.local.urls.push(Value::Text(url).url()?);
            }
            Ok(())
        },
    },
    Key {
        name: "providers.local.ollama",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| {
            Ok(o.providers.local.ollama =
                Some(providers::ollama_address(&v.text()?).map_err(ValueError::invalid)?))
        },
    },
    Key {
        name: "providers.local.silence",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| Ok(o.providers.local.silence = Some(silence(v)?)),
    },
    Key {
        name: "models.calls_as_text",
        in_project: InProject::WhenTrusted(MODEL),
        set: |o, _, v| {
            let words = [("auto", CallsAsText::Auto), ("on", CallsAsText::On), ("off", CallsAsText::Off)];
            Ok(o.session.calls_as_text = v.one_of(&words)?)
        },
    },
    Key {
        name: "client.terminal",
        in_project: InProject::WhenTrusted(PLACE),
        set: |o, _, v| {
            Ok(o.client.terminal = v.one_of(&[("client", Terminal::Client), ("local", Terminal::Local)])?)
        },
    },
    Key {
        name: "client.tools",
        in_project: InProject::WhenTrusted(PLACE),
        set: |o, _, v| {
            let words = [
                ("auto", Tools::Auto),
                ("transparent", Tools::Transparent),
                ("ide", Tools::Ide),
                ("off", Tools::Off),
            ];
            Ok(o.client.tools = v.one_of(&words)?)
        },
    },
    Key {
        name: "limits.turn_requests",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.turn_requests <= before.session.limits.turn_requests
        }),
        set: |o, _, v| Ok(o.session.limits.turn_requests = v.count()?),
    },
    Key {
        name: "limits.identical_calls",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.identical_calls <= before.session.limits.identical_calls
        }),
        set: |o, _, v| Ok(o.session.limits.identical_calls = v.count()?),
    },
    Key {
        name: "limits.calls_per_response",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.calls_per_response <= before.session.limits.calls_per_response
        }),
        set: |o, _, v| Ok(o.session.limits.calls_per_response = v.count()?),
    },
    Key {
        name: "limits.queued_prompts",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.queued_prompts <= before.session.limits.queued_prompts
        }),
        set: |o, _, v| Ok(o.session.limits.queued_prompts = v.count()?),
    },
    Key {
        name: "limits.permission_wait",
        in_project: InProject::Tightens(|before, after| {
            after.session.limits.permission_wait <= before.session.limits.permission_wait
        }),
        set: |o, _, v| Ok(o.session.limits.permission_wait = v.seconds()?),
    },
];

//! The descriptions of all settings, in the order of [`KEYS`](super::KEYS).

use super::super::key::joined;
use super::serve;
use super::{About, DefaultValue, Item, Takes};
use crate::limits::{HOOK_TIMEOUT_MAX, IDLE_TIMEOUT_MAX};
use std::time::Duration;

/// The largest timeout of a command.
const COMMAND_TIMEOUT_MAX: Duration = Duration::from_secs(7_200);

/// The permissions of a function.
const ANSWERS: &[&str] = &["allow", "ask", "deny"];

/// The descriptions of all settings, in the order of [`KEYS`](super::KEYS).
pub(super) const ABOUT: &[About] = &joined::<About, { OWN.len() + serve::ABOUT.len() }>(OWN, serve::ABOUT);

const OWN: &[About] = &[
    About {
        name: "agent.default_model",
        takes: Takes::Model,
        default: DefaultValue::Described("first available"),
        text: "The model of new sessions.",
    },
    About {
        name: "agent.mode",
        takes: Takes::Word(&["edit", "plan", "ask"]),
        default: DefaultValue::Text("edit"),
        text: "What the agent may do: everything; read and plan; read and answer.",
    },
    About {
        name: "agent.system_prompt",
        takes: Takes::Text,
        default: DefaultValue::Described("none"),
        text: "Text appended to the [system prompt](prompt.md).",
    },
    About {
        name: "agent.subagent_model",
        takes: Takes::Model,
        default: DefaultValue::Described("that of the requesting agent"),
        text: "The model of [subagents](subagents.md).",
    },
    About {
        name: "agent.subagent_depth2_model",
        takes: Takes::Model,
        default: DefaultValue::Described("that of the requesting agent"),
        text: "The model of the subagents of subagents.",
    },
    About {
        name: "agent.subagent_concurrency",
        takes: Takes::CountOrZero,
        default: DefaultValue::Number(10),
        text: "Subagents of the process that run at a time; 0 means no limit.",
    },
    About {
        name: "agent.subagent_max_depth",
        takes: Takes::Count,
        default: DefaultValue::Number(3),
        text: "Levels of agents, including the session itself; 1 means no subagents.",
    },
    About {
        name: "agent.subagent_attempts",
        takes: Takes::Count,
        default: DefaultValue::Number(2),
        text: "How often a subagent is tried in all when its model fails for a passing reason.",
    },
    About {
        name: "agent.subagent_idle_timeout",
        takes: Takes::CountOrZero,
        default: DefaultValue::Number(900),
        text: "Seconds after which a running subagent that shows no activity is stopped; 0 means never.",
    },
    About {
        name: "tools.default_permission_mode",
        takes: Takes::Word(&["guardian", "argus", "prometheus"]),
        default: DefaultValue::Text("guardian"),
        text: "How often tools ask before they act: for risky calls, for everything, never (except \
               for [what asks in every mode](security.md#in-every-mode)).",
    },
    About {
        name: "tools.denied_tools",
        takes: Takes::List(Item::Tool),
        default: DefaultValue::EmptyList,
        text: "Tools denied in every mode. Layers add up. An unknown tool name is an error.",
    },
    About {
        name: "tools.blocked_paths",
        takes: Takes::List(Item::PathPattern),
        default: DefaultValue::EmptyList,
        text: "Files denied in every mode, in addition to the built-in ones (`*.env`, `.git/*`, \
               keys). Layers add up ([patterns](#blocked-paths)).",
    },
    About {
        name: "tools.allowed_paths",
        takes: Takes::List(Item::Path),
        default: DefaultValue::Described("the temporary directory"),
        text: "Directories outside the project that need no separate approval. Layers add up.",
    },
    About {
        name: "tools.bash.timeout",
        takes: Takes::Seconds { most: Some(COMMAND_TIMEOUT_MAX) },
        default: DefaultValue::Number(120),
        text: "Timeout of a command if the model does not set one.",
    },
    About {
        name: "tools.profile",
        takes: Takes::Word(&["auto", "full", "small", "guided"]),
        default: DefaultValue::Text("auto"),
        text: "Which tools models get: the full list, few tools with short descriptions, or these \
               with [guidance](prompt.md#guided-models). `auto` decides by the \
               [model's size](providers.md#how-many-tools).",
    },
    About {
        name: "permissions.deny",
        takes: Takes::List(Item::Rule),
        default: DefaultValue::EmptyList,
        text: "Calls that never run ([rules](#rules)). Layers add up.",
    },
    About {
        name: "permissions.ask",
        takes: Takes::List(Item::Rule),
        default: DefaultValue::EmptyList,
        text: "Calls that ask in every permission mode. Layers add up.",
    },
    About {
        name: "permissions.allow",
        takes: Takes::List(Item::Rule),
        default: DefaultValue::EmptyList,
        text: "Calls that need no approval, if every part of them matches. A rule without a star \
               that is a complete command line, such as `bash(mkfs.ext4 disk.img)`, also permits a \
               [denied](security.md#in-every-mode) command. Layers add up.",
    },
    About {
        name: "mcp.permissions_default",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Text("ask"),
        text: "Permission of the functions of MCP servers, unless the server's own settings define \
               it.",
    },
    About {
        name: "mcp.servers.NAME.permissions.read",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Described("mcp.permissions_default"),
        text: "Permission of the functions of that server that declare themselves read-only.",
    },
    About {
        name: "mcp.servers.NAME.permissions.write",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Described("mcp.permissions_default"),
        text: "Permission of its other functions.",
    },
    About {
        name: "mcp.servers.NAME.offer",
        takes: Takes::List(Item::Word(&["roots", "elicitation", "sampling"])),
        default: DefaultValue::Described("none"),
        text: "What a server of that name that the editor sends [may request from \
               you](mcp.md#what-a-server-gets).",
    },
    About {
        name: "integrations.permissions_default",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Text("ask"),
        text: "Permission of the functions of [integrations](integrations.md), unless another \
               setting defines it.",
    },
    About {
        name: "integrations.native_tools",
        takes: Takes::Flag,
        default: DefaultValue::Flag(false),
        text: "Whether models get the functions of integrations as tools, in addition to scripts \
               that can call them.",
    },
    About {
        name: "integrations.NAME.enabled",
        takes: Takes::Flag,
        default: DefaultValue::Described("false"),
        text: "Whether the integration is enabled.",
    },
    About {
        name: "integrations.NAME.permissions.read",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Described("integrations.permissions_default"),
        text: "Permission of its read-only functions.",
    },
    About {
        name: "integrations.NAME.permissions.write",
        takes: Takes::Word(ANSWERS),
        default: DefaultValue::Described("integrations.permissions_default"),
        text: "Permission of its other functions.",
    },
    About {
        name: "web.local_hosts",
        takes: Takes::List(Item::Host),
        default: DefaultValue::EmptyList,
        text: "Hosts on this machine or in a private network that `web_fetch` may \
               [fetch from](web.md#local-hosts). Layers add up.",
    },
    About {
        name: "web.search.provider",
        takes: Takes::Word(&["off", "brave", "tavily", "searxng", "hosted"]),
        default: DefaultValue::Text("off"),
        text: "Who is asked by [`web_search`](web.md#searching). Without a provider models do not \
               have the tool. `hosted`: the model's vendor searches by itself, where it can.",
    },
    About {
        name: "web.search.url",
        takes: Takes::Url,
        default: DefaultValue::Described("the provider's own"),
        text: "The address of the search provider; SearXNG needs one.",
    },
    About {
        name: "ui.screen",
        takes: Takes::Word(&["auto", "inline", "full", "plain"]),
        default: DefaultValue::Text("auto"),
        text: "How the [terminal interface](terminal.md#screens) is drawn. `auto`: plain if \
               `ACCESSIBLE` is set or `TERM` is `dumb`, else inline.",
    },
    About {
        name: "ui.theme",
        takes: Takes::Theme,
        default: DefaultValue::Text("terminal"),
        text: "The [theme](terminal.md#themes) of the terminal interface.",
    },
    About {
        name: "ui.keys.NAME",
        takes: Takes::List(Item::Key),
        default: DefaultValue::Described("the keys in the table"),
        text: "The keys of an [action](terminal.md#keys), in place of its default ones; an empty \
               list leaves it without a key.",
    },
    About {
        name: "ui.enter",
        takes: Takes::Word(&["steer", "after"]),
        default: DefaultValue::Text("steer"),
        text: "What Enter does while a turn runs: `steer` sends the message to the turn, `after` \
               sends it after the turn.",
    },
    About {
        name: "ui.mouse",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether full screen uses the mouse. The inline screen never does.",
    },
    About {
        name: "ui.notify",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether the terminal notifies you when something waits, if it does not have the \
               focus or the turn was long.",
    },
    About {
        name: "ui.title",
        takes: Takes::Flag,
        default: DefaultValue::Flag(false),
        text: "Whether the title of the terminal's window names the session.",
    },
    About {
        name: "ui.animation",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether signs of progress move.",
    },
    About {
        name: "ui.hyperlinks",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether links are hyperlinks of the terminal; otherwise their addresses are shown.",
    },
    About {
        name: "ui.ambiguous_width",
        takes: Takes::Word(&["narrow", "wide"]),
        default: DefaultValue::Text("narrow"),
        text: "How wide the terminal draws characters of ambiguous width.",
    },
    About {
        name: "ui.history",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether prompts of the terminal interface are kept for later sessions.",
    },
    About {
        name: "hooks.NAME.on",
        takes: Takes::Word(&["before_tool", "after_tool", "prompt", "stop"]),
        default: DefaultValue::Required,
        text: "When the [hook](#hooks) runs.",
    },
    About {
        name: "hooks.NAME.command",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::Required,
        text: "The command that it runs.",
    },
    About {
        name: "hooks.NAME.tools",
        takes: Takes::List(Item::ToolPattern),
        default: DefaultValue::Described("all"),
        text: "The tools whose calls trigger it.",
    },
    About {
        name: "hooks.NAME.confined",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether it runs in the sandbox of commands.",
    },
    About {
        name: "hooks.NAME.timeout",
        takes: Takes::Seconds { most: Some(HOOK_TIMEOUT_MAX) },
        default: DefaultValue::Described("10"),
        text: "Its timeout.",
    },
    About {
        name: "sandbox.level",
        takes: Takes::Word(&["off", "workspace-write", "read-only"]),
        default: DefaultValue::Text("workspace-write"),
        text: "Confinement of commands on this machine ([on Linux](security.md)).",
    },
    About {
        name: "sandbox.network",
        takes: Takes::Word(&["off", "on", "allow-list"]),
        default: DefaultValue::Text("allow-list"),
        text: "The network of sandboxed commands: none, that of this machine, or by `allow-list` the \
               [hosts](security.md#the-network) that rules such as `network(domain:crates.io)` or the \
               user's answers allow.",
    },
    About {
        name: "sandbox.local_hosts",
        takes: Takes::List(Item::Host),
        default: DefaultValue::EmptyList,
        text: "Hosts in a private network that sandboxed commands may connect to, by rules and \
               questions like others. Layers add up.",
    },
    About {
        name: "sandbox.ask_hosts",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether the user is asked about hosts that no rule names; otherwise they are refused.",
    },
    About {
        name: "sandbox.ask_seconds",
        takes: Takes::Seconds { most: None },
        default: DefaultValue::Described("60"),
        text: "How long a connection of a command waits for the answer; then it is refused.",
    },
    About {
        name: "sandbox.forward_ports",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether a server that a command starts is [reached from outside the sandbox](security.md#the-network), \
               at the loopback addresses of this machine. Never on a server.",
    },
    About {
        name: "sandbox.sign_commits",
        takes: Takes::Word(&["ask", "always", "never"]),
        default: DefaultValue::Text("ask"),
        text: "Whether commits and tags of sandboxed commands are [signed](sandbox.md#git) where git's \
               settings ask for it. The user's program signs outside of the sandbox.",
    },
    About {
        name: "sandbox.writable_paths",
        takes: Takes::List(Item::Path),
        default: DefaultValue::EmptyList,
        text: "Directories outside the project that sandboxed commands may write, such as a build \
               cache. Layers add up.",
    },
    About {
        name: "sandbox.readable_paths",
        takes: Takes::List(Item::Path),
        default: DefaultValue::EmptyList,
        text: "Files and directories outside the project that sandboxed commands may read, such as a \
               data set. Layers add up.",
    },
    About {
        name: "sandbox.home_paths",
        takes: Takes::List(Item::HomePath),
        default: DefaultValue::EmptyList,
        text: "What sandboxed commands see of the home directory in addition to toolchains and caches: \
               `ro`, `cow` (changes stay in the project's copy), `cache` (as `cow`, empty where that is \
               not possible) or `copy` (a configuration file without its secrets), and a path: \
               `\"ro ~/.kube/config\"`. Layers add up.",
    },
    About {
        name: "sandbox.secrets",
        takes: Takes::Word(&["read", "hide"]),
        default: DefaultValue::Text("read"),
        text: "Whether sandboxed commands can read files of the project whose names indicate a secret, \
               such as `.env`. With `read`, their values are removed from the output; with `hide`, the \
               files cannot be opened.",
    },
    About {
        name: "sandbox.max_processes",
        takes: Takes::Count,
        default: DefaultValue::Number(4_096),
        text: "Processes and threads of one sandboxed command.",
    },
    About {
        name: "sandbox.max_memory_mb",
        takes: Takes::Count,
        default: DefaultValue::Number(32_768),
        text: "Data memory of each process of a sandboxed command, in MiB.",
    },
    About {
        name: "sandbox.max_file_mb",
        takes: Takes::Count,
        default: DefaultValue::Number(16_384),
        text: "Size of each file that a sandboxed command writes, in MiB.",
    },
    About {
        name: "sandbox.max_cpu_seconds",
        takes: Takes::Count,
        default: DefaultValue::Number(7_200),
        text: "CPU time of each process of a sandboxed command, in seconds.",
    },
    About {
        name: "sandbox.keep_variables",
        takes: Takes::List(Item::Variable),
        default: DefaultValue::EmptyList,
        text: "Variables that commands keep although their name contains `KEY`, `TOKEN`, `SECRET`, \
               `PASSWORD` or `CREDENTIAL`, or their value is or looks like a secret. Layers add up.",
    },
    About {
        name: "env.login_shell",
        takes: Takes::Word(&["auto", "always", "never"]),
        default: DefaultValue::Text("auto"),
        text: "Whether `PATH` and similar variables of commands and servers come from your login \
               shell ([details](#the-login-shell)).",
    },
    About {
        name: "context.max_output_lines",
        takes: Takes::Count,
        default: DefaultValue::Number(2_000),
        text: "Lines of one tool call's output that the model gets ([the \
               rest](tools.md#long-results)).",
    },
    About {
        name: "context.max_output_bytes",
        takes: Takes::Count,
        default: DefaultValue::Number(50_000),
        text: "Bytes of one tool call's output that the model gets ([the \
               rest](tools.md#long-results)).",
    },
    About {
        name: "context.memories",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether sessions save [memories](memory.md) and are sent them.",
    },
    About {
        name: "context.auto_compact",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether a conversation that outgrows its model's context is [compacted](context.md) \
               automatically.",
    },
    About {
        name: "context.compact_threshold",
        takes: Takes::Percent,
        default: DefaultValue::Number(60),
        text: "Fill level of the context, in percent, that triggers compaction.",
    },
    About {
        name: "context.reserve_output_tokens",
        takes: Takes::Count,
        default: DefaultValue::Number(16_000),
        text: "Tokens of the context reserved for the answer. In a small context, only a fraction \
               of this and of the buffers below is reserved.",
    },
    About {
        name: "context.auto_compact_buffer_tokens",
        takes: Takes::Count,
        default: DefaultValue::Number(12_000),
        text: "Tokens that must remain in addition to the reserve, regardless of the threshold.",
    },
    About {
        name: "context.warning_buffer_tokens",
        takes: Takes::Count,
        default: DefaultValue::Number(24_000),
        text: "Remaining tokens at which the user is warned, if automatic compaction is off.",
    },
    About {
        name: "context.blocking_buffer_tokens",
        takes: Takes::Count,
        default: DefaultValue::Number(3_000),
        text: "Remaining tokens below which the request is not sent unchanged.",
    },
    About {
        name: "context.prune_protect",
        takes: Takes::Count,
        default: DefaultValue::Number(40_000),
        text: "Tokens of the newest tool results that are never omitted.",
    },
    About {
        name: "context.prune_min_savings",
        takes: Takes::Count,
        default: DefaultValue::Number(20_000),
        text: "Minimum number of tokens that omitting old results must save.",
    },
    About {
        name: "providers.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("300; 900 on the local network"),
        text: "How long a model's server may [send nothing](providers.md#silence), unless the \
               provider's own setting below defines it.",
    },
    About {
        name: "providers.openai.api_key_env",
        takes: Takes::Variable,
        default: DefaultValue::Text("OPENAI_API_KEY"),
        text: "The environment variable that holds the key. If it is not set, the key stored by \
               [`tiller setup`](#keys) applies. Keys are never read from settings.",
    },
    About {
        name: "providers.openai.base_url",
        takes: Takes::Url,
        default: DefaultValue::Described("OpenAI's own"),
        text: "The address of OpenAI, or of a server that speaks its API.",
    },
    About {
        name: "providers.openai.wire",
        takes: Takes::Word(&["auto", "chat", "responses"]),
        default: DefaultValue::Text("auto"),
        text: "Chat Completions or Responses. `auto` chooses [by address and \
               model](providers.md#wires), and switches if the server demands it.",
    },
    About {
        name: "providers.openai.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("providers.silence"),
        text: "The same for OpenAI.",
    },
    About {
        name: "providers.anthropic.api_key_env",
        takes: Takes::Variable,
        default: DefaultValue::Text("ANTHROPIC_API_KEY"),
        text: "The environment variable that holds the key.",
    },
    About {
        name: "providers.anthropic.base_url",
        takes: Takes::Url,
        default: DefaultValue::Described("Anthropic's own"),
        text: "The address of Anthropic, or of a server that speaks its API.",
    },
    About {
        name: "providers.anthropic.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("providers.silence"),
        text: "The same for Anthropic.",
    },
    About {
        name: "providers.gemini.api_key_env",
        takes: Takes::Variable,
        default: DefaultValue::Text("GEMINI_API_KEY"),
        text: "The environment variable that holds the key. If it is not set, `GOOGLE_API_KEY` \
               applies.",
    },
    About {
        name: "providers.gemini.base_url",
        takes: Takes::Url,
        default: DefaultValue::Described("Google's own"),
        text: "The address of Google's Gemini API, or of a server that speaks it.",
    },
    About {
        name: "providers.gemini.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("providers.silence"),
        text: "The same for Gemini.",
    },
    About {
        name: "providers.custom.NAME.base_url",
        takes: Takes::Url,
        default: DefaultValue::Described("none; required"),
        text: "The address of a custom provider. Its models are `NAME/MODEL`.",
    },
    About {
        name: "providers.custom.NAME.api_key_env",
        takes: Takes::Variable,
        default: DefaultValue::Described("NAME_API_KEY"),
        text: "The environment variable that holds its key, if it requires one.",
    },
    About {
        name: "providers.custom.NAME.wire",
        takes: Takes::Word(&["chat", "responses", "anthropic", "gemini"]),
        default: DefaultValue::Described("chat"),
        text: "The API that it speaks.",
    },
    About {
        name: "providers.custom.NAME.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("providers.silence"),
        text: "The same for that provider.",
    },
    About {
        name: "providers.local.discover",
        takes: Takes::Flag,
        default: DefaultValue::Flag(true),
        text: "Whether to search for model servers on this machine (Ollama, llama.cpp, LM Studio, \
               vLLM).",
    },
    About {
        name: "providers.local.urls",
        takes: Takes::List(Item::Url),
        default: DefaultValue::EmptyList,
        text: "Further model servers to query, on loopback addresses. Layers add up.",
    },
    About {
        name: "providers.local.ollama",
        takes: Takes::Address,
        default: DefaultValue::Described("127.0.0.1:11434"),
        text: "The address of Ollama, on this machine or another. `OLLAMA_HOST` sets it too.",
    },
    About {
        name: "providers.local.silence",
        takes: Takes::Seconds { most: Some(IDLE_TIMEOUT_MAX) },
        default: DefaultValue::Described("providers.silence"),
        text: "How long a model server on this machine may send nothing.",
    },
    About {
        name: "models.calls_as_text",
        takes: Takes::Word(&["auto", "on", "off"]),
        default: DefaultValue::Text("auto"),
        text: "Whether a tool call that a model writes into its text is executed. `auto` recognises \
               every form from models not known to support native tool calls, and only template \
               markers from all others.",
    },
    About {
        name: "client.terminal",
        takes: Takes::Word(&["client", "local"]),
        default: DefaultValue::Text("client"),
        text: "Where commands run if the editor has terminals.",
    },
    About {
        name: "client.tools",
        takes: Takes::Word(&["auto", "transparent", "ide", "off"]),
        default: DefaultValue::Text("auto"),
        text: "Which tools act where ([delegation](delegation.md)): through the editor, on two \
               machines, or never through the editor. `auto` means `transparent` for an editor that \
               starts Tiller itself.",
    },
    About {
        name: "limits.turn_requests",
        takes: Takes::Count,
        default: DefaultValue::Number(200),
        text: "Model requests in one turn.",
    },
    About {
        name: "limits.identical_calls",
        takes: Takes::Count,
        default: DefaultValue::Number(5),
        text: "How often the same calls, alone or in a sequence with others, may repeat with the \
               same results before the turn stops. The model is warned twice before.",
    },
    About {
        name: "limits.calls_per_response",
        takes: Takes::Count,
        default: DefaultValue::Number(64),
        text: "Tool calls executed from one model response.",
    },
    About {
        name: "limits.queued_prompts",
        takes: Takes::Count,
        default: DefaultValue::Number(32),
        text: "Prompts that may wait in the queue behind a running turn.",
    },
    About {
        name: "limits.permission_wait",
        takes: Takes::Seconds { most: None },
        default: DefaultValue::Number(3_600),
        text: "How long a permission request may stay unanswered before it counts as rejected.",
    },
];

//! Every setting there is, in the order they are documented.

use super::key::{InProject, Key};
use crate::options::{Options, Terminal, Wire};

const MODEL: &str = "a project must not choose where your code is sent";
const PROMPT: &str = "a project must not add to the system prompt";
const PATHS: &str = "a project must not widen what may be touched without asking";
const PLACE: &str = "a project must not choose where commands run";

/// Every setting.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "agent.default_model",
        takes: "PROVIDER/NAME",
        default: "(first available)",
        in_project: InProject::Never(MODEL),
        about: "The model of new sessions.",
        set: |o, v| Ok(o.model = Some(model(v.text()?)?)),
    },
    Key {
        name: "agent.mode",
        takes: "edit, plan or ask",
        default: "edit",
        in_project: InProject::Tightens(|before, after| order_of_mode(after) >= order_of_mode(before)),
        about: "What the agent may do at all: everything, read and plan, read and answer.",
        set: |o, v| Ok(o.mode = v.word()?),
    },
    Key {
        name: "agent.system_prompt",
        takes: "text",
        default: "(none)",
        in_project: InProject::Never(PROMPT),
        about: "Text added to the system prompt.",
        set: |o, v| Ok(o.append_system_prompt = Some(v.text()?)),
    },
    Key {
        name: "tools.default_permission_mode",
        takes: "guardian, argus or prometheus",
        default: "guardian",
        in_project: InProject::Tightens(|before, after| {
            order_of_permission(after) >= order_of_permission(before)
        }),
        about: "How much is asked before a tool acts: the risky, everything, nothing.",
        set: |o, v| Ok(o.permission_mode = v.word()?),
    },
    Key {
        name: "tools.denied_tools",
        takes: "list of tool names",
        default: "[]",
        in_project: InProject::Adds,
        about: "Tools that are denied in every mode. Layers add up.",
        set: |o, v| Ok(o.denied_tools.extend(v.texts()?)),
    },
    Key {
        name: "tools.blocked_paths",
        takes: "list of path patterns",
        default: "[]",
        in_project: InProject::Adds,
        about: "Files that are denied in every mode, beside the built-in ones (`*.env`, `.git/*`, keys). Layers add up.",
        set: |o, v| Ok(o.blocked_paths.extend(v.texts()?)),
    },
    Key {
        name: "tools.allowed_paths",
        takes: "list of paths from / or ~/",
        default: "[] (and the temporary folder)",
        in_project: InProject::Never(PATHS),
        about: "Folders outside the project that need no question of their own. Layers add up.",
        set: |o, v| Ok(o.allowed_paths.extend(v.paths(&o.folders.home)?)),
    },
    Key {
        name: "tools.bash.timeout",
        takes: "seconds",
        default: "120",
        in_project: InProject::Tightens(|before, after| {
            after.limits.tools.command_timeout <= before.limits.tools.command_timeout
        }),
        about: "How long a command may run when the model does not say.",
        set: |o, v| {
            let (given, most) = (v.seconds()?, o.limits.tools.command_timeout_max);
            if given > most {
                return Err(format!("is at most {} seconds", most.as_secs()));
            }
            Ok(o.limits.tools.command_timeout = given)
        },
    },
    Key {
        name: "context.max_output_lines",
        takes: "whole number",
        default: "2000",
        in_project: InProject::Tightens(|before, after| {
            after.limits.tools.output_lines <= before.limits.tools.output_lines
        }),
        about: "Lines of one tool call's output that the model gets.",
        set: |o, v| Ok(o.limits.tools.output_lines = v.count()?),
    },
    Key {
        name: "context.max_output_bytes",
        takes: "whole number",
        default: "50000",
        in_project: InProject::Tightens(|before, after| {
            after.limits.tools.output_bytes <= before.limits.tools.output_bytes
        }),
        about: "Bytes of one tool call's output that the model gets.",
        set: |o, v| Ok(o.limits.tools.output_bytes = v.count()?),
    },
    Key {
        name: "providers.openai.api_key_env",
        takes: "a variable's name",
        default: "OPENAI_API_KEY",
        in_project: InProject::Never(MODEL),
        about: "The environment variable that holds the key. Keys themselves are never read from files.",
        set: |o, v| Ok(o.openai.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.openai.base_url",
        takes: "http(s)://…",
        default: "(OpenAI's own)",
        in_project: InProject::Never(MODEL),
        about: "Where OpenAI, or anything that speaks its language, is.",
        set: |o, v| Ok(o.openai.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.openai.wire",
        takes: "auto, chat or responses",
        default: "auto",
        in_project: InProject::Never(MODEL),
        about: "Chat Completions or Responses; `auto` is Responses at OpenAI's own address and Chat Completions elsewhere.",
        set: |o, v| {
            let words = [("auto", Wire::Auto), ("chat", Wire::Chat), ("responses", Wire::Responses)];
            Ok(o.wire = v.one_of(&words)?)
        },
    },
    Key {
        name: "providers.anthropic.api_key_env",
        takes: "a variable's name",
        default: "ANTHROPIC_API_KEY",
        in_project: InProject::Never(MODEL),
        about: "The environment variable that holds the key.",
        set: |o, v| Ok(o.anthropic.api_key_env = v.variable()?),
    },
    Key {
        name: "providers.anthropic.base_url",
        takes: "http(s)://…",
        default: "(Anthropic's own)",
        in_project: InProject::Never(MODEL),
        about: "Where Anthropic, or anything that speaks its language, is.",
        set: |o, v| Ok(o.anthropic.base_url = Some(v.url()?)),
    },
    Key {
        name: "providers.local.discover",
        takes: "true or false",
        default: "true",
        in_project: InProject::Never(MODEL),
        about: "Whether model servers on this machine (Ollama, llama.cpp, LM Studio) are looked for.",
        set: |o, v| Ok(o.local.discover = v.flag()?),
    },
    Key {
        name: "providers.local.urls",
        takes: "list of http(s)://…",
        default: "[]",
        in_project: InProject::Never(MODEL),
        about: "Further model servers to look at, on loopback. Layers add up.",
        set: |o, v| {
            for url in v.texts()? {
                o.local.urls.push(super::key::Value::Text(url).url()?);
            }
            Ok(())
        },
    },
    Key {
        name: "client.terminal",
        takes: "client or local",
        default: "client",
        in_project: InProject::Never(PLACE),
        about: "Where commands run when the editor has terminals.",
        set: |o, v| Ok(o.terminal = v.one_of(&[("client", Terminal::Client), ("local", Terminal::Local)])?),
    },
    Key {
        name: "limits.turn_requests",
        takes: "whole number",
        default: "200",
        in_project: InProject::Tightens(|before, after| {
            after.limits.turn_requests <= before.limits.turn_requests
        }),
        about: "Model requests in one turn.",
        set: |o, v| Ok(o.limits.turn_requests = v.count()?),
    },
    Key {
        name: "limits.identical_calls",
        takes: "whole number",
        default: "5",
        in_project: InProject::Tightens(|before, after| {
            after.limits.identical_calls <= before.limits.identical_calls
        }),
        about: "How often the same call may be repeated in a row before the turn is stopped.",
        set: |o, v| Ok(o.limits.identical_calls = v.count()?),
    },
    Key {
        name: "limits.calls_per_response",
        takes: "whole number",
        default: "64",
        in_project: InProject::Tightens(|before, after| {
            after.limits.calls_per_response <= before.limits.calls_per_response
        }),
        about: "Tool calls taken from one answer of the model.",
        set: |o, v| Ok(o.limits.calls_per_response = v.count()?),
    },
    Key {
        name: "limits.queued_prompts",
        takes: "whole number",
        default: "32",
        in_project: InProject::Tightens(|before, after| {
            after.limits.queued_prompts <= before.limits.queued_prompts
        }),
        about: "Prompts that may wait behind a running turn.",
        set: |o, v| Ok(o.limits.queued_prompts = v.count()?),
    },
    Key {
        name: "limits.permission_wait",
        takes: "seconds",
        default: "3600",
        in_project: InProject::Tightens(|before, after| {
            after.limits.permission_wait <= before.limits.permission_wait
        }),
        about: "How long a permission request may stay unanswered; then it is a rejection.",
        set: |o, v| Ok(o.limits.permission_wait = v.seconds()?),
    },
];

/// Grows with strictness: `ask` offers less than `plan`, and that less than `edit`.
fn order_of_mode(options: &Options) -> usize {
    agent::Mode::ALL.iter().position(|mode| *mode == options.mode).unwrap_or_default()
}

fn order_of_permission(options: &Options) -> u8 {
    match options.permission_mode {
        agent::PermissionMode::Prometheus => 0,
        agent::PermissionMode::Guardian => 1,
        agent::PermissionMode::Argus => 2,
    }
}

/// A model's full id.
pub(super) fn model(id: String) -> Result<String, String> {
    match id.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => Ok(id),
        _ => Err(format!("takes PROVIDER/NAME, such as offline/pilot, not {id:?}")),
    }
}

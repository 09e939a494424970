//! What a client needs permission for, if its connection has a restricted credential.

use crate::native::Prefix;
use agent::principal::Operation;

/// Returns the operation of a method; `None` if everybody may call it.
pub(super) fn operation(method: &str) -> Option<Operation> {
    if let Some((_, name)) = Prefix::split(method) {
        return native(name);
    }
    let operation = match method {
        "initialize" => return None,
        "authenticate" | "logout" | "auth/login" | "auth/logout" => Operation::ChangeSettings,
        "auth/status" => Operation::ReadSettings,
        "session/new" => Operation::Create,
        "session/list" => Operation::List,
        "session/load"
        | "session/resume"
        | "session/unstable_resume"
        | "unstable_resume"
        | "session/status"
        | "session/close" => Operation::Load,
        "session/prompt" => Operation::Prompt,
        "session/cancel" | "cancel" => Operation::Cancel,
        "session/fork" => Operation::Fork,
        "session/delete" => Operation::Delete,
        "session/archive" | "session/unarchive" => Operation::Archive,
        // Changes of a session, and methods that are not known yet.
        _ => Operation::Change,
    };
    Some(operation)
}

fn native(name: &str) -> Option<Operation> {
    let operation = match name {
        "capabilities" => return None,
        "sessions/search" => Operation::Search,
        "sessions/checkpoints"
        | "sessions/export"
        | "permissions/log"
        | "permissions/explain"
        | "subagents/list"
        | "subagents/get"
        | "usage/get"
        | "tasks/list"
        | "goal/get"
        | "shells/list"
        | "shells/output" => Operation::Read,
        "sessions/rewind" => Operation::Rewind,
        "subagents/cancel" | "shells/stop" => Operation::Cancel,
        "runtime/set" | "goal/set" => Operation::Change,
        "trust/list" | "memories/list" | "doctor" => Operation::ReadSettings,
        "integrations/list"
        | "integrations/describe"
        | "mcp/list_servers"
        | "mcp/list_tools"
        | "mcp/schema" => Operation::ReadSettings,
        "integrations/call" | "mcp/call_tool" | "lua/execute" => Operation::CallTool,
        // Settings, secrets, providers, servers, trust, memories; and what is not known yet.
        _ => Operation::ChangeSettings,
    };
    Some(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_needs_what_its_effect_demands_and_unknown_ones_need_most() {
        for (method, expected) in [
            ("initialize", None),
            ("_tiller/capabilities", None),
            ("session/prompt", Some(Operation::Prompt)),
            ("session/load", Some(Operation::Load)),
            ("session/set_mode", Some(Operation::Change)),
            ("session/unheard_of", Some(Operation::Change)),
            ("kosmokrator/runtime/set", Some(Operation::Change)),
            ("_tiller/sessions/export", Some(Operation::Read)),
            ("_tiller/trust/give", Some(Operation::ChangeSettings)),
            ("_tiller/unheard_of", Some(Operation::ChangeSettings)),
        ] {
            assert_eq!(operation(method), expected, "{method}");
        }
    }
}

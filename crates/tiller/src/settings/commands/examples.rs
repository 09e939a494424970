//! The examples of `settings examples`: the group of settings, a title, and the text of a file.

pub(super) const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "agent",
        "The model of new sessions, and a cheaper one for subagents",
        "[agent]\ndefault_model = \"anthropic/claude-sonnet-5-5\"\nsubagent_model = \"anthropic/claude-haiku-5-5\"\n",
    ),
    (
        "agent",
        "Begin every session by planning",
        "[agent]\nmode = \"plan\"\nsystem_prompt = \"Answer in British English.\"\n",
    ),
    (
        "permissions",
        "Run the tests and read the web without asking, never push",
        "[permissions]\nallow = [\"bash(cargo test*)\", \"web_fetch(domain:docs.rs)\"]\ndeny = [\"bash(git push*)\"]\n",
    ),
    (
        "tools",
        "Ask about every call, and keep some files out of reach",
        "[tools]\ndefault_permission_mode = \"argus\"\nblocked_paths = [\"secrets/*\", \"~/keys/*\"]\n\n[tools.bash]\ntimeout = 300\n",
    ),
    (
        "providers",
        "A model server of your own, with its key in WORK_KEY",
        "[agent]\ndefault_model = \"work/large\"\n\n[providers.custom.work]\nbase_url = \"http://127.0.0.1:8000/v1\"\napi_key_env = \"WORK_KEY\"\n",
    ),
    (
        "providers",
        "A further server on this machine, and Ollama on another",
        "[providers.local]\nurls = [\"http://127.0.0.1:9000\"]\nollama = \"192.168.1.20:11434\"\n",
    ),
    (
        "sandbox",
        "Let commands use the network and write to a cache",
        "[sandbox]\nnetwork = \"on\"\nwritable_paths = [\"~/.cache/project\"]\n",
    ),
    (
        "hooks",
        "Check the formatting after every change of a file",
        "[hooks.format]\non = \"after_tool\"\ntools = [\"file_write\", \"file_edit\", \"apply_patch\"]\ncommand = [\"/path/to/check-format\"]\n",
    ),
    (
        "web",
        "Search with SearXNG on this machine",
        "[web]\nlocal_hosts = [\"localhost\"]\n\n[web.search]\nprovider = \"searxng\"\nurl = \"http://localhost:8888\"\n",
    ),
    (
        "mcp",
        "Ask before a server changes anything",
        "[mcp]\npermissions_default = \"ask\"\n\n[mcp.servers.github.permissions]\nread = \"allow\"\n",
    ),
];

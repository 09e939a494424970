//! The table of known clients.

use super::{
    Buffers, Client, ClientFacts, Diff, DisplayFacts, Displayed, Fact, Login, Name, Ranges, Source, Stdin,
    Terminal, Versions,
};

/// Capabilities: file reads, file writes and terminals.
const EVERYTHING: &str = r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}"#;
/// Capabilities: file reads and writes.
const FILES: &str = r#"{"fs":{"readTextFile":true,"writeTextFile":true}}"#;
/// Capabilities: none.
const NOTHING: &str = r#"{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}"#;

/// The known clients.
pub const KNOWN: &[Client] = &[
    ZED,
    JETBRAINS,
    CODECOMPANION,
    AGENT_SHELL,
    TOAD,
    VSCODE_ACP,
    AVANTE,
    OBSIDIAN,
    ACPX,
    ACP_FACTORY,
    HARBOR,
    AI_SDK_PROVIDER,
    TYPESCRIPT_SDK,
    PYTHON_SDK,
];

/// It joined `args` unquoted until about the end of 2025, and quotes them since. A command without
/// `args` was always a shell command line, so Tiller sends lines. The shell is bash where
/// available. Ranges are correct since 2025-09; every version that sends its name is newer.
const ZED: Client = Client {
    title: "Zed",
    names: &[Name::Is("zed")],
    versions: Versions::ALL,
    version: "0.228.0",
    capabilities: r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"auth":{"terminal":true},"_meta":{"terminal_output":true,"terminal-auth":true}}"#,
    facts: ClientFacts {
        terminal: Terminal::Joined,
        stdin: Stdin::Empty,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::Yes, plan: Displayed::Yes },
        login: Login::WhenRefused,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Login],
            at: "https://github.com/zed-industries/zed/blob/main/crates/agent_servers/src/acp.rs",
            version: "548feed24fc5bb6e1c623f69913df8bdef789ad0",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal, Fact::Stdin, Fact::Shows],
            at: "https://github.com/zed-industries/zed/blob/main/crates/acp_thread/src/terminal.rs",
            version: "037bc2f1afef2538d9129f8b49e148ed82ad2aec",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal, Fact::Stdin],
            at: "https://github.com/zed-industries/zed/blob/main/crates/util/src/shell_builder.rs",
            version: "ba676c44c28ecf060633e0ebd0da8d2aa8a1e17d",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal],
            at: "https://github.com/zed-industries/zed/pull/42651",
            version: "arguments are quoted from then on",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges],
            at: "https://github.com/zed-industries/zed/pull/38401",
            version: "merged 2025-09-18",
            read: "2026-11-22",
        },
    ],
};

/// Its source is not public: how it handles commands and ranges is probed.
const JETBRAINS: Client = Client {
    title: "JetBrains IDEs",
    names: &[Name::Starts("JetBrains.")],
    versions: Versions::ALL,
    version: "2026.2",
    capabilities: EVERYTHING,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Unknown,
        shows: DisplayFacts { diff: Diff::Unknown, terminals: Displayed::Unknown, plan: Displayed::Unknown },
        login: Login::Unknown,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name],
            at: "https://github.com/mistralai/mistral-vibe/tree/main/vibe/acp",
            version: "`is_jetbrains_client` there asks for names that start with `JetBrains.`",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Capabilities],
            at: "https://www.jetbrains.com/help/ai-assistant/acp.html",
            version: "2026.2",
            read: "2026-11-22",
        },
    ],
};

/// It always reports version 1.0.0. A missing file reads as empty text; unknown methods get no
/// response.
const CODECOMPANION: Client = Client {
    title: "CodeCompanion (Neovim)",
    names: &[Name::Is("CodeCompanion.nvim")],
    versions: Versions::ALL,
    version: "1.0.0",
    capabilities: FILES,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::First, terminals: Displayed::No, plan: Displayed::Yes },
        login: Login::Configured,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities],
            at: "https://github.com/olimorris/codecompanion.nvim/blob/main/lua/codecompanion/adapters/acp/claude_code.lua",
            version: "19.22.0 (f1afd02537c68b3dd6e0d41d4adda5ef538e0473)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges],
            at: "https://github.com/olimorris/codecompanion.nvim/blob/main/lua/codecompanion/interactions/chat/acp/fs.lua",
            version: "19.22.0 (f1afd02537c68b3dd6e0d41d4adda5ef538e0473)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Shows],
            at: "https://github.com/olimorris/codecompanion.nvim/blob/main/lua/codecompanion/interactions/chat/acp/request_permission.lua",
            version: "19.22.0 (f1afd02537c68b3dd6e0d41d4adda5ef538e0473)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Login],
            at: "https://github.com/olimorris/codecompanion.nvim/blob/main/lua/codecompanion/acp/init.lua",
            version: "19.22.0 (f1afd02537c68b3dd6e0d41d4adda5ef538e0473)",
            read: "2026-11-22",
        },
    ],
};

const AGENT_SHELL: Client = Client {
    title: "agent-shell (Emacs)",
    names: &[Name::Is("agent-shell")],
    versions: Versions::ALL,
    version: "0.48.1",
    capabilities: FILES,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::No, plan: Displayed::Yes },
        login: Login::Configured,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Ranges, Fact::Shows, Fact::Login],
            at: "https://github.com/xenodium/agent-shell/blob/main/agent-shell.el",
            version: "0.48.1 (ebdba1df1b89eebca1b77b9fe7740102ebeaed8a)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Capabilities],
            at: "https://github.com/xenodium/acp.el/blob/main/acp.el",
            version: "0.14.2 (4d7d58d)",
            read: "2026-11-22",
        },
    ],
};

/// `args` are quoted for a POSIX shell and joined, but `$SHELL`, which may be another kind of
/// shell, runs the line. If `command` contains a blank, it is the line and `args` are dropped.
/// Standard input is the terminal. Form feeds and Unicode separators also end lines, so ranges are
/// wrong in files that contain them. `terminal/kill` fails, and `terminal/release` kills nothing.
const TOAD: Client = Client {
    title: "Toad",
    names: &[Name::Is("toad")],
    versions: Versions::ALL,
    version: "0.6.18",
    capabilities: EVERYTHING,
    facts: ClientFacts {
        terminal: Terminal::Joined,
        stdin: Stdin::Waits,
        ranges: Ranges::Inexact,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::Yes, plan: Displayed::Yes },
        login: Login::Never,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Ranges, Fact::Shows, Fact::Login],
            at: "https://github.com/batrachianai/toad/blob/main/src/toad/acp/agent.py",
            version: "0.6.18 (f68ebee)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal, Fact::Stdin],
            at: "https://github.com/batrachianai/toad/blob/main/src/toad/widgets/terminal_tool.py",
            version: "0.6.18 (f68ebee)",
            read: "2026-11-22",
        },
    ],
};

/// It calls `spawn(command, args, { shell: true })`: the shell is `/bin/sh`, standard input a pipe
/// without a writer.
const VSCODE_ACP: Client = Client {
    title: "ACP Client (VS Code)",
    names: &[Name::Is("vscode-acp-client")],
    versions: Versions { from: None, until: Some("0.3") },
    version: "0.2.0",
    capabilities: EVERYTHING,
    facts: ClientFacts {
        terminal: Terminal::Joined,
        stdin: Stdin::Waits,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::Nowhere, terminals: Displayed::No, plan: Displayed::Yes },
        login: Login::WhenRefused,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities],
            at: "https://github.com/formulahendry/vscode-acp/blob/main/src/core/ConnectionManager.ts",
            version: "0.2.0 (e737165)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal, Fact::Stdin],
            at: "https://github.com/formulahendry/vscode-acp/blob/main/src/handlers/TerminalHandler.ts",
            version: "0.2.0 (e737165)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges],
            at: "https://github.com/formulahendry/vscode-acp/blob/main/src/handlers/FileSystemHandler.ts",
            version: "0.2.0 (e737165)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Shows],
            at: "https://github.com/formulahendry/vscode-acp/blob/main/src/ui/ChatWebviewProvider.ts",
            version: "0.2.0 (e737165)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Login],
            at: "https://github.com/formulahendry/vscode-acp/blob/main/src/core/SessionManager.ts",
            version: "0.2.0 (e737165)",
            read: "2026-11-22",
        },
    ],
};

/// It sends no name. A range has one line too many, and `line` without `limit` is ignored.
const AVANTE: Client = Client {
    title: "avante (Neovim)",
    names: &[],
    versions: Versions::ALL,
    version: "0.1.2",
    capabilities: FILES,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Inexact,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::No, plan: Displayed::Yes },
        login: Login::Configured,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Login],
            at: "https://github.com/yetone/avante.nvim/blob/main/lua/avante/libs/acp_client.lua",
            version: "a9334315e05ac750985c7d0b391e360e36e0278e",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges, Fact::Shows],
            at: "https://github.com/yetone/avante.nvim/blob/main/lua/avante/llm.lua",
            version: "a9334315e05ac750985c7d0b391e360e36e0278e",
            read: "2026-11-22",
        },
    ],
};

/// `command` and `args` are quoted for a POSIX shell and joined, but `$SHELL`, which may be another
/// kind of shell, runs the line. A `command` without `args` is the line. Standard input is a pipe
/// without a writer.
const OBSIDIAN: Client = Client {
    title: "Agent Client (Obsidian)",
    names: &[Name::Is("obsidian-agent-client")],
    versions: Versions::ALL,
    version: "0.10.6",
    capabilities: r#"{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":true}"#,
    facts: ClientFacts {
        terminal: Terminal::Joined,
        stdin: Stdin::Waits,
        ranges: Ranges::Unknown,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::Yes, plan: Displayed::Yes },
        login: Login::WhenRefused,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Login],
            at: "https://github.com/RAIT-09/obsidian-agent-client/blob/master/src/acp/acp-client.ts",
            version: "0.10.6 (a34ea74)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal, Fact::Stdin],
            at: "https://github.com/RAIT-09/obsidian-agent-client/blob/master/src/acp/terminal-handler.ts",
            version: "0.10.6 (a34ea74)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Terminal],
            at: "https://github.com/RAIT-09/obsidian-agent-client/blob/master/src/utils/platform.ts",
            version: "0.10.6 (a34ea74)",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Shows],
            at: "https://github.com/RAIT-09/obsidian-agent-client/blob/master/src/acp/type-converter.ts",
            version: "0.10.6 (a34ea74)",
            read: "2026-11-22",
        },
    ],
};

const ACPX: Client = Client {
    title: "acpx",
    names: &[Name::Is("acpx")],
    versions: Versions::ALL,
    version: "0.19.1",
    capabilities: EVERYTHING,
    facts: ClientFacts {
        terminal: Terminal::Vector,
        stdin: Stdin::Empty,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::Nowhere, terminals: Displayed::No, plan: Displayed::Yes },
        login: Login::Configured,
        buffers: Buffers::None,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Terminal, Fact::Stdin, Fact::Shows, Fact::Login],
            at: "https://registry.npmjs.org/acpx (dist/queue-owner-runtime-*.js)",
            version: "0.19.1",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges, Fact::Buffers],
            at: "https://github.com/openclaw/acpx/blob/main/src/filesystem.ts",
            version: "0.1.3 (3d452d5)",
            read: "2026-11-22",
        },
    ],
};

/// It sends no name, and has terminals only if the program that uses it supplies them.
const ACP_FACTORY: Client = Client {
    title: "acp-factory",
    names: &[],
    versions: Versions::ALL,
    version: "0.1.14",
    capabilities: r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":false}"#,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Ignored,
        shows: DisplayFacts { diff: Diff::Unknown, terminals: Displayed::Unknown, plan: Displayed::Unknown },
        login: Login::Never,
        buffers: Buffers::Unknown,
    },
    sources: &[
        Source {
            facts: &[Fact::Name, Fact::Capabilities, Fact::Login],
            at: "https://registry.npmjs.org/acp-factory (dist/index.js)",
            version: "0.1.14",
            read: "2026-11-22",
        },
        Source {
            facts: &[Fact::Ranges],
            at: "https://github.com/sudocode-ai/acp-factory/blob/main/src/client-handler.ts",
            version: "0.1.11 (90d390b)",
            read: "2026-11-22",
        },
    ],
};

/// It sends no name. Commands inherit the program's standard input. Form feeds and Unicode
/// separators also end lines, so ranges are wrong in files that contain them. `terminal/release`
/// kills nothing.
const HARBOR: Client = Client {
    title: "Harbor",
    names: &[],
    versions: Versions::ALL,
    version: "0.25.0",
    capabilities: r#"{"auth":{"terminal":false},"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}"#,
    facts: ClientFacts {
        terminal: Terminal::Vector,
        stdin: Stdin::Waits,
        ranges: Ranges::Inexact,
        shows: DisplayFacts { diff: Diff::Nowhere, terminals: Displayed::No, plan: Displayed::No },
        login: Login::Configured,
        buffers: Buffers::Unknown,
    },
    sources: &[Source {
        facts: &[
            Fact::Name,
            Fact::Capabilities,
            Fact::Terminal,
            Fact::Stdin,
            Fact::Ranges,
            Fact::Shows,
            Fact::Login,
        ],
        at: "https://pypi.org/project/harbor (the runner that is copied into the container, `acp_runner.py`)",
        version: "0.25",
        read: "2026-11-22",
    }],
};

/// It sends a name only if its settings contain one, and offers neither files nor terminals.
const AI_SDK_PROVIDER: Client = Client {
    title: "ACP provider for the AI SDK",
    names: &[],
    versions: Versions::ALL,
    version: "0.2.9",
    capabilities: NOTHING,
    facts: ClientFacts {
        terminal: Terminal::Unknown,
        stdin: Stdin::Unknown,
        ranges: Ranges::Unknown,
        shows: DisplayFacts { diff: Diff::Unknown, terminals: Displayed::Unknown, plan: Displayed::Unknown },
        login: Login::Configured,
        buffers: Buffers::Unknown,
    },
    sources: &[Source {
        facts: &[Fact::Name, Fact::Capabilities, Fact::Login],
        at: "https://registry.npmjs.org/@mcpc-tech/acp-ai-provider (index.mjs)",
        version: "0.2.9",
        read: "2026-11-22",
    }],
};

/// This project's scripted editor, used in tests unless a test imitates another client. It follows
/// the protocol exactly. Not a row of the table, which lists other projects' clients.
pub const SCRIPTED: Client = Client {
    title: "the scripted editor",
    names: &[Name::Is("tiller-scripted-editor")],
    versions: Versions::ALL,
    version: "1",
    capabilities: EVERYTHING,
    facts: ClientFacts {
        terminal: Terminal::Vector,
        stdin: Stdin::Empty,
        ranges: Ranges::Honoured,
        shows: DisplayFacts { diff: Diff::Anywhere, terminals: Displayed::Yes, plan: Displayed::Yes },
        login: Login::Unknown,
        buffers: Buffers::Unknown,
    },
    sources: &[],
};

/// Behaviour depends on the program that uses the SDK, so nothing is known of the library.
const TYPESCRIPT_SDK: Client = Client {
    title: "TypeScript SDK",
    names: &[],
    versions: Versions::ALL,
    version: "2.4.0",
    capabilities: EVERYTHING,
    facts: UNKNOWN,
    sources: &[Source {
        facts: &[Fact::Name, Fact::Capabilities],
        at: "https://registry.npmjs.org/@agentclientprotocol/sdk",
        version: "2.4.0",
        read: "2026-11-22",
    }],
};

/// See [`TYPESCRIPT_SDK`].
const PYTHON_SDK: Client = Client {
    title: "Python SDK",
    names: &[],
    versions: Versions::ALL,
    version: "0.12.1",
    capabilities: FILES,
    facts: UNKNOWN,
    sources: &[Source {
        facts: &[Fact::Name, Fact::Capabilities],
        at: "https://pypi.org/project/agent-client-protocol",
        version: "0.12.1",
        read: "2026-11-22",
    }],
};

const UNKNOWN: ClientFacts = ClientFacts {
    terminal: Terminal::Unknown,
    stdin: Stdin::Unknown,
    ranges: Ranges::Unknown,
    shows: DisplayFacts { diff: Diff::Unknown, terminals: Displayed::Unknown, plan: Displayed::Unknown },
    login: Login::Unknown,
    buffers: Buffers::Unknown,
};

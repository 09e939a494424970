//! Examples for the help, the manual pages and the page of commands.

/// Each command with its examples: lines as typed in a shell.
pub(crate) const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "tiller",
        &[
            "tiller 'fix the typo in src/greet.sh'",
            "tiller -p 'review this' -o json < change.diff",
            "tiller -p 'go on' --continue --max-turns 20",
        ],
    ),
    ("tiller acp", &["tiller acp", "tiller acp --model anthropic/claude-sonnet-4-5 --permission-mode argus"]),
    (
        "tiller serve",
        &[
            "tiller serve",
            "tiller serve --listen tcp:0.0.0.0:7443 --tls-cert cert.pem --tls-key key.pem",
            "tiller serve --listen tcp:127.0.0.1:7000 --behind-proxy 127.0.0.1/32",
        ],
    ),
    ("tiller serve status", &["tiller serve status", "tiller serve status --json"]),
    ("tiller serve sessions", &["tiller serve sessions --user ada"]),
    ("tiller serve export", &["tiller serve export SESSION", "tiller serve export SESSION > session.md"]),
    (
        "tiller serve disconnect",
        &["tiller serve disconnect CONNECTION", "tiller serve disconnect --user ada"],
    ),
    ("tiller serve drain", &["tiller serve drain --wait"]),
    ("tiller serve nodes", &["tiller serve nodes"]),
    (
        "tiller serve audit",
        &[
            "tiller serve audit --since 7d --user ada",
            "tiller serve audit --since 2026-11-25T08:00:00Z --json",
        ],
    ),
    (
        "tiller serve check",
        &["tiller serve check --listen tcp:0.0.0.0:7443 --tls-cert cert.pem --tls-key key.pem"],
    ),
    ("tiller connect", &["tiller connect", "tiller connect wss://agents.example"]),
    ("tiller demo", &["tiller demo", "tiller demo --project . --prompt 'show README.md lines 1-5'"]),
    ("tiller sessions list", &["tiller sessions list --cwd . --json"]),
    ("tiller sessions show", &["tiller sessions show ID"]),
    ("tiller sessions fork", &["tiller sessions fork ID"]),
    ("tiller sessions export", &["tiller sessions export ID --format markdown > session.md"]),
    ("tiller sessions import", &["tiller sessions import session.json --cwd ~/project"]),
    ("tiller sessions archive", &["tiller sessions archive ID"]),
    ("tiller sessions unarchive", &["tiller sessions unarchive ID"]),
    ("tiller sessions rename", &["tiller sessions rename ID Fix the parser"]),
    (
        "tiller sessions move",
        &["tiller sessions move ~/old/project ~/new/project", "tiller sessions move ID ."],
    ),
    ("tiller sessions delete", &["tiller sessions delete ID --yes"]),
    ("tiller sessions search", &["tiller sessions search retry timeout --cwd ."]),
    ("tiller sessions rewind", &["tiller sessions rewind ID", "tiller sessions rewind ID --to 3"]),
    ("tiller sessions repair", &["tiller sessions repair --check"]),
    (
        "tiller sessions migrate",
        &[
            "tiller sessions migrate --from sqlite:sessions.db --to postgres://tiller@db/tiller --user anna",
            "tiller sessions migrate --from postgres://tiller@db/tiller --to sqlite:copy.db --dry-run",
        ],
    ),
    ("tiller store migrate", &["tiller store migrate --store postgres://owner@db/tiller"]),
    (
        "tiller store status",
        &["tiller store status", "tiller store status --store postgres://tiller@db/tiller --json"],
    ),
    ("tiller store verify", &["tiller store verify --store postgres://tiller@db/tiller"]),
    ("tiller memory list", &["tiller memory list", "tiller memory list --prompt 'fix the parser'"]),
    ("tiller memory show", &["tiller memory show 12"]),
    ("tiller memory search", &["tiller memory search release date --all"]),
    (
        "tiller memory add",
        &[
            "tiller memory add 'Release day' 'Releases are on Tuesdays.'",
            "tiller memory add --type user --class priority Language 'Answer in German.'",
        ],
    ),
    ("tiller memory edit", &["tiller memory edit 12"]),
    ("tiller memory pin", &["tiller memory pin 12"]),
    ("tiller memory unpin", &["tiller memory unpin 12"]),
    ("tiller memory forget", &["tiller memory forget 12 13"]),
    ("tiller memory export", &["tiller memory export --all > memories.md"]),
    ("tiller memory import", &["tiller memory import memories.md --here"]),
    ("tiller memory trust", &["tiller memory trust", "tiller memory trust --revoke"]),
    (
        "tiller setup",
        &[
            "tiller setup",
            "tiller setup --provider openai --api-key-stdin --model gpt-5.4-mini < key.txt",
            "tiller setup --provider openai --forget",
        ],
    ),
    ("tiller providers list", &["tiller providers list"]),
    ("tiller providers models", &["tiller providers models anthropic", "tiller providers models --refresh"]),
    ("tiller providers status", &["tiller providers status openai"]),
    ("tiller providers doctor", &["tiller providers doctor"]),
    (
        "tiller providers configure",
        &[
            "tiller providers configure openai --api-key-stdin < key.txt",
            "tiller providers configure groq --api-key-env GROQ_API_KEY",
        ],
    ),
    ("tiller providers logout", &["tiller providers logout openai"]),
    ("tiller providers refresh-models", &["tiller providers refresh-models"]),
    ("tiller providers custom list", &["tiller providers custom list"]),
    (
        "tiller providers custom upsert",
        &["tiller providers custom upsert work --base-url http://127.0.0.1:8000/v1 --model large"],
    ),
    ("tiller providers custom delete", &["tiller providers custom delete work"]),
    ("tiller auth status", &["tiller auth status"]),
    ("tiller auth login", &["tiller auth login openrouter", "tiller auth login mcp:tracker"]),
    ("tiller auth logout", &["tiller auth logout openrouter"]),
    ("tiller settings list", &["tiller settings list tools", "tiller settings list --set --show-origin"]),
    ("tiller settings get", &["tiller settings get agent.mode --show-origin"]),
    (
        "tiller settings set",
        &[
            "tiller settings set tools.default_permission_mode argus",
            "tiller settings set --project tools.denied_tools bash web_fetch",
        ],
    ),
    ("tiller settings unset", &["tiller settings unset --project tools.denied_tools"]),
    ("tiller settings apply", &["tiller settings apply --stdin-json < settings.json"]),
    ("tiller settings options", &["tiller settings options agent.mode"]),
    ("tiller settings examples", &["tiller settings examples hooks"]),
    ("tiller settings edit", &["tiller settings edit", "tiller settings edit --project"]),
    ("tiller settings doctor", &["tiller settings doctor"]),
    ("tiller config show", &["tiller config show", "tiller config show --all"]),
    ("tiller config paths", &["tiller config paths"]),
    ("tiller config schema", &["tiller config schema > settings.schema.json"]),
    ("tiller secrets list", &["tiller secrets list"]),
    (
        "tiller secrets set",
        &[
            "tiller secrets set provider.openai.api_key < key.txt",
            "tiller secrets set openai --store file < key.txt",
        ],
    ),
    ("tiller secrets unset", &["tiller secrets unset provider.openai.api_key"]),
    ("tiller secrets status", &["tiller secrets status"]),
    ("tiller caches list", &["tiller caches list", "tiller caches list . --json"]),
    ("tiller caches clear", &["tiller caches clear", "tiller caches clear --all"]),
    (
        "tiller token create",
        &[
            "tiller token create laptop --user ada",
            "tiller token create ci --user build --scopes connect,session:create --expires 7d",
            "tiller token create phone --user ada --json > token.json",
        ],
    ),
    (
        "tiller token list",
        &["tiller token list --json", "tiller token list --store postgres://tiller@db/tiller"],
    ),
    ("tiller token revoke", &["tiller token revoke ID", "tiller token revoke ID --stop"]),
    ("tiller models", &["tiller models --json"]),
    ("tiller models refresh", &["tiller models refresh", "tiller models refresh --from models.json"]),
    (
        "tiller doctor",
        &["tiller doctor", "tiller doctor --online --strict", "tiller doctor --reset-terminal"],
    ),
    ("tiller trust", &["tiller trust", "tiller trust --only files --yes", "tiller trust --revoke"]),
    ("tiller skills list", &["tiller skills list"]),
    ("tiller skills show", &["tiller skills show pdf-forms"]),
    ("tiller skills validate", &["tiller skills validate .claude/skills/pdf-forms"]),
    ("tiller mcp list", &["tiller mcp list"]),
    (
        "tiller mcp add",
        &[
            "tiller mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
            "tiller mcp add tracker --url https://tracker.example/mcp",
        ],
    ),
    ("tiller mcp remove", &["tiller mcp remove files"]),
    ("tiller mcp enable", &["tiller mcp enable files"]),
    ("tiller mcp disable", &["tiller mcp disable files"]),
    ("tiller mcp status", &["tiller mcp status files"]),
    ("tiller mcp tools", &["tiller mcp tools files"]),
    ("tiller mcp schema", &["tiller mcp schema files.read_file"]),
    ("tiller mcp call", &["tiller mcp call files.read_file --arg path=README.md"]),
    ("tiller mcp lua", &["tiller mcp lua -e 'app.mcp.files.read_file({ path = \"README.md\" })'"]),
    ("tiller mcp trust", &["tiller mcp trust files"]),
    ("tiller mcp doctor", &["tiller mcp doctor"]),
    ("tiller mcp resources", &["tiller mcp resources files"]),
    ("tiller mcp prompts", &["tiller mcp prompts tracker summary --arg days=7"]),
    ("tiller mcp resource", &["tiller mcp resource files file:///project/README.md"]),
    ("tiller mcp prompt", &["tiller mcp prompt tracker summary --arg days=7"]),
    ("tiller mcp preset list", &["tiller mcp preset list"]),
    ("tiller mcp preset show", &["tiller mcp preset show github"]),
    ("tiller mcp preset add", &["tiller mcp preset add github --project"]),
    ("tiller mcp login", &["tiller mcp login tracker"]),
    ("tiller mcp logout", &["tiller mcp logout tracker"]),
    ("tiller mcp serve", &["tiller mcp serve --upstream files"]),
    ("tiller mcp secret set", &["tiller mcp secret set mcp.github.env.GITHUB_TOKEN < token.txt"]),
    ("tiller mcp secret list", &["tiller mcp secret list"]),
    ("tiller mcp secret unset", &["tiller mcp secret unset mcp.github.env.GITHUB_TOKEN"]),
    ("tiller mcp import", &["tiller mcp import ~/.cursor/mcp.json"]),
    ("tiller mcp export", &["tiller mcp export"]),
    (
        "tiller web fetch",
        &["tiller web fetch https://docs.rs/serde", "tiller web fetch https://docs.rs/serde --raw"],
    ),
    (
        "tiller web search",
        &["tiller web search rust edition 2024", "tiller web search serde derive --domain docs.rs --json"],
    ),
    ("tiller web status", &["tiller web status"]),
    ("tiller web doctor", &["tiller web doctor"]),
    (
        "tiller web configure",
        &[
            "tiller web configure brave --key-stdin < key.txt",
            "tiller web configure searxng --url http://localhost:8888",
        ],
    ),
    ("tiller integrations", &["tiller integrations plane list_projects --workspace_slug=team"]),
    ("tiller integrations list", &["tiller integrations list", "tiller integrations list plane"]),
    ("tiller integrations status", &["tiller integrations status"]),
    ("tiller integrations doctor", &["tiller integrations doctor"]),
    ("tiller integrations fields", &["tiller integrations fields plane"]),
    (
        "tiller integrations configure",
        &["tiller integrations configure plane --api-key-stdin --enable < key.txt"],
    ),
    ("tiller integrations search", &["tiller integrations search list projects"]),
    ("tiller integrations docs", &["tiller integrations docs plane.list_projects"]),
    ("tiller integrations schema", &["tiller integrations schema plane.list_projects"]),
    ("tiller mcp examples", &["tiller mcp examples"]),
    ("tiller integrations examples", &["tiller integrations examples plane.list_projects"]),
    (
        "tiller integrations call",
        &["tiller integrations call plane.list_projects --workspace_slug=team --json"],
    ),
    ("tiller integrations lua", &["tiller integrations lua report.lua --arg days=7"]),
    (
        "tiller integrations add",
        &["tiller integrations add tickets --openapi https://tickets.example/openapi.json"],
    ),
    ("tiller integrations remove", &["tiller integrations remove tickets"]),
    ("tiller integrations enable", &["tiller integrations enable plane"]),
    ("tiller integrations disable", &["tiller integrations disable plane"]),
    (
        "tiller permissions explain",
        &["tiller permissions explain 'git push'", "tiller permissions explain --write ~/.bashrc"],
    ),
    ("tiller permissions log", &["tiller permissions log"]),
    ("tiller lua run", &["tiller lua run report.lua --arg days=7", "tiller lua run -e '1 + 1'"]),
    (
        "tiller install",
        &["tiller install --list", "tiller install zed", "tiller install vscode --project --dry-run"],
    ),
    ("tiller update", &["tiller update --check", "tiller update", "tiller update --rollback"]),
    ("tiller completions", &["tiller completions bash > ~/.local/share/bash-completion/completions/tiller"]),
    ("tiller man", &["tiller man sessions list", "tiller man --out man"]),
    ("tiller keys", &["tiller keys", "tiller keys --json"]),
    ("tiller help", &["tiller help sessions list", "tiller help exit-codes"]),
    ("tiller schema native", &["tiller schema native > native.json"]),
    ("tiller schema settings", &["tiller schema settings > tiller.json"]),
    ("tiller schema cli", &["tiller schema cli", "tiller schema cli error"]),
];

/// Returns the examples of a command, such as `tiller sessions list`.
pub(crate) fn examples_of(command: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(of, _)| *of == command).map_or(&[], |(_, lines)| lines)
}

#[cfg(test)]
mod tests {
    use super::{super::Cli, EXAMPLES};
    use clap::{Command, CommandFactory as _, Parser as _};

    /// Splits a line of a shell into words, without redirections.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.into_iter().take_while(|word| word != "<" && word != ">").collect()
    }

    #[test]
    fn every_example_is_a_valid_command_line_of_its_command() {
        for (command, lines) in EXAMPLES {
            for line in *lines {
                assert!(line.starts_with(command), "{line}");
                if let Err(error) = Cli::try_parse_from(words(line)) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &Command, name: &str) {
            let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
            let has_some = EXAMPLES.iter().any(|(of, _)| *of == name);
            assert!(!below.is_empty() || has_some, "{name} has no example");
            for inner in below {
                check(inner, &format!("{name} {}", inner.get_name()));
            }
        }
        let mut root = Cli::command();
        root.build();
        check(&root, "tiller");
    }
}

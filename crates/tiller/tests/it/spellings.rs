//! The spellings of commands and options that other programs of this kind have: each is answered
//! with a result, or with a sentence that says what to use.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;
use std::{fmt::Write as _, io::Write as _, process::Stdio};

/// What a command line gives.
#[derive(Debug, Clone, Copy)]
enum Gives {
    /// One JSON object of a success.
    Result,
    /// One JSON object of a failure, whose text, hint or commands have these words.
    Sentence(&'static str),
    /// The messages of the protocol: nothing, as stdin has none.
    Protocol,
}

use Gives::{Protocol, Result, Sentence};

/// The command lines as typed, without `--json`.
const SPELLINGS: &[(&str, Gives)] = &[
    // The protocol.
    ("acp", Protocol),
    ("acp --cwd . --mode edit --permission-mode guardian", Protocol),
    ("acp --yolo", Protocol),
    ("acp --mode plan --model offline/pilot", Protocol),
    // Prompts and their options.
    ("-p /usage", Result),
    ("--renderer plain -p /usage", Result),
    ("--no-animation -p /usage", Result),
    ("--yolo -p /usage", Result),
    ("--permission-mode argus -p /usage", Result),
    ("--mode ask -p /usage", Result),
    ("--model offline/pilot -p /usage", Result),
    ("-p /usage --continue", Result),
    ("-p /usage --resume", Result),
    ("--session nope1234 -p /usage", Sentence("tiller sessions list")),
    ("--resume=nope1234 -p /usage", Sentence("tiller sessions list")),
    ("--api-key sk-canary -p /usage", Sentence("--api-key-stdin")),
    ("setup --provider openai --api-key sk-canary", Sentence("--api-key-stdin")),
    ("providers:configure openai --api-key=sk-canary", Sentence("--api-key-stdin")),
    // Set-up.
    ("setup", Sentence("--provider")),
    ("setup --provider openai --api-key-stdin --offline", Result),
    ("providers:list", Result),
    ("providers list", Result),
    ("providers:models", Result),
    ("providers:status", Result),
    ("providers:configure openai --api-key-stdin", Result),
    ("providers configure openai --api-key-stdin --global", Result),
    ("providers:logout openai", Result),
    ("providers:custom:list", Result),
    ("providers:custom:upsert work --base-url http://127.0.0.1:9/v1", Result),
    ("providers:custom:delete work", Result),
    ("models", Result),
    ("auth:status", Result),
    ("auth:login", Sentence("tiller")),
    ("auth:logout absent", Sentence("tiller")),
    ("settings:list", Result),
    ("settings:get agent.mode", Result),
    ("settings:get kosmokrator.agent.mode", Result),
    ("settings:set agent.mode edit --global", Result),
    ("settings:set kosmokrator.agent.mode plan --project", Result),
    ("settings:unset agent.mode --global", Result),
    ("settings:options agent.mode", Result),
    ("settings:examples", Result),
    ("settings:doctor", Result),
    ("settings:apply --stdin-json", Sentence("stdin")),
    ("config:show", Result),
    ("config:paths", Result),
    ("secrets:list", Result),
    ("secrets:status", Result),
    ("secrets:set absent", Sentence("names are")),
    ("doctor", Result),
    ("smoke:startup", Result),
    // Sessions and memories.
    ("sessions:list", Result),
    ("sessions:search usage", Result),
    ("sessions:show absent12", Sentence("tiller sessions list")),
    ("sessions:export absent12", Sentence("tiller sessions list")),
    ("memory:list", Result),
    ("permissions:explain ls", Result),
    ("trust", Result),
    ("trust --list", Result),
    ("skills:list", Result),
    // Servers.
    ("mcp:list", Result),
    ("mcp:add files --env A=b -- /bin/true --stdio", Result),
    ("mcp:disable files", Result),
    ("mcp:enable files", Result),
    ("mcp:status absent", Sentence("tiller mcp list")),
    ("mcp:tools absent", Sentence("tiller mcp list")),
    ("mcp:schema absent.tool", Sentence("tiller mcp list")),
    ("mcp:call absent.tool", Sentence("tiller mcp list")),
    ("mcp:absent tool", Sentence("tiller mcp list")),
    ("mcp:absent tool --arg a=b", Sentence("tiller mcp list")),
    ("mcp:absent", Sentence("tiller mcp list")),
    ("mcp:resources absent", Sentence("tiller mcp list")),
    ("mcp:prompts absent", Sentence("tiller mcp list")),
    ("mcp:trust", Result),
    ("mcp:trust files --project", Result),
    ("mcp:doctor", Result),
    ("mcp:examples", Result),
    ("mcp examples", Result),
    ("mcp:preset:list", Result),
    ("mcp:secret:list", Result),
    ("mcp:secret:set mcp.files.env.A", Result),
    ("mcp:secret:unset mcp.files.env.A", Result),
    ("mcp:export", Result),
    ("mcp:remove files", Result),
    ("mcp:gateway", Sentence("--upstream")),
    ("mcp:gateway:start", Sentence("--upstream")),
    ("mcp gateway start", Sentence("--upstream")),
    ("mcp serve", Sentence("--upstream")),
    ("mcp:lua --eval 1+1", Result),
    // Services.
    ("integrations:list", Result),
    ("integrations:status", Result),
    ("integrations:doctor", Result),
    ("integrations:fields plane", Result),
    ("integrations:search issue", Result),
    ("integrations:docs plane", Result),
    ("integrations:docs plane.list_issues", Result),
    ("integrations:schema plane.list_issues", Result),
    ("integrations:examples plane.list_issues", Result),
    ("integrations:plane", Result),
    ("integrations:plane list_projects", Sentence("tiller integrations enable plane")),
    ("integrations:call plane.list_projects", Sentence("tiller integrations enable plane")),
    ("integrations:enable plane", Result),
    ("integrations:plane list_projects --dry-run", Sentence("tiller integrations configure plane")),
    ("integrations:configure plane --api-key-stdin --set workspace_slug=acme", Result),
    ("integrations:plane list_projects --dry-run", Result),
    ("integrations:disable plane", Result),
    ("integrations:absent list", Sentence("absent")),
    ("integrations:lua --eval 1+1", Result),
    ("lua:run --eval 1+1", Result),
    ("web:status", Result),
    ("web:doctor", Result),
    ("web:search rust", Sentence("tiller web configure")),
    ("web:fetch http://127.0.0.1:1/", Sentence("127.0.0.1")),
    // Names that are kept free.
    ("codex:login", Sentence("tiller auth login")),
    ("codex:status", Sentence("tiller auth login")),
    ("codex logout", Sentence("tiller auth login")),
    ("gateway:telegram", Sentence("tiller acp")),
    ("gateway:telegram:configure --token x", Sentence("tiller acp")),
    ("gateway telegram start", Sentence("tiller acp")),
];

#[test]
fn every_spelling_gives_a_result_or_a_sentence() {
    let home = Home::new();
    let mut wrong = String::new();
    for (line, gives) in SPELLINGS {
        let mut args: Vec<&str> = line.split(' ').collect();
        if !matches!(gives, Protocol) {
            args.insert(0, "--json");
        }
        let mut command = home.tiller(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        if line.contains("-stdin") && !line.contains("stdin-json") || line.starts_with("mcp:secret:set") {
            stdin.write_all(b"sk-canary-value\n").unwrap();
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let (out, err) = (stdout(&output), stderr(&output));
        let object: Value = serde_json::from_str(&out).unwrap_or_default();
        let parser = ["unexpected argument", "unrecognized subcommand", "invalid subcommand"];
        let holds = match gives {
            Protocol => output.status.success() && out.is_empty(),
            Result => {
                // The answer of a prompt has its own form.
                let succeeded = object["success"] == true;
                output.status.success() && succeeded
            }
            Sentence(words) => {
                object["success"] == false && out.contains(words) && output.status.code() == Some(1)
            }
        };
        let is_parsers = parser.iter().any(|words| out.contains(words) || err.contains(words));
        if !holds || is_parsers || out.contains("sk-canary") || err.contains("sk-canary") {
            let _ = writeln!(wrong, "tiller {line}: not {gives:?}\n  {out}\n  {err}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

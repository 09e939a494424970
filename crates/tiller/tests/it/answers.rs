//! What every command answers: the text, the JSON object and the exit code, in an empty home and in
//! one with a session, a server, a memory and settings. Each object is valid for the schema of its
//! command.
//!
//! The answers are in `golden/answers-*.txt`. To renew them, run
//! `TILLER_RENEW=1 cargo nextest run -p tiller answers`.

mod mask;

use crate::home::{Home, stderr, stdout};
use jsonschema::Validator;
use mask::Mask;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Write as _,
    process::{Output, Stdio},
};

/// A command line, its schema and how its answer is compared.
struct Line {
    /// The arguments; `SESSION` stands for the id of the prepared session.
    args: &'static str,
    /// The command in `tiller schema cli`.
    schema: &'static str,
    /// What stdin has.
    stdin: &'static str,
    /// Whether the text and the object are the same on every machine.
    is_stable: bool,
}

const fn line(args: &'static str, schema: &'static str) -> Line {
    Line { args, schema, stdin: "", is_stable: true }
}

const fn given(args: &'static str, schema: &'static str, stdin: &'static str) -> Line {
    Line { args, schema, stdin, is_stable: true }
}

/// A line whose answer depends on the machine: only its form is checked.
const fn varying(args: &'static str, schema: &'static str) -> Line {
    Line { args, schema, stdin: "", is_stable: false }
}

/// Every command, in an order in which each finds what it needs in the prepared home.
const LINES: &[Line] = &[
    line("sessions list", "sessions list"),
    line("sessions search one", "sessions search"),
    line("sessions show SESSION", "sessions show"),
    line("sessions rename SESSION A title", "sessions rename"),
    line("sessions move /absent/project .", "sessions move"),
    line("sessions archive SESSION", "sessions archive"),
    line("sessions unarchive SESSION", "sessions unarchive"),
    line("sessions export SESSION --format markdown", "sessions export"),
    line("sessions import absent.json", "sessions import"),
    line("sessions rewind SESSION", "sessions rewind"),
    line("sessions rewind SESSION --to 0", "sessions rewind --to"),
    line("permissions log --session SESSION", "permissions log"),
    line("sessions fork SESSION", "sessions fork"),
    line("sessions delete SESSION --yes", "sessions delete"),
    varying("sessions repair --check", "sessions repair"),
    line("sessions migrate --from sqlite:absent.db --to sqlite:other.db", "sessions migrate"),
    line("store migrate", "store migrate"),
    varying("store status", "store status"),
    varying("store verify", "store verify"),
    line("memory list", "memory list"),
    line("memory list --prompt", "memory list --prompt"),
    line("memory search tabs", "memory search"),
    line("memory show 1", "memory show"),
    given("memory add Prefers spaces", "memory add", ""),
    line("memory edit 7", "memory edit"),
    line("memory pin 1", "memory pin"),
    line("memory unpin 1", "memory unpin"),
    line("memory export", "memory export"),
    line("memory import absent.json", "memory import"),
    line("memory forget 1", "memory forget"),
    line("memory trust", "memory trust"),
    line("permissions explain ls", "permissions explain"),
    line("settings list ui", "settings list"),
    line("settings get agent.mode", "settings get"),
    line("settings set agent.mode plan", "settings set"),
    line("settings unset agent.mode", "settings unset"),
    given("settings apply --stdin-json", "settings apply", "{\"agent.mode\":\"plan\"}"),
    line("settings options agent.mode", "settings options"),
    line("settings examples hooks", "settings examples"),
    line("settings edit", "settings edit"),
    varying("settings doctor", "settings doctor"),
    line("config show", "config show"),
    line("config paths", "config paths"),
    line("providers list", "providers list"),
    varying("providers models openai", "providers models"),
    line("providers status openai", "providers status"),
    line("providers doctor openai", "providers doctor"),
    given("providers configure openai --api-key-stdin", "providers configure", "sk-canary-value"),
    line("providers logout openai", "providers logout"),
    line("providers refresh-models --from absent.json", "providers refresh-models"),
    line("providers custom upsert work --base-url http://127.0.0.1:9/v1", "providers custom upsert"),
    line("providers custom list", "providers custom list"),
    line("providers custom delete work", "providers custom delete"),
    line("models", "models"),
    line("models refresh --from absent.json", "models refresh"),
    line("auth status", "auth status"),
    line("auth login absent", "auth login"),
    line("auth logout absent", "auth logout"),
    given("secrets set tools.web.brave", "secrets set", "sk-canary-value"),
    line("secrets list", "secrets list"),
    line("secrets status", "secrets status"),
    line("secrets unset tools.web.brave", "secrets unset"),
    line("serve status", "serve status"),
    line("serve sessions --user ada", "serve sessions"),
    line("serve export SESSION", "serve export"),
    line("serve disconnect --user ada", "serve disconnect"),
    line("serve drain", "serve drain"),
    line("serve nodes", "serve nodes"),
    line("serve audit --since 2099-01-01T00:00:00Z", "serve audit"),
    varying("serve check --listen tcp:0.0.0.0:7443", "serve check"),
    line("caches list /nowhere", "caches list"),
    line("caches clear /nowhere", "caches clear"),
    line("token list", "token list"),
    varying("token create laptop --user ada", "token create"),
    line("token revoke tok_absent --stop", "token revoke"),
    given("setup --provider openai --api-key-stdin --offline", "setup", "sk-canary-value"),
    line("setup --provider openai --forget", "setup --forget"),
    varying("doctor", "doctor"),
    line("trust --list", "trust --list"),
    line("trust", "trust"),
    line("mcp list", "mcp list"),
    line("mcp trust", "mcp trust"),
    line("mcp trust --yes", "mcp trust"),
    line("mcp add more --env A=b -- /bin/true --stdio", "mcp add"),
    line("mcp disable more", "mcp disable"),
    line("mcp enable more", "mcp enable"),
    line("mcp remove more", "mcp remove"),
    line("mcp status", "mcp status"),
    line("mcp tools", "mcp tools"),
    line("mcp schema words.count", "mcp schema"),
    line("mcp call words.count --arg text=one", "mcp call"),
    line("mcp resources words", "mcp resources"),
    line("mcp resource words file:///x", "mcp resource"),
    line("mcp prompts words", "mcp prompts"),
    line("mcp prompt words greet", "mcp prompt"),
    line("mcp lua --eval 1+1", "mcp lua"),
    line("mcp doctor", "mcp doctor"),
    line("mcp examples", "mcp examples"),
    line("mcp preset list", "mcp preset list"),
    line("mcp preset show github", "mcp preset show"),
    line("mcp preset add linear", "mcp preset add"),
    line("mcp login absent", "mcp login"),
    line("mcp logout absent", "mcp logout"),
    given("mcp secret set mcp.words.env.A", "mcp secret set", "sk-canary-value"),
    line("mcp secret list", "mcp secret list"),
    line("mcp secret unset mcp.words.env.A", "mcp secret unset"),
    line("mcp import absent.json", "mcp import"),
    line("mcp export", "mcp export"),
    line("integrations list", "integrations list"),
    line("integrations list plane", "integrations list"),
    line("integrations status plane", "integrations status"),
    line("integrations doctor", "integrations doctor"),
    line("integrations fields plane", "integrations fields"),
    given(
        "integrations configure plane --api-key-stdin --set workspace_slug=acme",
        "integrations configure",
        "sk-canary-value",
    ),
    line("integrations enable plane", "integrations enable"),
    line("integrations call plane.list_projects --dry-run", "integrations call"),
    line("integrations disable plane", "integrations disable"),
    line("integrations search projects", "integrations search"),
    line("integrations docs plane.list_projects", "integrations docs"),
    line("integrations schema plane.list_projects", "integrations schema"),
    line("integrations examples plane.list_projects", "integrations examples"),
    line("integrations lua --eval 1+1", "integrations lua"),
    line("integrations add more --openapi absent.json", "integrations add"),
    line("integrations remove more", "integrations remove"),
    line("web status", "web status"),
    line("web doctor", "web doctor"),
    line("web fetch http://127.0.0.1:1/", "web fetch"),
    line("web search rust", "web search"),
    line("web configure absent", "web configure"),
    line("skills list", "skills list"),
    line("skills show absent", "skills show"),
    line("skills validate", "skills validate"),
    line("lua run --eval 1+1", "lua run"),
    varying("install --list", "install --list"),
    line("install zed --print", "install"),
    varying("update --rollback", "update"),
    line("keys", "keys"),
    line("help exit-codes", "help"),
    line("man doctor", "man"),
    line("completions bash", "completions"),
    line("help frobnicate", "error"),
];

#[test]
fn answers_in_an_empty_home() {
    compare("answers-empty", &Home::empty(), &Home::empty(), "absent12");
}

#[test]
fn answers_in_a_prepared_home() {
    let (human, program) = (prepared(), prepared());
    // The same id in both homes, so that one list of command lines serves both.
    let id = {
        let run: Value = serde_json::from_slice(&human.run(&["-p", EDIT, "-o", "json"]).stdout).unwrap();
        run["session_id"].as_str().unwrap().to_owned()
    };
    program.write("session.json", &stdout(&human.run(&["sessions", "export", &id])));
    let imported = program.run(&["sessions", "import", "session.json"]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    compare("answers-prepared", &human, &program, &id);
}

#[test]
fn every_schema_has_an_answer() {
    let home = Home::new();
    let schemas: Value = serde_json::from_str(&stdout(&home.run(&["schema", "cli"]))).unwrap();
    let known: BTreeSet<&str> = schemas.as_object().unwrap().keys().map(String::as_str).collect();
    let answered: BTreeSet<&str> = LINES.iter().map(|line| line.schema).collect();
    assert_eq!(known, answered);
}

const EDIT: &str = "replace \"one\" with \"two\" in a.txt";

/// A home with a memory, settings and a project with a server.
fn prepared() -> Home {
    let home = Home::new();
    home.write("a.txt", "one\n");
    home.write("server.sh", include_str!("answers/server.sh"));
    let added = home.run(&["memory", "add", "Prefers", "tabs"]);
    assert!(added.status.success(), "{}", stderr(&added));
    let server = serde_json::json!({
        "mcpServers": { "words": { "command": "/bin/sh", "args": ["server.sh"], "env": { "MODE": "x" } } }
    });
    home.write(".mcp.json", &server.to_string());
    home
}

fn run(home: &Home, args: &[&str], stdin: &str) -> Output {
    let mut command = home.tiller(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read it may have ended already.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs every line for people in one home and for programs in the other, and compares the answers
/// with the golden file.
fn compare(name: &str, human: &Home, program: &Home, session: &str) {
    let schemas: Value = serde_json::from_str(&stdout(&program.run(&["schema", "cli"]))).unwrap();
    let validators: BTreeMap<&str, Validator> = schemas
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, schema)| (name.as_str(), jsonschema::validator_for(schema).unwrap()))
        .collect();
    let mask = Mask::new(&[human, program], session);
    let (mut all, mut wrong) = (String::new(), String::new());
    for Line { args, schema, stdin, is_stable } in LINES {
        let args: Vec<&str> =
            args.split(' ').map(|word| if word == "SESSION" { session } else { word }).collect();
        let as_json: Vec<&str> = ["--json"].into_iter().chain(args.iter().copied()).collect();
        let (text, object) = (run(human, &args, stdin), run(program, &as_json, stdin));
        let shown = mask.text(&format!("$ tiller {}", args.join(" ")));
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                let (out, err) = (stdout(&object), stderr(&object));
                let _ = writeln!(wrong, "{shown}: {what}\n{}{}{out}{err}", stdout(&text), stderr(&text));
            }
        };
        let code = (text.status.code(), object.status.code());
        expect(code.0 == code.1 || !is_stable, &format!("the exit codes differ: {code:?}"));
        let answer: Value = serde_json::from_str(&stdout(&object)).unwrap_or_default();
        let succeeded = answer["success"] == true;
        expect(succeeded == (code.1 == Some(0)), "the exit code is not that of the object");
        let schema = if succeeded { *schema } else { "error" };
        let problems: Vec<_> =
            validators[schema].iter_errors(&answer).map(|error| error.to_string()).collect();
        expect(problems.is_empty(), &format!("not valid for the schema {schema}: {}", problems.join("; ")));
        let canary = [&text, &object]
            .iter()
            .any(|output| stdout(output).contains("sk-canary") || stderr(output).contains("sk-canary"));
        expect(!canary, "a secret is printed");
        if !is_stable {
            let _ = writeln!(all, "{shown}\n(depends on the machine)\n");
            continue;
        }
        let exit = code.0.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let _ = writeln!(
            all,
            "{shown}\n{}{}{}\n(exit code {exit})\n",
            mask.text(&stdout(&text)),
            mask.text(&stderr(&text)),
            mask.object(&answer)
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
    let file = format!("{}/tests/it/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TILLER_RENEW").is_some() {
        std::fs::write(&file, &all).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = known.lines().zip(all.lines()).find(|(known, now)| known != now);
    assert!(
        known == all,
        "{file} is out of date; first difference: {differs:?}; run: TILLER_RENEW=1 cargo nextest run -p tiller answers"
    );
}

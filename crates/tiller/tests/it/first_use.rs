//! First attempts of new users: paths, pipes, commands of other programs, a missing key.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    mcp::stage,
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Output, Stdio},
};

/// Runs `tiller` with this text on stdin.
fn piped(home: &Home, args: &[&str], text: &str) -> Output {
    let mut command = home.tiller(args);
    command.env("OPENAI_API_KEY", "key");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_prompt_with_a_slash_that_is_not_a_command_goes_to_the_model() {
    let prompts =
        ["/etc/hosts what is in it?", "//TODO why?", "/* what is this? */", "/usr is full, why?", " /compct"];
    let (home, server) = stage(&[], prompts.len());
    for prompt in prompts {
        let output = piped(&home, &["-p", prompt], "");
        assert_eq!(stdout(&output), "Done.\n", "{prompt}: {}", stderr(&output));
        let (_, body) = server.requests.recv().unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        let asked = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(asked.contains(prompt), "{asked}");
    }
    let output = piped(&home, &["-p", "/compct", "-o", "json"], "");
    let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&result["command"], output.status.code()), (&"unknown".into(), Some(1)), "{result}");
    assert!(result["errors"][0].as_str().unwrap().contains("did you mean /compact?"), "{result}");
}

#[test]
fn piped_input_is_appended_to_the_prompt() {
    let (home, server) = stage(&[], 2);
    let output = piped(&home, &["-p", "summarize the input"], "one canary\ntwo\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, body) = server.requests.recv().unwrap();
    assert!(body.contains(r"summarize the input\n\n<stdin>\none canary\ntwo\n</stdin>"), "{body}");

    let output = piped(&home, &["summarize the input"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, body) = server.requests.recv().unwrap();
    assert!(body.contains("summarize the input") && !body.contains("<stdin>"), "{body}");
}

#[test]
fn an_idle_pipe_on_stdin_does_not_delay_the_prompt() {
    let (home, _server) = stage(&[], 1);
    let mut command = home.tiller(&["-p", "hello"]);
    command.env("OPENAI_API_KEY", "key").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let held = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(held);
    assert_eq!(stdout(&output), "Done.\n");
    assert!(stderr(&output).contains("stdin sent nothing for 3 s"), "{}", stderr(&output));
}

#[test]
fn without_a_model_the_run_fails_and_names_the_next_step() {
    let home = Home::new();
    home.settings("providers.local.discover = false\n");
    let output = home.run(&["-p", "what does this do?"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    let printed = stderr(&output);
    assert!(printed.contains("tiller setup") && printed.contains("-m offline/pilot"), "{printed}");
    assert_eq!(stdout(&home.run(&["sessions", "list", "--jsonl"])), "", "no session is left behind");

    let json: Value = serde_json::from_slice(&home.run(&["-p", "x", "-o", "json"]).stdout).unwrap();
    assert_eq!((&json["type"], &json["exit_code"]), (&"error".into(), &1.into()), "{json}");

    let asked = home.run(&["-p", "help", "-m", "offline/pilot"]);
    assert!(asked.status.success() && stdout(&asked).contains("pilot"), "{}", stderr(&asked));
    let resumed = home.run(&["-p", "help", "--continue"]);
    assert_eq!(resumed.status.code(), Some(1), "{}", stdout(&resumed));
}

#[test]
fn mistyped_commands_are_suggested_and_prompts_need_no_flag() {
    let home = Home::new();
    for (line, says) in [
        (&["login"][..], "did you mean 'auth login'?"),
        (&["version"], "did you mean '--version'?"),
        (&["sesions", "list"], "did you mean 'sessions'?"),
        (&["-p", "fix", "the", "bug"], "quote the whole prompt"),
    ] {
        let output = home.run(line);
        assert_eq!(output.status.code(), Some(1), "{line:?}");
        assert!(stderr(&output).contains(says), "{line:?}: {}", stderr(&output));
    }
    home.write("a.txt", "one\n");
    for line in [&["show a.txt"][..], &["show a.txt", "-o", "text"]] {
        let output = home.run(line);
        assert!(stdout(&output).contains("one"), "{line:?}: {}", stderr(&output));
    }
}

fn doctor(home: &Home) -> (Option<i32>, Value) {
    let output = home.run(&["doctor", "--json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn doctor_names_model_problems_and_the_commands_that_fix_them() {
    let home = Home::new();
    for (settings, issue, next) in [
        ("", "no language model is set up", "tiller setup"),
        ("agent.default_model = 'anthropic/claude-opus-5'", "no key for anthropic", "--provider anthropic"),
        ("agent.default_model = 'nobody/x'", "nobody", "tiller models"),
        ("agent.default_model = 'local/x'", "local/x", "tiller models"),
        ("agent.mdoe = 'plan'", "config.toml:1", "tiller settings edit"),
        ("agent = ", "config.toml:1", "tiller settings edit"),
    ] {
        home.settings(&format!("{settings}\nproviders.local.discover = false\n"));
        let (code, report) = doctor(&home);
        assert_eq!((code, &report["success"]), (Some(1), &false.into()), "{settings}: {report}");
        assert!(report["issues"].to_string().contains(issue), "{settings}: {report}");
        assert!(report["next_commands"].to_string().contains(next), "{settings}: {report}");
        let text = stdout(&home.run(&["doctor"]));
        assert!(text.contains(issue) && text.contains(next) && !text.contains("no issues"), "{text}");
    }
    let (code, report) = doctor(&Home::new());
    assert_eq!((code, report.get("error")), (Some(0), None), "{report}");
    assert!(!report["issues"].to_string().contains("\"error\""), "{report}");
}

#[test]
fn invalid_settings_fail_only_commands_that_need_them() {
    let home = Home::new();
    assert!(home.run(&["-p", "help"]).status.success());
    home.settings("agent.default_model = 'offline/pilot'\npermissions.deny = [\n");
    let listed = home.run(&["sessions", "list", "--jsonl"]);
    assert_eq!(stdout(&listed).lines().count(), 1, "{}", stderr(&listed));
    assert!(stderr(&listed).contains("config.toml:"), "{}", stderr(&listed));
    let asked = home.run(&["-p", "help"]);
    assert_eq!(asked.status.code(), Some(1), "rules that cannot be read are not left out");

    let mut agent = Agent::start(&home, &[]);
    agent.initialize(json!({}));
    let params = json!({ "cwd": home.project(), "mcpServers": [] });
    let refused = agent.ask("session/new", params.clone()).unwrap_err();
    assert!(refused.to_string().contains("config.toml:"), "{refused}");
    home.settings("agent.default_model = 'offline/pilot'\n");
    assert!(agent.ask("session/new", params).is_ok(), "the file was mended");
}

#[test]
fn a_session_is_found_by_an_id_prefix_or_as_the_last() {
    let home = Home::new();
    assert!(stderr(&home.run(&["sessions", "list"])).contains("No sessions are stored"));
    assert!(home.run(&["-p", "show a.txt"]).status.success());
    let listed = stdout(&home.run(&["sessions", "list", "--jsonl"]));
    let record: Value = serde_json::from_str(&listed).unwrap();
    let id = record["session_id"].as_str().unwrap();
    for named in [id, &id[..8], &id[id.len() - 8..], "last"] {
        let shown = home.run(&["sessions", "show", named]);
        assert!(stdout(&shown).contains("show a.txt"), "{named}: {}", stderr(&shown));
    }
    let shown = stdout(&home.run(&["sessions", "show", "last", "--jsonl"]));
    let times: Vec<u64> = shown
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["timestamp"].as_u64().unwrap())
        .collect();
    assert!(times.is_sorted() && times[0] > 1_700_000_000_000, "{times:?}");

    assert!(home.run(&["-p", "help", "--session", &id[..8]]).status.success());
    assert!(home.run(&["-p", "help"]).status.success());
    let short = home.run(&["sessions", "show", &id[..4]]);
    assert!(stderr(&short).contains("the nearest are: "), "{}", stderr(&short));
    assert!(stderr(&home.run(&["sessions", "search", "nowhere"])).contains("Nothing was found"));
}

//! `cargo xtask second-opinion`: an interoperability test with LiteLLM, a third-party
//! implementation of the three wire formats, between Tiller and a model server.
//!
//! Each wire format gets a prompt that needs a tool call. LiteLLM parses Tiller's request, converts
//! it to Chat Completions, and converts the response back. It comes from PyPI and is large, so this
//! is no part of CI.

mod litellm;
mod upstream;

use crate::arguments::Arguments;
use crate::process::{ProgramEnd, debug_binary, run_with_limit};
use anyhow::{Context, Result, bail};
use litellm::Litellm;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use upstream::Scripted;

/// The model's name at LiteLLM.
const MODEL: &str = "second";
/// The wire formats: their names in the settings, and LiteLLM's paths.
const WIRES: [(&str, &str); 3] =
    [("chat", "/v1/chat/completions"), ("responses", "/v1/responses"), ("anthropic", "/v1/messages")];
/// The task for the model, simple enough for a small one.
const FILE: &str = "opinion.txt";
const WORD: &str = "heliotrope";

const USAGE: &str = "\
usage: cargo xtask second-opinion [--upstream URL] [--model NAME] [--binary PATH] [--timeout SECONDS] [--keep]

  --upstream URL     the model server, such as http://127.0.0.1:8080/v1; a scripted one without it
  --model NAME       the model as that server calls it (default)
  --binary PATH      Tiller's binary, instead of building the debug one
  --timeout SECONDS  the limit of each run (600)
  --keep             LiteLLM stays installed below the target folder, for the next time
";

/// The command-line options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    upstream: Option<String>,
    model: String,
    binary: Option<PathBuf>,
    timeout: u64,
    keep: bool,
}

/// Runs each wire format once. Fails if one of them did not write the file with the expected word.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let ["--help" | "-h"] = args {
        print!("{USAGE}");
        return Ok(());
    }
    let options = parse(args)?;
    let binary = options.binary.clone().map_or_else(debug_binary, Ok)?;
    let scripted = if options.upstream.is_none() { Some(Scripted::start()?) } else { None };
    let upstream = match (&options.upstream, &scripted) {
        (Some(url), _) => url.clone(),
        (None, Some(scripted)) => scripted.base_url(),
        (None, None) => bail!("the model server did not start"),
    };
    let litellm = Litellm::start(&upstream, &options.model, MODEL, options.keep)?;
    let mut failures = Vec::new();
    for (wire, path) in WIRES {
        let start = Instant::now();
        let outcome = try_wire(wire, &binary, &litellm, Duration::from_secs(options.timeout))
            .and_then(|()| scripted.as_ref().map_or(Ok(()), Scripted::was_understood));
        match outcome {
            Ok(()) => println!("{wire:10} {path:22} works, {:.1} s", start.elapsed().as_secs_f64()),
            Err(error) => {
                println!("{wire:10} {path:22} FAILS: {error:#}");
                failures.push(wire);
            }
        }
    }
    if !failures.is_empty() {
        println!("\nLiteLLM's last output:\n{}", litellm.last_words());
        bail!("these wires do not work through LiteLLM: {}", failures.join(", "));
    }
    Ok(())
}

/// Runs Tiller with one wire format. The file shows whether the tool was called.
fn try_wire(wire: &str, binary: &Path, litellm: &Litellm, limit: Duration) -> Result<()> {
    let home = tempfile::Builder::new().prefix("tiller-second-").tempdir()?;
    let project = home.path().join("project");
    std::fs::create_dir(&project)?;
    std::fs::create_dir(home.path().join("tiller"))?;
    let origin = litellm.origin();
    let settings = format!(
        "[providers.custom.second]\nbase_url = \"{origin}\"\nwire = \"{wire}\"\napi_key_env = \"SECOND_KEY\"\n"
    );
    std::fs::write(home.path().join("tiller/config.toml"), settings)?;
    let mut tiller = Command::new(binary);
    tiller.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    tiller.env("HOME", home.path()).env("TILLER_HOME", home.path().join("tiller"));
    tiller.env("SECOND_KEY", litellm.key()).current_dir(&project);
    let prompt =
        format!("Write the word {WORD} into a new file {FILE}, and nothing else. Then say that it is done.");
    tiller.args(["--model", &format!("second/{MODEL}"), "--yolo", "--print", &prompt]);
    let stderr = match run_with_limit(&mut tiller, limit)? {
        ProgramEnd::Exited(true, stderr) => stderr,
        ProgramEnd::Exited(false, stderr) => bail!("Tiller failed: {}", stderr.trim()),
        ProgramEnd::TimedOut => bail!("Tiller took more than {} s", limit.as_secs()),
    };
    let text = std::fs::read_to_string(project.join(FILE))
        .with_context(|| format!("the tool was not called: {FILE} does not exist {}", stderr.trim()))?;
    if text.trim() != WORD {
        bail!("{FILE} contains {text:?}");
    }
    Ok(())
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options =
        Options { upstream: None, model: "default".to_owned(), binary: None, timeout: 600, keep: false };
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--upstream" => options.upstream = Some(args.text()?),
            "--model" => options.model = args.text()?,
            "--binary" => options.binary = Some(args.path()?),
            "--timeout" => options.timeout = args.number()?,
            "--keep" => options.keep = true,
            _ => return Err(args.unknown(USAGE)),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = parse(&["--upstream", "http://127.0.0.1:8080/v1", "--keep"]).unwrap();
        assert_eq!((options.upstream.as_deref(), options.keep), (Some("http://127.0.0.1:8080/v1"), true));
        for bad in [&["--upstream"][..], &["--timeout", "soon"], &["chat"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}

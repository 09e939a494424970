//! A test of the attacks' predicates: the calls run in an unconfined shell, without Tiller, and
//! must succeed.

use super::corpus::{Attack, Call, with_texts};
use super::run;
use super::run_home::{RunHome, WallSetup};
use super::services::Services;
use anyhow::Result;
use serde_json::Value;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

/// The time limit for one call.
const TIME: Duration = Duration::from_secs(6);

/// The result for one attack.
pub(super) enum Verdict {
    /// The predicate became true.
    True,
    /// It did not, so the attack has no effect.
    Never,
    Skipped(String),
}

/// Tries an attack with `bash`, and if that fails with `sh`.
pub(super) fn attack(wall_setup: &WallSetup, attack: &Attack) -> Result<Verdict> {
    if let Some(why) = &attack.check.no_self_test {
        return Ok(Verdict::Skipped(why.clone()));
    }
    if attack.environment.root && !wall_setup.root {
        return Ok(Verdict::Skipped("this variant must run as root".to_owned()));
    }
    for shell in ["bash", "sh"] {
        let mut run_home = wall_setup.run_home(attack.environment.root)?;
        if let Some(missing) = run::missing(&run_home, attack)? {
            return Ok(Verdict::Skipped(missing));
        }
        let _services = attack.environment.services.then(|| Services::start(&mut run_home)).transpose()?;
        // A predicate that holds beforehand proves nothing.
        run::prepare(&run_home, attack)?;
        File::create(run_home.transcript())?;
        if run_home
            .shell(&run_home.fill(&attack.check.success), &[("ENDED", "0"), ("ASKED", "0")], None)?
            .success()
        {
            return Ok(Verdict::Never);
        }
        for call in &attack.script.calls {
            let arguments = with_texts(call.arguments.clone(), &mut |text: String| run_home.fill(&text));
            let mut command = unconfined(&run_home, attack, shell, call, &arguments);
            let out = std::fs::OpenOptions::new().append(true).open(run_home.transcript())?;
            command.stdout(out.try_clone()?).stderr(out);
            run_home.run(command, TIME)?;
        }
        run::append(&run_home, &run_home.fill(&attack.script.final_text))?;
        std::thread::sleep(Duration::from_secs_f64(attack.check.settle.min(3.0)));
        if run::check_outcome(&run_home, attack, &[("ENDED", "0"), ("ASKED", "0")])? {
            return Ok(Verdict::True);
        }
    }
    Ok(Verdict::Never)
}

/// Returns a call's command without any protection. The shell's parent has the agent's environment,
/// as it does in Tiller.
fn unconfined(run_home: &RunHome, attack: &Attack, shell: &str, call: &Call, arguments: &Value) -> Command {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let (line, words) = match call.tool.as_str() {
        "file_read" => (r#"cat -- "$1""#.to_owned(), vec![text("path")]),
        "file_write" => {
            let line = r#"mkdir -p "$(dirname "$1")"; printf %s "$2" > "$1""#;
            (line.to_owned(), vec![text("path"), text("content")])
        }
        "file_edit" => {
            let line = r#"python3 -c 'import sys; p, a, b = sys.argv[1:]; t = open(p).read(); open(p, "w").write(t.replace(a, b))' "$@""#;
            (line.to_owned(), vec![text("path"), text("old_string"), text("new_string")])
        }
        "grep" => (r#"grep -rhs -- "$1" "${2:-.}""#.to_owned(), vec![text("pattern"), text("path")]),
        "glob" => (r#"ls -aR "${1:-.}""#.to_owned(), vec![text("path")]),
        _ => (text("command"), Vec::new()),
    };
    let mut command = run::tiller(run_home, attack, "http://127.0.0.1:1/v1");
    let program = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let env: Vec<_> = program.collect();
    command = run_home.command("bash", false);
    command.envs(env);
    command.args(["-c", r#"s="$1"; l="$2"; shift 2; "$s" -c "$l" "$s" "$@"; :"#, "agent", shell, &line]);
    command.args(words);
    command
}

//! A test of the attacks' predicates: the calls run in an unconfined shell, without Tiller, and
//! must succeed.

use super::corpus::{Attack, Call};
use super::run;
use super::services::Services;
use super::world::{Ground, World};
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
pub(super) fn attack(ground: &Ground, attack: &Attack) -> Result<Verdict> {
    if let Some(why) = &attack.no_self_test {
        return Ok(Verdict::Skipped(why.clone()));
    }
    if attack.root && !ground.root {
        return Ok(Verdict::Skipped("only root can be root".to_owned()));
    }
    for shell in ["bash", "sh"] {
        let mut world = ground.world(attack.root)?;
        if let Some(missing) = run::missing(&world, attack)? {
            return Ok(Verdict::Skipped(missing));
        }
        let _services = attack.services.then(|| Services::start(&mut world)).transpose()?;
        // A predicate that holds beforehand proves nothing.
        run::prepare(&world, attack)?;
        File::create(world.transcript())?;
        if world.shell(&world.fill(&attack.through), &[("ENDED", "0"), ("ASKED", "0")], None)?.success() {
            return Ok(Verdict::Never);
        }
        for call in &attack.calls {
            let arguments = run::filled(&world, &call.arguments);
            let mut command = unconfined(&world, attack, shell, call, &arguments);
            let out = std::fs::OpenOptions::new().append(true).open(world.transcript())?;
            command.stdout(out.try_clone()?).stderr(out);
            world.run(command, TIME)?;
        }
        run::append(&world, &world.fill(&attack.says))?;
        std::thread::sleep(Duration::from_secs_f64(attack.settle.min(3.0)));
        if run::look(&world, attack, &[("ENDED", "0"), ("ASKED", "0")])? {
            return Ok(Verdict::True);
        }
    }
    Ok(Verdict::Never)
}

/// Returns a call's command without any protection. The shell's parent has the agent's environment,
/// as it does in Tiller.
fn unconfined(world: &World, attack: &Attack, shell: &str, call: &Call, arguments: &Value) -> Command {
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
    let mut command = run::tiller(world, attack, "http://127.0.0.1:1/v1");
    let program = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let env: Vec<_> = program.collect();
    command = world.command("bash", false);
    command.envs(env);
    command.args(["-c", r#"s="$1"; l="$2"; shift 2; "$s" -c "$l" "$s" "$@"; :"#, "agent", shell, &line]);
    command.args(words);
    command
}

//! The script for fish, with the lines that ask for values.

use super::kind::{Place, all};
use std::fmt::Write as _;

/// Returns the generated script with the values of options and positions.
pub(super) fn with_values(generated: &str) -> String {
    let all = all();
    let mut script = String::new();
    for line in generated.lines() {
        let of_option = all.iter().find(|completed| match &completed.place {
            Place::Option { long, .. } => line.contains(&format!(" -l {long} ")) && line.ends_with(" -r"),
            Place::Position(_) => false,
        });
        script += line;
        if let Some(completed) = of_option {
            let _ = write!(script, " -f -a \"{}\"", call(&completed.kind.word()));
        }
        script.push('\n');
    }
    for completed in all {
        let Place::Position(index) = completed.place else { continue };
        let word = match completed.kind.word() {
            word if word == "values" => "values (commandline -opc)[-1]".to_owned(),
            word => word,
        };
        let command = &completed.command;
        let _ = writeln!(
            script,
            "complete -c tiller -n \"__fish_tiller_at {index} {command}\" -f -a \"{}\"",
            call(&word)
        );
    }
    script + POSITION
}

fn call(kind: &str) -> String {
    format!("(tiller __complete {kind} (commandline -ct) 2>/dev/null)")
}

/// Whether the word at the cursor is the positional argument of this number of a command.
const POSITION: &str = r#"
function __fish_tiller_at
    set -l command $argv[2..-1]
    set -l words
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; or set -a words $word
    end
    test (count $words) -eq (math (count $command) + $argv[1] - 1); or return 1
    for at in (seq (count $command))
        test "$words[$at]" = "$command[$at]"; or return 1
    end
end
"#;

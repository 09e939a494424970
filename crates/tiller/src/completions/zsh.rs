//! The script for zsh, with the part that asks for values.

use super::kind::{Place, all, commands};
use std::fmt::Write as _;

/// The part, before the end of the generated script.
const SCRIPT: &str = r#"
_tiller() {
    local word command= position=0 kind= previous=${words[CURRENT-1]} prefix=$PREFIX
    local -a found values shown
    if [[ $prefix == --*=* ]]; then
        previous=${prefix%%=*}
        prefix=${prefix#*=}
    fi
    for word in "${(@)words[2,CURRENT-1]}"; do
        case $word in
            -*) ;;
            *)
                case "${command:+$command }$word" in
                    (@COMMANDS@) command="${command:+$command }$word" position=0 ;;
                    (*) position=$((position + 1)) ;;
                esac ;;
        esac
    done
    case "$command $previous" in
@OPTIONS@        (*)
            case "$command $((position + 1))" in
@POSITIONS@            esac ;;
    esac
    if [[ -n $kind && $prefix != -* ]]; then
        found=("${(@f)$(${words[1]} __complete ${=kind} "$prefix" 2>/dev/null)}")
        values=("${(@)found%%$'\t'*}")
        if [[ -n ${values[1]} ]]; then
            shown=("${(@)found/$'\t'/  -- }")
            [[ $PREFIX == --*=* ]] && compset -P '*='
            compadd -l -d shown -a values
            return
        fi
    fi
    _tiller_words "$@"
}

if [ "$funcstack[1]" = "_tiller" ]; then
    _tiller "$@"
else
    compdef _tiller tiller
fi
"#;

/// Returns the generated script with the part in place of its registration.
pub(super) fn with_values(generated: &str) -> String {
    let end = "if [ \"$funcstack[1]\" = \"_tiller\" ]; then";
    let (functions, _) = generated.split_once(end).expect("the generator ends its script with this");
    // zsh calls the function that is named like the file.
    let functions = functions.replace("\n_tiller() {", "\n_tiller_words() {");
    let names: Vec<_> = commands().iter().map(|words| format!("\"{words}\"")).collect();
    let (mut options, mut positions) = (String::new(), String::new());
    for completed in all() {
        let (command, word) = (&completed.command, completed.kind.word());
        match &completed.place {
            Place::Option { long, short } => {
                let mut pattern = format!("\"{command} --{long}\"");
                if let Some(short) = short {
                    let _ = write!(pattern, " | \"{command} -{short}\"");
                }
                let _ = writeln!(options, "        ({pattern}) kind={word} ;;");
            }
            Place::Position(index) => {
                let kind = if word == "values" { "\"values $previous\"".to_owned() } else { word };
                let _ = writeln!(positions, "                (\"{command} {index}\") kind={kind} ;;");
            }
        }
    }
    let part = SCRIPT
        .replace("@COMMANDS@", &names.join(" | "))
        .replace("@OPTIONS@", &options)
        .replace("@POSITIONS@", &positions);
    format!("{}{part}", functions.trim_end())
}

//! The part of the script for bash that asks for values.

use super::kind::{Place, all, commands};
use std::fmt::Write as _;

/// Found before the generated function, which completes everything else.
const SCRIPT: &str = r#"
_tiller_values() {
    local line=${COMP_LINE:0:COMP_POINT} current previous word command= position=0 kind= value
    local -a words
    read -ra words <<<"$line"
    current=
    if [[ $line != *[[:space:]] ]]; then
        current=${words[${#words[@]}-1]}
        words=("${words[@]:0:${#words[@]}-1}")
    fi
    previous=${words[${#words[@]}-1]}
    # The value of `--option=value` is completed like one that follows.
    if [[ $current == --*=* ]]; then
        previous=${current%%=*}
        current=${current#*=}
    fi
    for word in "${words[@]:1}"; do
        case $word in
            -*) ;;
            *)
                case "${command:+$command }$word" in
@COMMANDS@) command="${command:+$command }$word" position=0 ;;
                    *) position=$((position + 1)) ;;
                esac ;;
        esac
    done
    case "$command $previous" in
@OPTIONS@        *)
            case "$command $((position + 1))" in
@POSITIONS@            esac ;;
    esac
    if [[ -n $kind && $current != -* ]]; then
        COMPREPLY=()
        while IFS=$'\t' read -r value _; do
            [[ -n $value ]] && COMPREPLY+=("$value")
        done < <("${words[0]}" __complete $kind "$current" 2>/dev/null)
        # bash replaces only what follows the last colon of the word.
        if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
            local start=${current%"${current##*:}"}
            COMPREPLY=("${COMPREPLY[@]#"$start"}")
        fi
        [[ ${#COMPREPLY[@]} -gt 0 ]] && return 0
    fi
    _tiller "$@"
}
complete -F _tiller_values -o bashdefault -o default tiller
"#;

/// Returns the part, which replaces the registration of the generated script.
pub(super) fn values() -> String {
    let names: Vec<_> = commands().iter().map(|words| format!("                    \"{words}\"")).collect();
    let (mut options, mut positions) = (String::new(), String::new());
    for completed in all() {
        let (command, word) = (&completed.command, completed.kind.word());
        match &completed.place {
            Place::Option { long, short } => {
                let mut pattern = format!("\"{command} --{long}\"");
                if let Some(short) = short {
                    let _ = write!(pattern, " | \"{command} -{short}\"");
                }
                let _ = writeln!(options, "        {pattern}) kind={word} ;;");
            }
            Place::Position(index) if word == "values" => {
                let _ = writeln!(
                    positions,
                    "                \"{command} {index}\") kind=\"{word} $previous\" ;;"
                );
            }
            Place::Position(index) => {
                let _ = writeln!(positions, "                \"{command} {index}\") kind={word} ;;");
            }
        }
    }
    SCRIPT
        .replace("@COMMANDS@", &names.join(" |\\\n"))
        .replace("@OPTIONS@", &options)
        .replace("@POSITIONS@", &positions)
}

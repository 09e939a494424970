//! The programs by which git in a room signs: a script that sends what is to be signed to Tiller,
//! which runs the user's program outside. For all else it runs the program itself.

use crate::GIT_SIGNING;
use crate::local::sandbox::namespaces::problem;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// The names of the programs, as git calls them.
const PROGRAMS: [&str; 3] = ["gpg", "gpgsm", "ssh-keygen"];

/// The request is the name of the program, the key and the object, each of the first two in a line.
/// It is sent as the words of `git archive`, which is a client that each installation of git has.
const SCRIPT: &str = r#"#!/bin/sh
program=${0##*/} directory=${0%/*}
signed() {
  set -- $({ printf '%s\n%s\n' "$program" "$1" && cat; } | base64 -w 60000)
  git archive --remote=git://git.tiller:22/sign "$@"
}
case " $* " in
*" -bsau "*)
  for key; do :; done
  signed "$key" && printf '\n[GNUPG:] SIG_CREATED \n' >&2 ;;
*" -Y sign "*)
  while [ $# -gt 0 ]; do
    case $1 in
    -f) key=$2; shift ;;
    -U) key="key::$(cat "$key")" ;;
    -n|-Y) shift ;;
    *) file=$1 ;;
    esac
    shift
  done
  signed "$key" < "$file" > "$file.sig" || { rm -f "$file.sig"; exit 1; } ;;
*)
  for place in $(IFS=:; echo $PATH) /usr/bin /bin; do
    [ "$place" != "$directory" ] && [ -x "$place/$program" ] && exec "$place/$program" "$@"
  done
  echo "$program is not installed" >&2; exit 127 ;;
esac
"#;

/// Writes the programs into the new root.
pub(super) fn place() -> Result<(), String> {
    fs::create_dir_all(GIT_SIGNING).map_err(problem(GIT_SIGNING))?;
    for program in PROGRAMS {
        let path = format!("{GIT_SIGNING}/{program}");
        fs::write(&path, SCRIPT).map_err(problem(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o555)).map_err(problem(&path))?;
    }
    Ok(())
}

//! The topic `json`.

use crate::failure::Kind;
use crate::layout::{definitions, paragraph};

/// Returns the text.
pub(super) fn text() -> String {
    let kinds: Vec<_> = Kind::ALL.iter().map(|kind| (kind.name(), kind.meaning())).collect();
    let forms = [
        (
            "--json",
            "prints one object on standard output, on failure too. It begins with `v`, the version of the \
             format, and `success`. Within a version fields are added, never renamed.",
        ),
        ("--jsonl", "prints one object a line: `sessions list` and `sessions search`."),
        (
            "-o stream-json",
            "prints the events of a prompt as they occur, one object a line; -o json prints one object at its \
             end.",
        ),
    ];
    let failure = "A failure has `error` (what happened), `kind`, `hint` (or null), `next_commands` (command lines to \
                   try) and `exit_code`:";
    let example = r#"  {"v":1,"success":false,"error":"no session x","kind":"not_found",
   "hint":null,"next_commands":["tiller sessions list"],"exit_code":1}"#;
    let after = "`tiller schema cli` prints the JSON Schema of every object, `tiller schema cli doctor` that of one \
                 command.";
    format!(
        "{}\n{}\n{example}\n\nThe kinds:\n\n{}\n{}",
        definitions(&forms),
        paragraph(failure),
        definitions(&kinds),
        paragraph(after)
    )
}

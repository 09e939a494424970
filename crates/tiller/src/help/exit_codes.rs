//! The topic `exit-codes`.

use crate::exit::Exit;
use crate::layout::{definitions, paragraph};

/// Returns the text.
pub(super) fn text() -> String {
    let rows: Vec<_> = Exit::ALL.iter().map(|exit| (exit.code().to_string(), exit.meaning())).collect();
    let after = "A program that reads `--json` finds the code in `exit_code` and the reason in `kind`; `tiller help json` \
                 explains them.";
    format!("Every command ends with one of these codes:\n\n{}\n{}", definitions(&rows), paragraph(after))
}

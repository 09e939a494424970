//! `/review`: a prompt that asks the model to review changes.

use crate::Content;

/// The command's name.
pub(super) const NAME: &str = "review";

/// What is reviewed if the user does not say.
const UNCOMMITTED: &str = "the uncommitted changes of this project: staged and unstaged ones, and new \
                           files (`git status --short`, `git diff HEAD`)";

/// Returns the prompt for a review of what the user named, or of the uncommitted changes.
pub(super) fn prompt(what: &str) -> Content {
    let what = match what {
        "" => UNCOMMITTED.to_owned(),
        what => format!(
            "what the user named: {what}. If it is a commit, read it with `git show`; if it is a range or a \
             branch, with `git diff` (for a branch, from its merge base)"
        ),
    };
    let text = format!(
        "The user asks for a review. Review {what}.\n\
         \n\
         - Change nothing: read files and run commands that only read. Fix nothing unless the user asks.\n\
         - Read the code around each change, its callers and its tests before you judge it.\n\
         - Report what is wrong: bugs, lost or corrupted data, security, broken interfaces, races, \
           missing error handling, tests that are missing or cannot fail. Leave out matters of taste.\n\
         - List the findings by severity, the worst first. For each: `path:line`, what goes wrong and with \
           which input, and how to fix it in a sentence.\n\
         - Verify each finding in the code before you report it. If nothing is wrong, say so; name what \
           you did not check.\n"
    );
    let mime_type = Some("text/markdown".to_owned());
    Content::Resource { uri: "tiller:/review".to_owned(), mime_type, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_of_the_uncommitted_changes_unless_the_user_names_others() {
        let text = |what: &str| match prompt(what) {
            Content::Resource { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert!(text("").contains("Review the uncommitted changes") && text("").contains("git diff HEAD"));
        let named = text("main..HEAD");
        assert!(
            named.contains("what the user named: main..HEAD") && !named.contains("uncommitted"),
            "{named}"
        );
        assert!(named.contains("Change nothing"));
    }
}

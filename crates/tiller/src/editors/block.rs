//! The text to paste into an editor's configuration.

use super::{Editor, entry, jsonc};

/// Returns the entry as text, in the language of the editor's configuration.
pub(crate) fn block(editor: Editor, command: &str, name: &str) -> String {
    match editor {
        Editor::Zed | Editor::Jetbrains | Editor::Vscode => {
            let (section, fields) = entry::fields(editor, command).expect("these have an entry");
            let text = jsonc::set("", section, name, &fields).expect("an empty text can be edited");
            text.expect("an empty text has no entry")
        }
        Editor::Neovim => neovim(command, name),
        Editor::Emacs => emacs(command, name),
    }
}

fn neovim(command: &str, name: &str) -> String {
    format!(
        r#"require("codecompanion").setup({{
  adapters = {{
    acp = {{
      tiller = function()
        return require("codecompanion.adapters").extend("opencode", {{
          name = "tiller",
          formatted_name = {name},
          commands = {{ default = {{ {command}, "acp" }} }},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = "tiller" }} }},
}})
"#,
        name = lua(name),
        command = lua(command),
    )
}

fn emacs(command: &str, name: &str) -> String {
    let prompt = format!("{name}> ");
    format!(
        r#"(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (agent-shell-make-agent-config
    :identifier 'tiller
    :mode-line-name {name}
    :buffer-name {name}
    :shell-prompt {prompt}
    :shell-prompt-regexp (regexp-quote {prompt})
    :client-maker (lambda (buffer)
                    (agent-shell--make-acp-client
                     :command {command}
                     :command-params '("acp")
                     :context-buffer buffer)))))
"#,
        name = lisp(name),
        prompt = lisp(&prompt),
        command = lisp(command),
    )
}

/// A string of Lua. Bytes that could end it, or the line, are written by number.
fn lua(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_ascii_control() => quoted += &format!("\\{:03}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A string of Emacs Lisp.
fn lisp(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_ascii_control() => quoted += &format!("\\{:03o}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_path_cannot_leave_their_strings() {
        let hostile = "a\"b\\c\nd";
        let neovim = block(Editor::Neovim, hostile, hostile);
        assert!(neovim.contains(r#"{ "a\"b\\c\010d", "acp" }"#), "{neovim}");
        let emacs = block(Editor::Emacs, hostile, hostile);
        assert!(emacs.contains(r#":command "a\"b\\c\012d""#), "{emacs}");
        let zed: serde_json::Value =
            serde_json::from_str(&block(Editor::Zed, hostile, hostile)).expect("this is JSON");
        assert_eq!(zed["agent_servers"][hostile]["command"], hostile);
    }

    /// What people paste is what the documents show.
    #[test]
    fn the_documents_show_these_blocks() {
        for (editor, page, language) in [
            (Editor::Zed, include_str!("../../../../docs/editors/zed.md"), "json"),
            (Editor::Vscode, include_str!("../../../../docs/editors/vscode.md"), "json"),
            (Editor::Neovim, include_str!("../../../../docs/editors/neovim-codecompanion.md"), "lua"),
            (Editor::Emacs, include_str!("../../../../docs/editors/emacs.md"), "elisp"),
        ] {
            let block = block(editor, "tiller", super::super::ENTRY_NAME);
            assert!(page.contains(&format!("```{language}\n{block}```\n")), "{}:\n{block}", editor.id());
        }
    }
}

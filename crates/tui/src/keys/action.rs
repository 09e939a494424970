//! The table of actions: what keys do, where, and by default which.

use super::situation::{Place, When};

/// An action that keys are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// Its name in `[ui.keys]`.
    pub id: &'static str,
    /// Where it applies.
    pub place: Place,
    /// In which states of that place it applies.
    pub when: When,
    /// The keys that it has unless the user binds others.
    pub keys: &'static [&'static str],
    /// What it does, as a verb with its object.
    pub does: &'static str,
}

macro_rules! actions {
    ($($action:ident $id:literal $place:ident $when:expr, [$($key:literal),*], $does:literal;)*) => {
        /// What a key does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $(#[doc = $does] $action,)*
        }

        /// All actions. Where several of a place apply to one key, the first is performed.
        pub const TABLE: &[Entry] = &[
            $(Entry {
                action: Action::$action,
                id: $id,
                place: Place::$place,
                when: $when,
                keys: &[$($key),*],
                does: $does,
            },)*
        ];
    };
}

const ALWAYS: When = When::ALWAYS;

actions! {
    Complete "complete" Composer When::COMPLETING, ["tab"], "completes what is typed";
    CompletionNext "completion_next" Composer When::COMPLETING, ["down", "ctrl+n"], "selects the next completion";
    CompletionPrevious "completion_previous" Composer When::COMPLETING, ["up", "ctrl+p"], "selects the previous completion";
    CompletionClose "completion_close" Composer When::COMPLETING, ["esc"], "closes the completions";
    Answer "answer" Composer When::ASKED, ["tab"], "moves to the question that waits";
    After "after" Composer When::RUNNING_WITH_TEXT, ["tab"], "sends the message after the running turn";
    Send "send" Composer ALWAYS, ["enter"], "sends the message; while a turn runs, before its next model request";
    NewLine "new_line" Composer ALWAYS, ["shift+enter", "alt+enter", "ctrl+j"], "begins a new line; so does `\\` and enter";
    TakeBack "take_back" Composer When::EMPTY_WITH_WAITING, ["up"], "takes the last waiting message back";
    TakeOver "take_over" Composer When::HELD_AND_EMPTY, ["ctrl+y"], "takes the session over from the process that has it";
    Stop "stop" Composer When::RUNNING, ["esc"], "cancels the turn";
    Rewind "rewind" Composer When::IDLE_AND_EMPTY, ["esc esc"], "opens the list of turns to go back to";
    Quit "quit" Composer When::IDLE_AND_EMPTY, ["ctrl+d"], "quits";
    Help "help" Composer When::EMPTY, ["?"], "shows the keys";
    Up "up" Composer ALWAYS, ["up", "ctrl+p"], "moves up, from the first row to an older message";
    Down "down" Composer ALWAYS, ["down", "ctrl+n"], "moves down, from the last row to a newer message";
    SearchHistory "search_history" Composer ALWAYS, ["ctrl+r"], "searches older messages, those of this folder first";
    Aside "aside" Composer ALWAYS, ["ctrl+s"], "puts the draft aside, and back";
    Editor "editor" Composer ALWAYS, ["ctrl+g", "ctrl+x ctrl+e"], "opens the draft in `$VISUAL` or `$EDITOR`";
    Clipboard "clipboard" Composer ALWAYS, ["ctrl+v", "alt+v"], "inserts the image, or else the text, of the clipboard";
    AgentMode "agent_mode" Composer ALWAYS, ["shift+tab"], "selects the next agent mode: edit, plan, ask";
    Left "left" Composer ALWAYS, ["left", "ctrl+b"], "moves back by a character";
    Right "right" Composer ALWAYS, ["right", "ctrl+f"], "moves forward by a character";
    WordLeft "word_left" Composer ALWAYS, ["ctrl+left", "alt+b", "alt+left"], "moves back by a word";
    WordRight "word_right" Composer ALWAYS, ["ctrl+right", "alt+f", "alt+right"], "moves forward by a word";
    LineStart "line_start" Composer ALWAYS, ["home", "ctrl+a"], "moves to the beginning of the line";
    LineEnd "line_end" Composer ALWAYS, ["end", "ctrl+e"], "moves to the end of the line";
    DeleteBack "delete_back" Composer ALWAYS, ["backspace", "shift+backspace", "ctrl+h"], "deletes the character before the cursor";
    Delete "delete" Composer ALWAYS, ["delete", "ctrl+d"], "deletes the character under the cursor";
    KillWordBack "kill_word_back" Composer ALWAYS, ["ctrl+w", "alt+backspace", "ctrl+backspace"], "cuts the word before the cursor";
    KillWord "kill_word" Composer ALWAYS, ["alt+d", "ctrl+delete"], "cuts the word after the cursor";
    KillLineEnd "kill_line_end" Composer ALWAYS, ["ctrl+k"], "cuts to the end of the line";
    KillLineStart "kill_line_start" Composer ALWAYS, ["ctrl+u"], "cuts to the beginning of the line";
    Yank "yank" Composer ALWAYS, ["ctrl+y"], "inserts what was cut last";
    YankOlder "yank_older" Composer ALWAYS, ["alt+y"], "replaces what was just inserted by what was cut before it";
    Undo "undo" Composer ALWAYS, ["ctrl+_", "ctrl+/"], "takes the last change back";

    SearchOlder "search_older" Search ALWAYS, ["ctrl+r", "up"], "goes to the next older match";
    SearchNewer "search_newer" Search ALWAYS, ["down"], "goes to the next newer match";
    SearchAccept "search_accept" Search ALWAYS, ["enter", "tab"], "takes the match into the message";
    SearchClose "search_close" Search ALWAYS, ["esc", "ctrl+c", "ctrl+g"], "returns to the draft";

    PermissionOnce "permission_once" Permission ALWAYS, ["y"], "allows this call";
    PermissionAlways "permission_always" Permission ALWAYS, ["a"], "shows what \"always\" covers; enter then allows it";
    PermissionNo "permission_no" Permission ALWAYS, ["n"], "rejects this call";
    PermissionNever "permission_never" Permission ALWAYS, ["N"], "shows what \"never\" covers; enter then rejects it";
    PermissionBecause "permission_because" Permission ALWAYS, ["e"], "rejects this call with a reason for the model";
    PermissionConfirm "permission_confirm" Permission ALWAYS, ["enter"], "confirms \"always\" or \"never\" after it was shown";
    PermissionForUser "permission_for_user" Permission ALWAYS, ["u"], "after \"always\" was shown: allows it in all sessions, by a rule in your settings";
    PermissionText "permission_text" Permission ALWAYS, ["v"], "shows the whole text, and less again";
    PermissionDown "permission_down" Permission ALWAYS, ["down", "j", "pgdn"], "scrolls down in the whole text";
    PermissionUp "permission_up" Permission ALWAYS, ["up", "k", "pgup"], "scrolls up in the whole text";
    PermissionNextFile "permission_next_file" Permission ALWAYS, ["]"], "shows the next file of the change";
    PermissionPreviousFile "permission_previous_file" Permission ALWAYS, ["["], "shows the previous file of the change";
    PermissionLeave "permission_leave" Permission ALWAYS, ["esc", "tab"], "goes back one step, then to the message; the request waits";

    ReasonSend "reason_send" Reason ALWAYS, ["enter"], "rejects the call with the reason that is typed";
    ReasonLeave "reason_leave" Reason ALWAYS, ["esc"], "returns to the request";

    QuestionNext "question_next" Question ALWAYS, ["down"], "selects the next choice";
    QuestionPrevious "question_previous" Question ALWAYS, ["up"], "selects the previous choice";
    QuestionAnswer "question_answer" Question ALWAYS, ["enter"], "answers with the selected choice or the text";
    QuestionDecline "question_decline" Question ALWAYS, ["ctrl+d"], "declines to answer";
    QuestionLeave "question_leave" Question ALWAYS, ["esc", "tab"], "returns to the message; the question waits";

    PickerUp "picker_up" Picker ALWAYS, ["up", "ctrl+p"], "selects the previous row";
    PickerDown "picker_down" Picker ALWAYS, ["down", "ctrl+n"], "selects the next row";
    PickerPageUp "picker_page_up" Picker ALWAYS, ["pgup"], "moves up by a page";
    PickerPageDown "picker_page_down" Picker ALWAYS, ["pgdn"], "moves down by a page";
    PickerFirst "picker_first" Picker ALWAYS, ["ctrl+home"], "selects the first row";
    PickerLast "picker_last" Picker ALWAYS, ["ctrl+end"], "selects the last row";
    PickerOpen "picker_open" Picker ALWAYS, ["enter"], "opens or chooses the row";
    PickerDefault "picker_default" Picker ALWAYS, ["ctrl+s"], "chooses the row, also as the default";
    PickerFork "picker_fork" Picker ALWAYS, ["ctrl+f"], "forks the session of the row";
    PickerRename "picker_rename" Picker ALWAYS, ["ctrl+r"], "renames the session of the row";
    PickerArchive "picker_archive" Picker ALWAYS, ["ctrl+d"], "archives the session of the row";
    PickerNextScope "picker_next_scope" Picker ALWAYS, ["tab"], "shows the next of several lists";
    PickerPreviousScope "picker_previous_scope" Picker ALWAYS, ["shift+tab"], "shows the previous of several lists";
    PickerClose "picker_close" Picker ALWAYS, ["esc", "ctrl+c"], "closes the list";

    AgentsUp "agents_up" Agents ALWAYS, ["up", "k"], "selects the previous agent";
    AgentsDown "agents_down" Agents ALWAYS, ["down", "j"], "selects the next agent";
    AgentsOpen "agents_open" Agents ALWAYS, ["enter"], "opens the agent's transcript";
    AgentsCancel "agents_cancel" Agents ALWAYS, ["x"], "cancels the agent";
    AgentsClose "agents_close" Agents ALWAYS, ["esc", "q"], "closes plan and agents";

    ScrollDown "scroll_down" Transcript ALWAYS, ["j", "down"], "scrolls down by a row";
    ScrollUp "scroll_up" Transcript ALWAYS, ["k", "up"], "scrolls up by a row";
    PageDown "page_down" Transcript ALWAYS, ["space", "pgdn", "ctrl+f"], "scrolls down by a page";
    PageUp "page_up" Transcript ALWAYS, ["b", "pgup", "ctrl+b"], "scrolls up by a page";
    GoFirst "go_first" Transcript ALWAYS, ["g", "home"], "goes to the beginning";
    GoLast "go_last" Transcript ALWAYS, ["G", "end"], "goes to the end and follows it";
    Find "find" Transcript ALWAYS, ["/"], "searches";
    FindNext "find_next" Transcript ALWAYS, ["n"], "goes to the next match";
    FindPrevious "find_previous" Transcript ALWAYS, ["N"], "goes to the previous match";
    NextPrompt "next_prompt" Transcript ALWAYS, ["]"], "goes to the next prompt";
    PreviousPrompt "previous_prompt" Transcript ALWAYS, ["["], "goes to the previous prompt";
    Fold "fold" Transcript ALWAYS, ["enter"], "folds or unfolds";
    Copy "copy" Transcript ALWAYS, ["y"], "copies the marked lines, else the cell";
    CopyCode "copy_code" Transcript ALWAYS, ["Y"], "copies the last block of code";
    Mark "mark" Transcript ALWAYS, ["v"], "begins or ends marking lines";
    TranscriptClose "transcript_close" Transcript ALWAYS, ["q", "esc", "ctrl+c"], "goes back";

    Retry "retry" Failure ALWAYS, ["r"], "asks again; a letter alone needs enter behind it";

    Transcript "transcript" Anywhere ALWAYS, ["ctrl+o"], "opens the transcript, and closes it";
    TranscriptPage "transcript_page" Anywhere ALWAYS, ["pgup"], "opens the transcript one page up";
    Agents "agents" Anywhere ALWAYS, ["ctrl+t"], "opens plan and agents, and closes them";
    Interrupt "interrupt" Anywhere ALWAYS, ["ctrl+c"], "clears the draft into the history, else cancels the turn, else quits when pressed again";
    Suspend "suspend" Anywhere ALWAYS, ["ctrl+z"], "suspends Tiller";
    Repaint "repaint" Anywhere ALWAYS, ["ctrl+l"], "draws the live rows again";
}

impl Action {
    /// Returns its row of the table.
    pub fn entry(self) -> &'static Entry {
        TABLE.iter().find(|entry| entry.action == self).expect("one macro makes the actions and the table")
    }

    /// Returns the action with a name.
    pub fn from_id(id: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.id == id).map(|entry| entry.action)
    }

    /// Returns whether it approves a call, so that only letters may be bound to it.
    pub fn approves(self) -> bool {
        matches!(self, Self::PermissionOnce | Self::PermissionAlways | Self::PermissionNever)
    }
}

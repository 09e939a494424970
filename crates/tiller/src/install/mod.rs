//! `tiller install`: puts the entry that starts this program into an editor's settings.

mod list;

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::InstallArgs,
    editors::{ENTRY_NAME, Edit, Editor, Places, block, edited},
    environment::{self, Environment},
    exit::Exit,
    installation::Installation,
    options::Directories,
};
use anyhow::Result;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use schemars::JsonSchema;
use serde::Serialize;
use system::{AbsPath, System, SystemError};

pub(crate) use list::Editors;

/// The suffix of the one backup of a settings file.
const BACKUP: &str = ".tiller-backup";

/// The result of `tiller install EDITOR`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Installed {
    /// The editor, by its word on the command line.
    editor: &'static str,
    /// The settings file.
    file: String,
    /// The name of the entry.
    name: String,
    /// The program that the entry starts; null after `--remove`.
    command: Option<String>,
    /// Whether the file was changed.
    changed: bool,
    /// The file as it was before the first change, if it was kept.
    backup: Option<String>,
    /// The change of the file, or with `--dry-run` what it would be.
    diff: Option<String>,
    /// The text to paste, where the file is not edited.
    block: Option<String>,
    /// Why the file is not edited.
    reason: Option<String>,
    /// What is left to do in the editor.
    next_step: Option<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read or written.
pub(crate) async fn run(
    system: &dyn System,
    environment: &Environment,
    directories: &Directories,
    cwd: &AbsPath,
    console: &Console,
    args: &InstallArgs,
) -> Result<Exit> {
    let places = Places::new(environment, directories.home.clone(), cwd.clone());
    let path = environment.get("PATH").unwrap_or_default();
    let editor = match (args.editor, args.list) {
        (_, true) => return console.print(list::answer(system, &places, path).await),
        (Some(editor), false) => editor,
        (None, false) => {
            let words = Editor::ALL.map(Editor::id).join(", ");
            return Err(Failure::new(Kind::Usage, format!("no editor is named; use one of {words}"))
                .next("tiller install --list")
                .into());
        }
    };
    let file = file(system, &places, cwd, editor, args).await?;
    let name = args.name.as_deref().unwrap_or(ENTRY_NAME);
    let command = Installation::of_this_process(system, environment, directories).await?.command();
    let mut result = Installed {
        editor: editor.id(),
        file: file.as_str().to_owned(),
        name: name.to_owned(),
        command: (!args.remove).then(|| command.clone()),
        changed: false,
        backup: None,
        diff: None,
        block: None,
        reason: None,
        next_step: (!args.remove).then(|| editor.next_step()),
    };
    if args.print {
        let block = block(editor, &command, name);
        console.note(&format!("It belongs into {file}. {}", editor.next_step()));
        result.block = Some(block.clone());
        return console.print(Answer::new(result, block));
    }
    let wanted = (!args.remove).then_some(command.as_str());
    let text = match edited(system, editor, &file, name, wanted).await? {
        Edit::Nothing if args.remove => format!("{name} is not in {file}. Nothing was changed.\n"),
        Edit::Nothing => format!("{name} is in {file} already. Nothing was changed.\n"),
        Edit::ByHand { why, block } => {
            let after = result.next_step.map(|step| format!("\n{step}\n")).unwrap_or_default();
            let text = format!("{why}\n\n{block}{after}");
            (result.block, result.reason) = (Some(block), Some(why));
            text
        }
        Edit::Change { before, after } => {
            let diff = diff(before.as_deref().unwrap_or_default(), &after);
            result.diff = Some(diff.clone());
            if args.dry_run {
                format!("{file} would change:\n{diff}Nothing was written (--dry-run).\n")
            } else {
                result.backup = match &before {
                    Some(_) => backup(system, &file).await?,
                    None => None,
                };
                system.replace_text(&file, before.as_deref(), &after).await?;
                result.changed = true;
                written(&result)
            }
        }
    };
    console.print(Answer::new(result, text))
}

/// Returns the text about a change that was written.
fn written(Installed { file, name, command, backup, next_step, .. }: &Installed) -> String {
    let mut text = match command {
        Some(command) => format!("{name} is in {file}; it starts {command}.\n"),
        None => format!("{name} is not in {file} any more.\n"),
    };
    if let Some(backup) = backup {
        text += &format!("The file as it was: {backup}\n");
    }
    if let Some(step) = next_step {
        text += &format!("{step}\n");
    }
    text
}

async fn file(
    system: &dyn System,
    places: &Places,
    cwd: &AbsPath,
    editor: Editor,
    args: &InstallArgs,
) -> Result<AbsPath> {
    if let Some(path) = &args.path {
        return environment::absolute(cwd, path);
    }
    if args.project {
        return places.project_file(editor).ok_or_else(|| {
            let text = format!("{} takes agents from the user's settings only", editor.label());
            Failure::new(Kind::Usage, text).next(format!("tiller install {}", editor.id())).into()
        });
    }
    Ok(places.user_file(editor, system).await)
}

/// Keeps the file as it is, unless an earlier copy is there: the first one is what the user wrote.
/// Settings can hold keys, so only the owner can read the copy.
async fn backup(system: &dyn System, file: &AbsPath) -> Result<Option<String>, SystemError> {
    let copy = AbsPath::new(format!("{file}{BACKUP}")).expect("the path of the file is absolute");
    match system.metadata(&copy).await {
        Err(error) if error.is_not_found() => {
            system.write_private(&copy, &system.read(file).await?).await?;
            Ok(Some(copy.as_str().to_owned()))
        }
        Ok(_) => Ok(Some(copy.as_str().to_owned())),
        Err(error) => Err(error),
    }
}

fn diff(before: &str, after: &str) -> String {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let mut shape = UnifiedDiffConfig::default();
    shape.context_len(1);
    diff.unified_diff(&BasicLineDiffPrinter(&input.interner), shape, &input).to_string()
}

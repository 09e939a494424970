//! `tiller trust`.

use super::{
    Project, grant_trust, includes_memories, lines, project,
    records::Records,
    revoke_trust,
    rows::{Folder, FolderList},
};
use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::TrustArgs,
    exit::Exit,
    options::Directories,
};
use agent::{CheckedItem, ItemKind, Redactor, TrustState};
use anyhow::{Result, bail};
use std::{
    io::{BufRead, StdinLock, Write},
    sync::Arc,
};
use system::{AbsPath, LocalSystem, System};

/// The items of a project to be trusted.
#[derive(Default)]
pub(crate) struct TrustSelection<'a> {
    /// Only items with these names or ids; all if empty.
    pub(crate) only: &'a [String],
    /// Only items of this kind.
    pub(crate) kind: Option<ItemKind>,
    /// Whether to trust them without asking.
    pub(crate) yes: bool,
}

impl TrustSelection<'_> {
    fn includes(&self, judged: &CheckedItem) -> bool {
        let item = &judged.item;
        let named = |name: &String| *name == item.name || *name == item.id();
        self.kind.is_none_or(|kind| kind == item.kind)
            && (self.only.is_empty() || self.only.iter().any(named))
    }

    /// Checks that every name matches exactly one item: a hook with the name of a server must not
    /// become
    /// trusted with it.
    fn check(&self, items: &[CheckedItem]) -> Result<()> {
        for name in self.only {
            let these = items.iter().filter(|judged| self.includes(judged));
            let ids = these.map(|judged| (judged.item.id(), &judged.item.name));
            let ids: Vec<_> = ids.filter(|(id, own)| id == name || *own == name).map(|(id, _)| id).collect();
            let name = agent::one_line(name);
            match ids.as_slice() {
                [] => bail!("the project has no item named {name:?}; see `tiller trust --list`"),
                [_] => {}
                ids => bail!(
                    "the project has several items named {name:?}; choose one with `tiller trust --only`: {}",
                    agent::one_line(&ids.join(", "))
                ),
            }
        }
        Ok(())
    }
}

/// Shows and trusts the items of a project, revokes trust, or lists trusted items.
pub(crate) async fn run(
    console: &Console,
    directories: &Directories,
    directory: &AbsPath,
    args: &TrustArgs,
    redactor: &Redactor,
) -> Result<Exit> {
    // For programs only the result is printed.
    let mut out: Box<dyn Write> = match console.is_json() {
        true => Box::new(std::io::sink()),
        false => Box::new(crate::streams::stdout()),
    };
    if args.list {
        let folders = list(directories, directory, redactor, &mut out).await?;
        return console.print(Answer::new(FolderList { folders }, String::new()));
    }
    let directory = LocalSystem::new().resolve(directory).await?;
    let done = match &args.revoke {
        Some(name) => {
            let mut names = args.only.clone();
            names.extend(name.clone());
            revoke(directories, &directory, &names, &mut out).await
        }
        None => {
            let wanted = TrustSelection { only: &args.only, kind: None, yes: args.yes };
            let answers = terminal(console);
            review_and_trust(directories, &directory, &wanted, redactor, answers, &mut out).await
        }
    };
    if !console.is_json() {
        return done.map(|()| Exit::Ok);
    }
    // A program gets the items that it has to review with the failure, too.
    let project = project(directories, &directory).await;
    let answer = Answer::new(Folder::of(directory.as_str(), &project, redactor), String::new());
    match done {
        Ok(()) => console.print(answer),
        Err(error) => console.print_failed(answer, error),
    }
}

/// Returns stdin if a user sees the questions: stdin and stdout must be terminals.
pub(crate) fn terminal(console: &Console) -> Option<StdinLock<'static>> {
    let seen = console.may_ask() && crate::streams::stdout_is_terminal();
    seen.then(|| std::io::stdin().lock())
}

/// Shows the items that wait for trust, asks about each, and trusts those that the user accepts.
///
/// # Errors
/// If a requested name does not match exactly one item, there is no source of answers, or no item
/// can be trusted.
pub(crate) async fn review_and_trust(
    directories: &Directories,
    directory: &AbsPath,
    wanted: &TrustSelection<'_>,
    redactor: &Redactor,
    mut answers: Option<impl BufRead>,
    out: &mut impl Write,
) -> Result<()> {
    let Project { items, problems } = project(directories, directory).await;
    wanted.check(&items)?;
    for problem in &problems {
        writeln!(out, "problem: {}", agent::one_line(problem))?;
    }
    let (trusted, untrusted): (Vec<_>, Vec<_>) =
        items.into_iter().filter(|judged| wanted.includes(judged)).partition(CheckedItem::is_trusted);
    if untrusted.is_empty() {
        match trusted.is_empty() {
            true => writeln!(out, "{directory} has nothing to trust")?,
            false => writeln!(out, "{directory} is trusted: nothing has changed since")?,
        }
        return Ok(());
    }
    let mut all = wanted.yes;
    let (mut given, mut left) = (Vec::new(), 0);
    writeln!(out, "{directory} has items that need trust:")?;
    for judged in &untrusted {
        show(judged, redactor, out)?;
        let (Some(hash), false) = (&judged.hash, matches!(judged.state, TrustState::Unknown(_))) else {
            left += 1;
            continue;
        };
        let answer = match &mut answers {
            _ if all => "y".to_owned(),
            Some(answers) => {
                write!(out, "  Trust it? y: yes, a: it and all that follow, anything else: no [y/a/N] ")?;
                out.flush()?;
                let mut answer = String::new();
                answers.read_line(&mut answer)?;
                answer.trim().to_ascii_lowercase()
            }
            None => continue,
        };
        match answer.as_str() {
            "y" | "yes" => {}
            "a" | "all" => all = true,
            _ => continue,
        }
        given.push((judged, hash.clone()));
    }
    if answers.is_none() && !all {
        let what = "nothing is trusted: there is no terminal to ask on; review what is shown, then pass --yes (--only NAME for some of it)";
        return Err(Failure::new(Kind::Denied, what).into());
    }
    // The hash is that of the text that was shown, so a later change is not trusted.
    grant_trust(directories, directory, given.iter().map(|(judged, hash)| (judged.item.id(), hash.clone())))
        .await?;
    match given.is_empty() {
        true => writeln!(out, "Nothing is trusted.")?,
        false => {
            let names: Vec<_> = given.iter().map(|(judged, _)| title(judged)).collect();
            writeln!(out, "{directory} is trusted with {}, each until it changes", names.join(", "))?;
        }
    }
    if left > 0 && given.is_empty() {
        bail!("nothing of {directory} could be trusted");
    }
    Ok(())
}

fn show(judged: &CheckedItem, redactor: &Redactor, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n{}, {}", title(judged), judged.state.word())?;
    for line in lines(judged, redactor) {
        writeln!(out, "    {line}")?;
    }
    if let Some(hash) = &judged.hash {
        writeln!(out, "    hash: {hash}")?;
    }
    if let TrustState::Unknown(why) = &judged.state {
        writeln!(out, "    cannot be trusted: {}", agent::one_line(why))?;
    }
    Ok(())
}

fn title(judged: &CheckedItem) -> String {
    let item = &judged.item;
    match item.kind {
        ItemKind::Settings => format!("settings of {}", item.source),
        kind => {
            let (name, source) = (agent::one_line(&item.name), agent::one_line(&item.source));
            format!("{} {name} ({source})", kind.word())
        }
    }
}

async fn list(
    directories: &Directories,
    here: &AbsPath,
    redactor: &Redactor,
    out: &mut impl Write,
) -> Result<Vec<Folder>> {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    let records = Records::new(system.clone(), &directories.config).all().await?;
    let here = system.resolve(here).await?;
    let mut paths: Vec<_> = records.keys().map(String::as_str).collect();
    if !records.contains_key(here.as_str()) {
        paths.push(here.as_str());
    }
    let mut folders = Vec::new();
    for path in paths {
        let found = project(directories, &AbsPath::new(path)?).await;
        let mut folder = Folder::of(path, &found, redactor);
        let Project { items, problems } = found;
        let trusted = items.iter().filter(|judged| judged.is_trusted()).count();
        let memories = records.get(path).is_some_and(includes_memories);
        let state = match (records.contains_key(path), trusted) {
            _ if items.is_empty() && memories => "trusted",
            (false, _) if items.is_empty() && problems.is_empty() => continue,
            (false, _) => "untrusted",
            (true, _) if items.is_empty() => "empty",
            (true, trusted) if trusted == items.len() => "trusted",
            (true, 0) => "changed",
            (true, _) => "partly",
        };
        writeln!(out, "{state:<9} {path}")?;
        for judged in &items {
            writeln!(out, "  {:<9} {}", judged.state.word(), title(judged))?;
        }
        if memories {
            writeln!(out, "  {:<9} memories", TrustState::Trusted.word())?;
        }
        for problem in &problems {
            writeln!(out, "  problem: {}", agent::one_line(problem))?;
        }
        (folder.state, folder.memories) = (Some(state), Some(memories));
        folders.push(folder);
    }
    Ok(folders)
}

async fn revoke(
    directories: &Directories,
    directory: &AbsPath,
    names: &[String],
    out: &mut impl Write,
) -> Result<()> {
    if names.is_empty() {
        let result = match revoke_trust(directories, directory, None).await? {
            true => "is not trusted any more",
            false => "was not trusted",
        };
        writeln!(out, "{directory} {result}")?;
        return Ok(());
    }
    // Also items that the project no longer has.
    let records = Records::new(Arc::new(LocalSystem::new()), &directories.config);
    let known = records.all().await?.remove(directory.as_str()).unwrap_or_default().items.into_keys();
    let now = project(directories, directory).await.items.into_iter().map(|judged| judged.item.id());
    let ids: Vec<_> = known.chain(now).collect();
    for name in names {
        let named = |id: &&String| *id == name || id.split_once('#').is_some_and(|(_, own)| own == name);
        let these: Vec<_> = ids.iter().filter(named).cloned().collect();
        let result = match revoke_trust(directories, directory, Some(&these)).await? {
            true => "is not trusted any more",
            false => "was not trusted",
        };
        writeln!(out, "{} {result}", agent::one_line(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the questions on a project with two hooks and a setting; returns the names of trusted
    /// items
    /// and the output.
    async fn answered(answers: &str) -> (Vec<String>, String) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::from_os(&dir.path().join(name)).unwrap();
        let directories = Directories {
            settings: at("config/config.toml"),
            home: at(""),
            config: at("config"),
            data: at("d"),
            cache: at("k"),
            temp: at("t"),
            folder: None,
        };
        let hook =
            |name: &str| format!("[hooks.{name}]\non = 'stop'\ncommand = ['echo', '{name}\u{1b}[2J']\n");
        let config = format!("[agent]\nsystem_prompt = 'x'\n{}{}", hook("a"), hook("b"));
        let system = LocalSystem::new();
        system.create_dir_all(&at("w/.tiller")).await.unwrap();
        system
            .write(
                &at("w/.tiller/config.toml"),
                config.replace('\u{1b}', "\\u001b").replace('\'', "\"").as_bytes(),
            )
            .await
            .unwrap();
        let (wanted, redactor, mut out) = (TrustSelection::default(), Redactor::default(), Vec::new());
        let given =
            review_and_trust(&directories, &at("w"), &wanted, &redactor, Some(answers.as_bytes()), &mut out)
                .await;
        given.unwrap();
        let items = project(&directories, &at("w")).await.items.into_iter().filter(CheckedItem::is_trusted);
        (items.map(|judged| judged.item.name).collect(), String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn p13_items_that_would_run_are_shown_and_confirmed_one_by_one() {
        let (trusted, shown) = answered("n\nyes\n\n").await;
        assert_eq!(trusted, ["a"]);
        assert!(
            shown.contains("agent.system_prompt = \"x\"") && shown.contains("runs: [\"echo\", \"b"),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert_eq!(answered("a\n").await.0, ["settings", "a", "b"]);
        assert_eq!(answered("").await.0, [""; 0], "the end of the input is no answer");
        assert!(answered("no").await.1.ends_with("Nothing is trusted.\n"));
    }
}

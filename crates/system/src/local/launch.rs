//! Preparation before the launcher starts a command, and what is done after it: finds secret and
//! guarded files, creates the session's private temporary directory, and disables what was left.

use super::aside::Turns;
use super::entry::EntryHandle;
use super::{
    LocalSystem,
    blocking::blocking,
    caches,
    controls::{self, Base, Changeable, Controls, NewFolder},
    home,
    index::{Found, GitDirectories, Index, Indexes, TooMany},
    new_repositories::disable_new,
    private_directory,
    sandbox::{self, LaunchCommand, LaunchRequest, RoomRequest},
    start::{self, Launch},
};
use crate::limits::{
    CACHES_AGE, GUARDED_REPOSITORIES, SECRET_FILE_BYTES, SECRET_FILES, TEMP_AGE, TEMP_SWEEP_INTERVAL,
    VERSIONS_BYTES, VERSIONS_WAIT,
};
use crate::veil::secret_values;
use crate::{
    AbsPath, Command, Confinement, GitRemote, Network, Output, PipedCommand, ProtectedPaths, Sandbox,
    SandboxLevel, SandboxSupport, SystemError, View,
};
use rustix::fs::OFlags;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Returns the directory for the temporary files of this user's sessions. It lies on a disk and
/// outside the directories that it stands in for. `None` where it is not supported.
pub fn private_temp() -> Option<AbsPath> {
    let shared = Path::new("/var/tmp");
    let is_usable = cfg!(target_os = "linux") && shared.is_dir();
    let name = format!("tiller-{}", rustix::process::geteuid().as_raw());
    is_usable.then(|| AbsPath::from_os(&private_directory::in_shared(shared, &name)).ok()).flatten()
}

/// The name of the directory, next to a session's temporary files, in which this program keeps its
/// own files for the session: tool results in full length. Commands do not see it. It is swept
/// together with the temporary files.
pub const OUTPUT_DIRECTORY: &str = "outputs";

impl LocalSystem {
    /// Creates the request for the launcher; `None` if there is no launcher and the command needs
    /// none. With `external`, another program starts the launcher, in an environment that differs
    /// from this process's.
    pub(super) async fn prepare(
        &self,
        command: &Command,
        external: bool,
    ) -> Result<Option<Launch>, SystemError> {
        let launch = self.launch_command(command, external);
        let kind = LaunchKind { external, waits: !command.interactive };
        self.launched(launch, &command.env, &command.confinement, kind).await
    }

    /// As [`Self::prepare`], for a program with piped streams.
    pub(super) async fn prepare_piped(&self, command: &PipedCommand) -> Result<Option<Launch>, SystemError> {
        let kind = LaunchKind { external: false, waits: false };
        self.launched(piped(command), &command.env, &command.confinement, kind).await
    }

    async fn launched(
        &self,
        command: LaunchCommand,
        env: &[(String, String)],
        confinement: &Confinement,
        kind: LaunchKind,
    ) -> Result<Option<Launch>, SystemError> {
        match confinement {
            Confinement::Required(sandbox) | Confinement::LocalOnly(sandbox) => {
                self.confined(command, env, sandbox, kind).await.map(Some)
            }
            Confinement::Session | Confinement::Lifted => Ok(self.supervised(command, kind.external)),
        }
    }

    /// Creates the request for a command that is supervised, but not confined; `None` without a
    /// launcher.
    pub(super) fn supervised(&self, command: LaunchCommand, external: bool) -> Option<Launch> {
        let has_launcher = cfg!(target_os = "linux") && !self.options.launcher.is_empty();
        let sandbox = Sandbox { level: SandboxLevel::Off, ..Sandbox::default() };
        (has_launcher || external).then(|| Launch {
            request: LaunchRequest {
                sandbox,
                joins: false,
                processes: false,
                confirm: external,
                timed: !external && start::is_timed(),
                command,
            },
            room: None,
            aftermath: None,
        })
    }

    /// Creates the request for a confined command with these variables of its own.
    async fn confined(
        &self,
        mut command: LaunchCommand,
        env: &[(String, String)],
        sandbox: &Sandbox,
        LaunchKind { external, waits }: LaunchKind,
    ) -> Result<Launch, SystemError> {
        let support = self.support().await;
        sandbox::expect_support(&self.options.launcher, support)?;
        let (mut sandbox, indexes, rooms) = (sandbox.clone(), self.indexes.clone(), self.rooms.clone());
        let (controls, secrets) = (Arc::clone(&self.controls), Arc::clone(&self.secrets));
        if let Some(path) = start::own_path(env).or_else(|| std::env::var_os("PATH")) {
            sandbox.view.add_program_directories(&path);
        }
        let served = self.network.clone().filter(|_| sandbox.view.temp.is_some());
        if served.is_none() && sandbox.network == Network::Session {
            sandbox.network = Network::Off;
        }
        if sandbox.level == SandboxLevel::WorkspaceWrite {
            let (sees_all, indexes, controls) = (support.namespaces, indexes.clone(), Arc::clone(&controls));
            sandbox =
                blocking(move || protect_named(sandbox, sees_all.then_some(&*indexes), &controls)).await?;
        }
        self.learn_versions(&sandbox, support).await;
        let launcher = self.options.launcher.clone();
        let network = served.clone();
        let turns = Arc::new(Turns::open(sandbox.view.own().as_ref()));
        // They are counted before the folders are searched for.
        let expect = |path: &AbsPath| NewFolder::expect(path, &turns);
        let expected: Vec<_> = sandbox.protected.copied.iter().map(expect).collect();
        let (sandbox, room, aftermath, remotes) = blocking(move || {
            let mut remotes = Vec::new();
            let bases = compare_files(&mut sandbox, &controls, waits && support.namespaces);
            let (room, before) = if support.namespaces {
                let roots = sandbox.view.roots.clone();
                let (values, before);
                (values, before, remotes) = complete_sandbox(&mut sandbox, &indexes, &controls)?;
                secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(roots, values);
                let request = RoomRequest::of(&sandbox);
                let room = rooms.get(&request, &launcher, served.as_deref()).map_err(SystemError::NoRoom)?;
                (Some(room), before)
            } else {
                sandbox.view.temp.iter().try_for_each(create_own)?;
                let index = indexes.of(&sandbox);
                let git = index.git_directories().map_err(too_many)?;
                (None, Before { index, git })
            };
            let writes = sandbox.level == SandboxLevel::WorkspaceWrite;
            let protected = &sandbox.protected;
            let is_new = |folder: &NewFolder| protected.missing.contains(&folder.path);
            let changeable = Changeable {
                linked: protected.linked.clone(),
                folders: protected.folders.clone(),
                bases,
                new: expected.into_iter().filter(is_new).map(|folder| folder.announced(&controls)).collect(),
            };
            let copies = sandbox.view.copies.clone();
            let aftermath = writes.then_some(Aftermath { before, controls, copies, changeable });
            Ok((sandbox, room, aftermath, remotes))
        })
        .await?;
        if let (Some(network), Network::Session, Some(temp)) = (network, sandbox.network, &sandbox.view.temp)
        {
            command.env.extend(network.variables(temp, &sandbox.view.roots, remotes).await);
        }
        if let Some(temp) =
            sandbox.view.temp.as_ref().filter(|_| sandbox.level == SandboxLevel::WorkspaceWrite)
        {
            // Paths that a command prints are valid outside of the room too.
            command.env.push(("TMPDIR".to_owned(), temp.to_string()));
        }
        let request = LaunchRequest {
            sandbox,
            joins: room.is_some(),
            processes: support.processes,
            confirm: external,
            timed: !external && start::is_timed(),
            command,
        };
        Ok(Launch { request, room, aftermath })
    }

    /// Returns the command as the launcher runs it. With `external`, the request carries the
    /// environment.
    fn launch_command(&self, command: &Command, external: bool) -> LaunchCommand {
        LaunchCommand {
            words: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
            cwd: command.cwd.clone(),
            env: match external {
                true => {
                    command.environment().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
                }
                false => Vec::new(),
            },
            hidden_variables: if external { self.options.hidden_variables() } else { None },
            input: command.input.clone(),
            piped: command.interactive && !external,
        }
    }

    /// Reads which versions of the folders that commands may change in a copy the repository has,
    /// once for each folder. Where that fails, no change of a folder is carried over.
    async fn learn_versions(&self, sandbox: &Sandbox, support: SandboxSupport) {
        let Some(copies) = sandbox.view.copies.as_ref().filter(|_| support.namespaces) else { return };
        if sandbox.level != SandboxLevel::WorkspaceWrite {
            return;
        }
        let own = shared_by_sessions(&sandbox.view);
        let mut by_root = HashMap::<AbsPath, Vec<&AbsPath>>::new();
        let compared = &sandbox.protected.compared;
        for path in sandbox.protected.copied.iter().chain(compared) {
            by_root.entry(path.parent().unwrap_or_else(|| path.clone())).or_default().push(path);
        }
        for (root, folders) in by_root {
            if self.controls.knows(&root, copies) {
                continue;
            }
            let mut above = root.as_std().ancestors();
            if !root.as_std().is_dir() || !above.any(|directory| directory.join(".git").exists()) {
                let none = folders.into_iter().map(|path| (path.clone(), Vec::new()));
                self.controls.learn(&root, copies, compared, none.collect(), own.as_ref());
                continue;
            }
            let names: Vec<_> =
                folders.iter().filter_map(|path| path.file_name()).map(str::to_owned).collect();
            let output = self.printed_versions(&root, names, sandbox, own.clone()).await;
            let mut versions = controls::versions(&output);
            let folders = folders.into_iter().map(|path| {
                let name = path.file_name().unwrap_or_default();
                (path.clone(), versions.remove(name).unwrap_or_default())
            });
            self.controls.learn(&root, copies, compared, folders.collect(), own.as_ref());
        }
    }

    /// Returns what git prints about the versions of the folders with these names in `root`. It is
    /// not asked again, also in later sessions, while the references of the repository are the
    /// same.
    async fn printed_versions(
        &self,
        root: &AbsPath,
        names: Vec<String>,
        sandbox: &Sandbox,
        own: Option<AbsPath>,
    ) -> String {
        let references = || {
            let (root, names) = (root.clone(), names.clone());
            blocking(move || controls::references(&root, &names))
        };
        let before = match &own {
            Some(own) => references().await.map(|references| (own, references)),
            None => None,
        };
        if let Some((own, references)) = &before
            && let Some(output) = controls::remembered(own, root, references)
        {
            return output;
        }
        let arguments = ["-c", controls::SCRIPT, "sh"].map(str::to_owned).into_iter().chain(names.clone());
        let command = Command {
            program: "sh".to_owned(),
            args: arguments.collect(),
            cwd: root.clone(),
            env: controls::SCRIPT_VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            output_limit: VERSIONS_BYTES,
            confinement: Confinement::Required(Sandbox { level: SandboxLevel::ReadOnly, ..sandbox.clone() }),
            input: None,
            interactive: false,
            executor_approved: false,
        };
        let output = tokio::time::timeout(VERSIONS_WAIT, self.output_of(command)).await.unwrap_or_default();
        // Of references that changed meanwhile, it is not known which ones git has read.
        if let Some((own, before)) = before
            && !output.is_empty()
            && references().await.as_ref() == Some(&before)
        {
            controls::remember(own, root, &before, &output);
        }
        output
    }

    /// Returns what a command prints; nothing if it fails or prints more than is kept.
    async fn output_of(&self, command: Command) -> String {
        let Ok(mut process) = crate::System::spawn(self, command).await else { return String::new() };
        let mut text = String::new();
        while let Some(output) = process.next_output().await {
            match output {
                Output::Text(more) => text.push_str(&more),
                _ => return String::new(),
            }
        }
        text
    }

    async fn support(&self) -> SandboxSupport {
        crate::System::sandbox_support(self).await
    }
}

/// Returns a program with piped streams as the launcher runs it.
pub(super) fn piped(command: &PipedCommand) -> LaunchCommand {
    LaunchCommand {
        words: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
        cwd: command.cwd.clone(),
        env: command.env.clone(),
        hidden_variables: None,
        input: None,
        piped: true,
    }
}

/// Completes a sandbox with what depends on the current state of the disk. Returns secret values of
/// the project, the state before the command, and the remotes of the project's repositories.
fn complete_sandbox(
    sandbox: &mut Sandbox,
    indexes: &Indexes,
    controls: &Controls,
) -> Result<(Vec<String>, Before, Vec<GitRemote>), SystemError> {
    add_git_directories(&mut sandbox.view);
    let index = indexes.of(sandbox);
    let Found { secrets, guarded, pinned, missing, sockets, git } = index.scan().map_err(too_many)?;
    if git.directories.len() > GUARDED_REPOSITORIES {
        return Err(SystemError::NoRoom(too_many_repositories(sandbox, &git.directories)));
    }
    let known: HashSet<_> = sandbox.protected.guarded.iter().cloned().collect();
    sandbox.protected.guarded.extend(guarded.into_iter().filter(|path| !known.contains(path)));
    sandbox.protected.reserved.extend(missing);
    let mut remotes = Vec::new();
    if let Some(copies) = &sandbox.view.copies {
        let configs: Vec<_> =
            sandbox.protected.guarded.iter().filter(|path| is_git_config(path)).cloned().collect();
        remotes = controls.remotes(&sandbox.view.roots, &configs, copies);
        if sandbox.level == SandboxLevel::WorkspaceWrite {
            link_configs(sandbox, controls, &configs)?;
        }
    }
    if sandbox.level != SandboxLevel::WorkspaceWrite {
        sandbox.protected.reserved.clear();
    }
    // A hard link to a hidden file is hidden too.
    let id =
        |path: &AbsPath| fs::symlink_metadata(path.as_std()).ok().map(|found| (found.dev(), found.ino()));
    let named: HashSet<_> = secrets.iter().filter(|path| sandbox.is_hidden(path)).filter_map(id).collect();
    let (hidden, readable): (Vec<_>, Vec<_>) =
        secrets.into_iter().partition(|path| id(path).is_some_and(|id| named.contains(&id)));
    sandbox.secret.blanked = hidden;
    sandbox.protected.pinned.extend(pinned);
    copy_folders(sandbox, controls)?;
    sandbox.protected.sockets = sockets.into_iter().chain(unix_sockets()).collect();
    let values =
        readable.iter().take(SECRET_FILES).filter_map(small_text).flat_map(|text| secret_values(&text));
    Ok((values.collect(), Before { index, git }, remotes))
}

/// Adds the git directories outside of the roots that belong to them.
fn add_git_directories(view: &mut View) {
    let outside: Vec<_> = view.writable().filter_map(sandbox::git_directory).collect();
    for root in view.roots.clone() {
        if let Some(repository) = sandbox::repository_above(view, &root) {
            // The rest of a repository is readable, and its git directory is that of the project.
            view.roots.push(repository.join(".git"));
            view.readable.push(repository);
        }
    }
    view.roots.extend(outside);
}

/// Returns the message for a project with more repositories than can be guarded. It names the
/// folder of a root that has most of them.
fn too_many_repositories(sandbox: &Sandbox, repositories: &BTreeSet<AbsPath>) -> String {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for repository in repositories {
        let root = sandbox.view.roots.iter().find(|root| repository.starts_with(root));
        let inner = root.and_then(|root| repository.as_str().strip_prefix(root.as_str()));
        if let (Some(root), Some(inner)) = (root, inner) {
            let top = inner.trim_start_matches('/').split('/').next().unwrap_or_default();
            *counts.entry(root.join(top).to_string()).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let most = most.map(|(folder, count)| format!(", {count} of them in {folder}")).unwrap_or_default();
    format!(
        "the project has {} git repositories{most}, and at most {GUARDED_REPOSITORIES} can be guarded; remove those that are not needed, or open a folder with fewer",
        repositories.len()
    )
}

/// Lets commands change configurations of git in a copy.
fn link_configs(sandbox: &mut Sandbox, controls: &Controls, configs: &[AbsPath]) -> Result<(), SystemError> {
    let Some(copies) = &sandbox.view.copies else { return Ok(()) };
    create_own(copies)?;
    let (linked, lines) = controls.prepare(configs, copies)?;
    lines.iter().for_each(|line| tracing::info!("{line}"));
    let in_copies: HashSet<_> = linked.iter().map(|file| &file.path).collect();
    sandbox.protected.guarded.retain(|path| !in_copies.contains(path));
    sandbox.protected.linked = linked;
    Ok(())
}

/// Lets commands change folders that editors obey in a copy, where nothing else in them is
/// protected.
fn copy_folders(sandbox: &mut Sandbox, controls: &Controls) -> Result<(), SystemError> {
    let protected = &mut sandbox.protected;
    let Some(copies) = sandbox.view.copies.as_ref().filter(|_| sandbox.level == SandboxLevel::WorkspaceWrite)
    else {
        return Ok(());
    };
    let others = protected.guarded.iter().chain(&sandbox.secret.hidden).chain(&sandbox.secret.blanked);
    let others: Vec<_> = others.chain(&protected.sockets).collect();
    let holds_more = |path: &AbsPath| others.iter().any(|other| other.starts_with(path) && *other != path);
    let folders: Vec<_> = protected.copied.iter().filter(|path| !holds_more(path)).cloned().collect();
    let (folders, missing) = controls.prepare_folders(&folders, copies)?;
    let is_copied =
        |path: &AbsPath| missing.contains(path) || folders.iter().any(|folder| folder.path == *path);
    protected.guarded.retain(|path| !is_copied(path));
    protected.folders = folders;
    protected.missing = missing;
    Ok(())
}

/// Protects what git's configuration names like what editors obey. Without an index, only the
/// configurations of the roots are known.
fn protect_named(
    mut sandbox: Sandbox,
    indexes: Option<&Indexes>,
    controls: &Controls,
) -> Result<Sandbox, SystemError> {
    let repositories = match indexes {
        Some(indexes) => {
            let mut whole = sandbox.clone();
            add_git_directories(&mut whole.view);
            indexes.of(&whole).repositories().map_err(too_many)?
        }
        None => Vec::new(),
    };
    let named = controls.named(&sandbox.view.roots, &repositories, home().as_ref());
    let roots = &sandbox.view.roots;
    let ProtectedPaths { guarded, reserved, compared, copied, pinned, .. } = &mut sandbox.protected;
    for folder in named.folders {
        if guarded.iter().any(|path| folder.starts_with(path)) {
            continue;
        }
        if !controls::is_in_git(&folder) {
            copied.push(folder.clone());
        }
        reserved.push(folder.clone());
        guarded.push(folder);
    }
    let is_known = |path: &AbsPath| guarded.iter().any(|known| path.starts_with(known));
    let files: Vec<_> = named.files.into_iter().filter(|path| !is_known(path)).collect();
    // Another directory in the place of theirs would have others.
    let directories = files.iter().filter_map(AbsPath::parent);
    pinned.extend(directories.filter(|path| !roots.contains(path) && path.as_std().is_dir()));
    compared.extend(files);
    Ok(sandbox)
}

/// Returns the directory for what sessions know of each other. The directories for what commands
/// have changed in the home directory are in it.
fn shared_by_sessions(view: &View) -> Option<AbsPath> {
    let own = view.own()?;
    private_directory::create(&own).ok().map(|()| own)
}

/// Returns the files to compare after the command, if it changes them in place: one that the
/// session waits for. The others are guarded.
fn compare_files(sandbox: &mut Sandbox, controls: &Controls, in_place: bool) -> Vec<Arc<Base>> {
    let protected = &mut sandbox.protected;
    let files = std::mem::take(&mut protected.compared);
    let (bases, others) = match &sandbox.view.copies {
        Some(copies) if in_place && sandbox.level == SandboxLevel::WorkspaceWrite => {
            controls.bases(&files, copies, shared_by_sessions(&sandbox.view).as_ref())
        }
        _ => (Vec::new(), files),
    };
    protected.reserved.extend(others.iter().cloned());
    protected.guarded.extend(others);
    bases
}

/// The start of a command.
#[derive(Debug, Clone, Copy)]
struct LaunchKind {
    /// Another program starts the launcher, in an environment that differs from this process's.
    external: bool,
    /// The session waits for the end of the command.
    waits: bool,
}

/// What there was before a command.
#[derive(Debug)]
struct Before {
    index: Arc<Index>,
    git: GitDirectories,
}

/// Returns the paths to which Unix sockets of this machine's programs are bound, for those outside
/// of the index. A relative path is left out: the directory of its program is not known.
fn unix_sockets() -> Vec<AbsPath> {
    const TABLE: &str = "/proc/net/unix";
    /// Directories that a room does not have, or of which it has another. Most sockets are there.
    const ABSENT: [&str; 5] = ["/run", "/var/run", "/tmp", "/proc", "/dev"];
    let table = fs::read(TABLE).unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    // The path is the last column.
    let paths = table.lines().filter_map(|line| AbsPath::new(&line[line.find(" /")? + 1..]).ok());
    let is_visible = |path: &AbsPath| ABSENT.iter().all(|directory| !path.as_std().starts_with(directory));
    let paths = paths.filter(is_visible);
    // Its directory may be a link; a command finds the directory behind it in its view.
    let real = paths.collect::<HashSet<_>>().into_iter().filter_map(|path| {
        let directory = fs::canonicalize(path.parent()?.as_std()).ok()?;
        AbsPath::from_os(&directory.join(path.file_name()?)).ok()
    });
    real.filter(is_visible).collect()
}

fn too_many(_: TooMany) -> SystemError {
    let text = "the project has too many files to search for secret ones; open a folder with fewer";
    SystemError::NoRoom(text.to_owned())
}

/// What is done when a confined command has ended.
#[derive(Debug)]
pub(super) struct Aftermath {
    before: Before,
    controls: Arc<Controls>,
    copies: Option<AbsPath>,
    changeable: Changeable,
}

impl Aftermath {
    /// Carries over what the command changed in copies, but for what the user decides about, and
    /// disables what it left that git would execute. Returns a line for each change that cannot be
    /// carried over, and for each such file.
    pub(super) fn run(&self) -> Vec<String> {
        let carry = |copies| self.controls.carry(copies, &self.changeable);
        let mut lines = self.copies.as_ref().map(carry).unwrap_or_default();
        lines.extend(self.disable());
        lines
    }

    /// Disables what the command has left so far that git would execute. Returns a line for each.
    pub(super) fn disable(&self) -> Vec<String> {
        match self.before.index.git_directories() {
            Ok(now) => disable_new(&now, &self.before.git),
            Err(TooMany) => vec!["there are too many files to look for new repositories".to_owned()],
        }
    }

    /// Returns a descriptor that becomes readable when the project's files change.
    pub(super) fn changes(&self) -> Option<OwnedFd> {
        self.before.index.changes()
    }
}

/// Reads a file with secrets, without following links.
fn small_text(path: &AbsPath) -> Option<String> {
    let file = EntryHandle::open(path, false).ok()?.file("read", OFlags::RDONLY).ok()?;
    let mut bytes = Vec::new();
    file.take(SECRET_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a path is that of the configuration of a git repository, a worktree or a
/// submodule.
fn is_git_config(path: &AbsPath) -> bool {
    let is_named = path.file_name().is_some_and(|name| ["config", "config.worktree"].contains(&name));
    is_named && path.parent().is_some_and(|directory| directory.join("HEAD").as_std().exists())
}

fn create_own(temp: &AbsPath) -> Result<(), SystemError> {
    private_directory::create(temp).map_err(|source| SystemError::from_io("make", temp, source))
}

/// Removes the temporary files of other sessions that have not been used for [`TEMP_AGE`], and what
/// commands of other projects changed in the home directory and have not used for [`CACHES_AGE`].
/// Blocks for some microseconds for each. Does nothing if this process did the same within
/// [`TEMP_SWEEP_INTERVAL`].
pub(super) fn sweep(sandbox: &Sandbox) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < TEMP_SWEEP_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
    }
    if let Some(own) = sandbox.view.temp.as_ref().and_then(AbsPath::parent) {
        sweep_beside(&own, TEMP_AGE);
    }
    if let Some(home) = &sandbox.view.home {
        sweep_beside(&home.changes, CACHES_AGE);
    }
}

/// Removes the directories beside one that rooms have used, and not since `age`.
fn sweep_beside(own: &AbsPath, age: Duration) {
    let Some(directory) = own.parent() else { return };
    for entry in fs::read_dir(directory.as_std()).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_old = |path: &Path| {
            let used = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
            used.is_some_and(|used| used.elapsed().is_ok_and(|since| since > age))
        };
        let uses = [path.join(caches::USED), path.join(OUTPUT_DIRECTORY)];
        let is_unused =
            uses.iter().any(|path| is_old(path)) && uses.iter().all(|path| !path.exists() || is_old(path));
        if !is_unused || !is_old(&path) || path == own.as_std() {
            continue;
        }
        caches::make_removable(&path);
        if let Err(error) = fs::remove_dir_all(&path) {
            tracing::debug!(%error, path = %path.display(), "old files of commands could not be removed");
        }
    }
}

//! Programs in `PATH`, and the file of this process.

use system::{AbsPath, FileKind, System};

/// The directories that programs started by the desktop search.
const DESKTOP_DIRECTORIES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Returns the file that this process runs, with links resolved.
#[expect(clippy::disallowed_methods, reason = "what runs is known to the process only")]
pub(super) fn of_this_process() -> anyhow::Result<AbsPath> {
    let path = std::env::current_exe()
        .map_err(|error| anyhow::anyhow!("the system does not tell which file runs: {error}"))?;
    // Linux appends this when the file was replaced while it runs.
    let text = path.to_string_lossy();
    Ok(AbsPath::new(text.strip_suffix(" (deleted)").unwrap_or(&text))?)
}

/// Returns the files of this name in the directories of `path`, in its order and each once.
pub(crate) async fn in_path(system: &dyn System, path: &str, name: &str) -> Vec<AbsPath> {
    let mut found = Vec::new();
    for directory in path.split(':') {
        // A relative directory would mean another program in each current directory.
        let Ok(directory) = AbsPath::new(directory) else { continue };
        let file = directory.join(name);
        let is_file = system.metadata(&file).await.is_ok_and(|metadata| metadata.kind == FileKind::File);
        if is_file && !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

/// Whether a command names a program that is there: by its path, or in `path`.
pub(crate) async fn exists(system: &dyn System, path: &str, command: &str) -> bool {
    match AbsPath::new(command) {
        Ok(file) => system.metadata(&file).await.is_ok_and(|metadata| metadata.kind == FileKind::File),
        Err(_) => !command.contains('/') && !in_path(system, path, command).await.is_empty(),
    }
}

/// Whether programs that the desktop started find this file by its name.
pub(crate) fn is_for_desktops(file: &AbsPath) -> bool {
    file.parent().is_some_and(|directory| DESKTOP_DIRECTORIES.contains(&directory.as_str()))
}

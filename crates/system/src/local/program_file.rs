//! The program file of an installation, which an update replaces.

use crate::{AbsPath, SystemError, limits::MAX_PROGRAM_BYTES};
use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
};

/// The mode of a program: executable by everyone, writable by its owner.
const PROGRAM_MODE: u32 = 0o755;

/// Reads a program file of at most [`MAX_PROGRAM_BYTES`]. Blocks.
///
/// # Errors
///
/// If it cannot be read, or is larger.
pub fn read_program(path: &AbsPath) -> Result<Vec<u8>, SystemError> {
    let fail = |source| SystemError::from_io("read", path, source);
    let file = File::open(path.as_std()).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let mut bytes = Vec::new();
    file.take(MAX_PROGRAM_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_PROGRAM_BYTES {
        return Err(SystemError::TooLarge { path: path.clone(), size, limit: MAX_PROGRAM_BYTES });
    }
    Ok(bytes)
}

/// Writes an executable file: under another name in the same directory, then with a rename. So a
/// program that runs keeps its file, and no reader sees half of one. A symbolic link at the path is
/// replaced. The directory must exist. Blocks until the bytes are on the disk.
///
/// # Errors
///
/// If it cannot be written; nothing is left behind then.
pub fn write_program(path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
    let fail = |source| SystemError::from_io("write", path, source);
    let directory = path.parent().ok_or_else(|| SystemError::IsDirectory(path.clone()))?;
    let temporary =
        tempfile::Builder::new().prefix(".tiller-").tempfile_in(directory.as_std()).map_err(fail)?;
    temporary.as_file().write_all(bytes).map_err(fail)?;
    temporary.as_file().set_permissions(fs::Permissions::from_mode(PROGRAM_MODE)).map_err(fail)?;
    temporary.as_file().sync_all().map_err(fail)?;
    temporary.persist(path.as_std()).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &tempfile::TempDir, name: &str) -> AbsPath {
        AbsPath::from_os(&directory.path().join(name)).unwrap()
    }

    #[test]
    fn a_written_program_is_executable_and_a_hard_link_keeps_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let (program, link) = (file(&directory, "program"), file(&directory, "link"));
        write_program(&program, b"old").unwrap();
        fs::hard_link(program.as_std(), link.as_std()).unwrap();
        write_program(&program, b"new").unwrap();
        assert_eq!(
            (read_program(&program).unwrap(), read_program(&link).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
        assert_eq!(fs::metadata(program.as_std()).unwrap().permissions().mode() & 0o777, PROGRAM_MODE);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let taken = file(&directory, "taken");
        fs::create_dir(taken.as_std()).unwrap();
        write_program(&taken, b"x").unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(write_program(&file(&directory, "no/such"), b"x").is_err());
    }
}

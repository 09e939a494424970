//! The choice to continue without a language model. It holds until one is set up.

use super::SetupAnswer;
use crate::{
    answer::Answer,
    options::{Directories, Options},
    wiring,
};
use anyhow::Result;
use system::{AbsPath, FileStamp};

/// The file that stands for the choice.
fn mark(directories: &Directories) -> AbsPath {
    directories.data.join("without-model")
}

/// Returns whether the user has made the choice.
pub(crate) fn is_without_model(directories: &Directories) -> bool {
    FileStamp::of(&mark(directories)).exists()
}

/// Stores the choice.
///
/// # Errors
/// If the file cannot be written.
pub(crate) async fn set_without_model(options: &Options) -> Result<()> {
    let system = wiring::local_system(options);
    system.create_dir_all(&options.directories.data).await?;
    Ok(system.write(&mark(&options.directories), b"").await?)
}

/// Returns the answer of a setup that ends with the choice.
pub(super) fn answer() -> Answer {
    let next = "tiller setup".to_owned();
    let text = format!(
        "Editors continue with the built-in pilot, which carries out simple commands only. `{next}` sets a language model up.\n"
    );
    let body = SetupAnswer {
        provider: "offline".to_owned(),
        model: None,
        base_url: None,
        key: None,
        settings: None,
        tested: false,
        next_commands: vec![next],
    };
    Answer::new(&body, text)
}

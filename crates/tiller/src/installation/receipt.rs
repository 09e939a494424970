//! The receipt of the shell installer: which file it wrote, and where updates come from.

use crate::options::Directories;
use serde_json::{Value, json};
use system::{AbsPath, System};

/// The format of the receipt.
const VERSION: u64 = 1;

/// What the shell installer, or an update, wrote down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The installed version.
    pub(crate) version: String,
    /// The target of the archive, such as `x86_64-unknown-linux-musl`.
    pub(crate) target: String,
    pub(crate) binary: AbsPath,
    /// The URL of the directory with the files of the latest release.
    pub(crate) source: String,
    /// The public key that signs releases, in the format of minisign; `None` if the installer had
    /// none.
    pub(crate) key: Option<String>,
    /// The version that the last update replaced and kept.
    pub(crate) previous: Option<String>,
}

/// The reason why a receipt cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiptError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] system::SystemError),
    /// It is none of ours.
    #[error("{file} is not a receipt of the installer ({what}); run the installer again")]
    Malformed { file: AbsPath, what: &'static str },
}

/// The path of the receipt.
pub(crate) fn file(directories: &Directories) -> AbsPath {
    directories.data.join("receipt.json")
}

/// Reads the receipt; `None` if there is none.
///
/// # Errors
/// If it cannot be read.
pub(crate) async fn read(
    system: &dyn System,
    directories: &Directories,
) -> Result<Option<Receipt>, ReceiptError> {
    let file = file(directories);
    let Some(text) = system.read_text_on_disk(&file).await? else { return Ok(None) };
    let malformed = |what| ReceiptError::Malformed { file: file.clone(), what };
    let json: Value = serde_json::from_str(&text).map_err(|_| malformed("it is not JSON"))?;
    if json["v"] != VERSION {
        return Err(malformed("its version is unknown"));
    }
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let binary = text("binary").and_then(|path| AbsPath::new(path).ok());
    Ok(Some(Receipt {
        version: text("version").ok_or_else(|| malformed("it names no version"))?,
        target: text("target").ok_or_else(|| malformed("it names no target"))?,
        binary: binary.ok_or_else(|| malformed("it names no file"))?,
        source: text("source").ok_or_else(|| malformed("it names no source"))?,
        key: text("key"),
        previous: text("previous"),
    }))
}

impl Receipt {
    /// Writes the receipt.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) async fn write(
        &self,
        system: &dyn System,
        directories: &Directories,
    ) -> Result<(), system::SystemError> {
        let text = format!(
            "{:#}\n",
            json!({
                "v": VERSION,
                "version": self.version,
                "target": self.target,
                "binary": self.binary.as_str(),
                "source": self.source,
                "key": self.key,
                "previous": self.previous,
            })
        );
        let was = system.read_text_on_disk(&file(directories)).await?;
        system.replace_text(&file(directories), was.as_deref(), &text).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    fn directories() -> Directories {
        let environment = [("TILLER_HOME".to_owned(), "/t".to_owned())].into_iter().collect();
        crate::directories::resolve(&environment, &AbsPath::new("/").unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_receipt_is_read_as_it_was_written() {
        let (system, directories) = (FakeSystem::new(), directories());
        assert_eq!(read(&system, &directories).await.unwrap(), None);
        let receipt = Receipt {
            version: "0.2.0".to_owned(),
            target: "x86_64-unknown-linux-musl".to_owned(),
            binary: AbsPath::new("/home/me/.local/bin/tiller").unwrap(),
            source: "https://example.org/latest".to_owned(),
            key: Some("RWQ".to_owned()),
            previous: None,
        };
        receipt.write(&system, &directories).await.unwrap();
        assert_eq!(read(&system, &directories).await.unwrap(), Some(receipt));
    }

    #[tokio::test]
    async fn a_file_of_another_kind_is_refused_with_its_name() {
        let (system, directories) = (FakeSystem::new(), directories());
        for text in ["", "{}", r#"{"v":2}"#, r#"{"v":1,"version":"1","target":"t","binary":"relative"}"#] {
            system.add_file(file(&directories).as_str(), text);
            let error = read(&system, &directories).await.unwrap_err().to_string();
            assert!(error.contains("/t/data/receipt.json") && error.contains("run the installer"), "{error}");
        }
    }
}

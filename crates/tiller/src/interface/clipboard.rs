//! The clipboard of this machine, through the programs that come with its desktop. None of them
//! runs in a shell, and each gets a few seconds.

use crate::{environment::Environment, images, limits};
use agent::{IMAGE_BYTES, ImageFault};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::time::Duration;
use system::{AbsPath, PipedCommand, System};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tui::driver::host::Clip;

/// The variables that the programs need to find the desktop.
const INHERITED: [&str; 8] =
    ["PATH", "HOME", "USER", "LANG", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"];

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A clipboard that this environment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Desktop {
    Wayland,
    X11,
    MacOs,
    Wsl,
}

impl Desktop {
    /// Returns the clipboard of an environment; `None` where there is no desktop.
    fn of(environment: &Environment) -> Option<Self> {
        let set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
        match () {
            () if cfg!(target_os = "macos") => Some(Self::MacOs),
            () if set("WSL_DISTRO_NAME") => Some(Self::Wsl),
            () if set("WAYLAND_DISPLAY") => Some(Self::Wayland),
            () if set("DISPLAY") => Some(Self::X11),
            () => None,
        }
    }

    /// Returns the program that writes an image to its standard output.
    fn image(self) -> &'static [&'static str] {
        match self {
            Self::Wayland => &["wl-paste", "--no-newline", "--type", "image/png"],
            Self::X11 => &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
            // Prints `«data PNGf89504E…»`.
            Self::MacOs => &["osascript", "-e", "get the clipboard as «class PNGf»"],
            Self::Wsl => &[
                "powershell.exe",
                "-NoProfile",
                "-Command",
                "$i = Get-Clipboard -Format Image; if ($i) { $m = New-Object IO.MemoryStream; \
                 $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }",
            ],
        }
    }

    fn text(self) -> &'static [&'static str] {
        match self {
            Self::Wayland => &["wl-paste", "--no-newline"],
            Self::X11 => &["xclip", "-selection", "clipboard", "-out"],
            Self::MacOs => &["pbpaste"],
            Self::Wsl => &["powershell.exe", "-NoProfile", "-Command", "Get-Clipboard -Raw"],
        }
    }

    fn copy(self) -> &'static [&'static str] {
        match self {
            Self::Wayland => &["wl-copy"],
            Self::X11 => &["xclip", "-selection", "clipboard", "-in"],
            Self::MacOs => &["pbcopy"],
            Self::Wsl => &["clip.exe"],
        }
    }

    /// Returns the image in a program's output.
    fn decoded(self, output: Vec<u8>) -> Option<Vec<u8>> {
        let text = |output: &[u8]| String::from_utf8_lossy(output).trim().to_owned();
        match self {
            Self::Wayland | Self::X11 => Some(output),
            Self::MacOs => {
                let text = text(&output);
                let digits = text.strip_prefix("«data PNGf")?.strip_suffix('»')?;
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                digits.as_bytes().chunks(2).map(byte).collect()
            }
            Self::Wsl => STANDARD.decode(text(&output)).ok(),
        }
    }
}

/// Reads the image, or else the text, in the clipboard.
///
/// # Errors
///
/// Fails with a message that says what is missing here and what to do instead.
pub(super) async fn read(
    system: &dyn System,
    environment: &Environment,
    cwd: &AbsPath,
) -> Result<Clip, String> {
    let Some(desktop) = Desktop::of(environment) else {
        let remote = environment.get("SSH_CONNECTION").is_some();
        let why = if remote {
            "over SSH the clipboard is on the other machine"
        } else {
            "there is no desktop here"
        };
        return Err(format!(
            "{why}: paste text with the terminal's own key, and attach an image by its path, such as @picture.png"
        ));
    };
    if let Ok(output) = output(system, cwd, desktop.image()).await
        && let Some(bytes) = desktop.decoded(output)
    {
        match images::recognised(&bytes) {
            Ok(image) => return Ok(Clip::Image(image)),
            Err(ImageFault::Format | ImageFault::NotBase64) => {}
            Err(fault) => return Err(format!("the image of the clipboard cannot be attached: {fault}")),
        }
    }
    let words = desktop.text();
    let bytes = output(system, cwd, words).await.map_err(|error| {
        format!(
            "{} could not read the clipboard ({error}); install it, or paste with the terminal's own key",
            words[0]
        )
    })?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.is_empty() => Ok(Clip::Text(text)),
        Ok(_) => Err("the clipboard is empty".to_owned()),
        Err(_) => Err("the clipboard holds neither text nor a PNG image".to_owned()),
    }
}

/// Passes a text to the clipboard's program; returns whether it took it.
pub(super) async fn write(system: &dyn System, environment: &Environment, cwd: &AbsPath, text: &str) -> bool {
    let Some(desktop) = Desktop::of(environment) else { return false };
    let run = async {
        let mut program = system.spawn_piped(command(cwd, desktop.copy())).await.ok()?;
        program.input.write_all(text.as_bytes()).await.ok()?;
        program.input.shutdown().await.ok()?;
        drop(program.input);
        let mut rest = Vec::new();
        program.output.take(1).read_to_end(&mut rest).await.ok()
    };
    tokio::time::timeout(PATIENCE, run).await.is_ok_and(|done| done.is_some())
}

async fn output(system: &dyn System, cwd: &AbsPath, words: &[&str]) -> Result<Vec<u8>, String> {
    let run = async {
        let program = system.spawn_piped(command(cwd, words)).await.map_err(|error| error.to_string())?;
        drop(program.input);
        let mut bytes = Vec::new();
        let mut limited = program.output.take(IMAGE_BYTES as u64 * 2);
        limited.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
        Ok(bytes)
    };
    let in_time = tokio::time::timeout(PATIENCE, run).await;
    in_time.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())))
}

fn command(cwd: &AbsPath, words: &[&str]) -> PipedCommand {
    PipedCommand {
        program: words[0].to_owned(),
        args: words[1..].iter().map(|&word| word.to_owned()).collect(),
        cwd: cwd.clone(),
        inherit: INHERITED.map(str::to_owned).to_vec(),
        env: Vec::new(),
        error_limit: limits::CLIPBOARD_ERROR_BYTES,
        confinement: system::Confinement::Lifted,
        apart_from: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_each_desktop_is_decoded() {
        assert_eq!(Desktop::Wayland.decoded(vec![1, 2]), Some(vec![1, 2]));
        assert_eq!(Desktop::MacOs.decoded("«data PNGf8950»\n".into()), Some(vec![0x89, 0x50]));
        assert_eq!(Desktop::MacOs.decoded("error".into()), None);
        assert_eq!(Desktop::Wsl.decoded(b"iVA=\r\n".to_vec()), Some(vec![0x89, 0x50]));
    }
}

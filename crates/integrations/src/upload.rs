//! Files in a request's body: read through the system, and sent as parts of `multipart/form-data`
//! (RFC 7578).

use crate::{
    integration::Function,
    limits::{UPLOAD_BYTES, UPLOADS},
};
use serde_json::{Map, Value, json};
use std::{fmt, sync::Arc};
use system::{AbsPath, Route, System};

/// The source of uploaded files. Its creator has checked the permission to read them.
#[derive(Clone)]
pub struct Files {
    /// The system that reads files.
    pub system: Arc<dyn System>,
    /// The directory that relative paths are resolved against.
    pub cwd: AbsPath,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Files").field(&self.cwd.as_str()).finish()
    }
}

/// A file to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Upload {
    /// The parameter's key.
    pub(crate) key: String,
    /// The service's name for the part.
    part: String,
    file_name: String,
    content_type: String,
    bytes: Vec<u8>,
}

/// Reads the files of a call. The error is text for people.
pub(crate) async fn read(
    function: &Function,
    arguments: &Map<String, Value>,
    files: Option<&Files>,
) -> Result<Vec<Upload>, String> {
    let mut uploads = Vec::new();
    let mut left = UPLOAD_BYTES;
    for parameter in function.file_parameters() {
        let media_type = parameter.schema["contentMediaType"].as_str();
        let media_type = media_type.or_else(|| parameter.schema["items"]["contentMediaType"].as_str());
        for path in parameter.paths(arguments) {
            let Some(files) = files else { return Err("Files cannot be sent from here.".to_owned()) };
            if uploads.len() == UPLOADS {
                return Err(format!("Parameter '{}': more than {UPLOADS} files in one call.", parameter.key));
            }
            let path = files.cwd.join(path);
            let wrong = |why: String| format!("Parameter '{}': {path} {why}", parameter.key);
            let too_large = || {
                wrong(format!(
                    "is too large: the files of one call are limited to {} MB in total.",
                    UPLOAD_BYTES >> 20
                ))
            };
            if let Ok(found) = files.system.metadata(&path).await {
                if found.kind == system::FileKind::Directory {
                    return Err(wrong("is a directory; name a file.".to_owned()));
                }
                if found.size > left as u64 {
                    return Err(too_large());
                }
            }
            let bytes = contents(files.system.as_ref(), &path).await;
            let bytes = bytes.map_err(|error| wrong(format!("cannot be read: {error}")))?;
            left = left.checked_sub(bytes.len()).ok_or_else(too_large)?;
            let file_name = path.file_name().unwrap_or("file").to_owned();
            let content_type =
                media_type.map_or_else(|| media_type_of(&file_name, &bytes).to_owned(), str::to_owned);
            let (key, part) = (parameter.key.clone(), parameter.name.clone());
            uploads.push(Upload { key, part, file_name, content_type, bytes });
        }
    }
    Ok(uploads)
}

/// Reads a file as the user sees it: text comes from the client's buffer if the client serves text
/// files.
async fn contents(system: &dyn System, path: &AbsPath) -> Result<Vec<u8>, system::SystemError> {
    let on_disk = system.read(path).await;
    let is_text = on_disk.as_ref().map_or(true, |bytes| str::from_utf8(bytes).is_ok());
    if system.routes().read_text == Route::Client && is_text {
        return match system.read_text(path, None).await {
            Ok(text) => Ok(text.into_bytes()),
            Err(error) => on_disk.map_err(|_| error),
        };
    }
    on_disk
}

/// Returns the media type for a file name; for an unknown extension it depends on whether the
/// content is text.
fn media_type_of(name: &str, bytes: &[u8]) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "xml" => "application/xml",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "tar" => "application/x-tar",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "js" | "mjs" => "text/javascript",
        "yaml" | "yml" => "application/yaml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "m4a" => "audio/mp4",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ if !bytes.contains(&0) && str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

/// Encodes a multipart body; returns its content type with the boundary, and its bytes.
pub(crate) fn body(members: &Map<String, Value>, uploads: &[Upload]) -> (String, Vec<u8>) {
    let line = boundary(members, uploads);
    let mut body = Vec::new();
    for (name, value) in members {
        let values = match value {
            Value::Array(items) => items.iter().collect(),
            one => vec![one],
        };
        for value in values {
            let (kind, text) = match value {
                Value::String(text) => ("", text.clone()),
                Value::Object(_) | Value::Array(_) => {
                    ("\r\nContent-Type: application/json", value.to_string())
                }
                plain => ("", plain.to_string()),
            };
            let head = format!(
                "--{line}\r\nContent-Disposition: form-data; name=\"{}\"{kind}\r\n\r\n",
                escaped(name)
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(text.as_bytes());
            body.extend_from_slice(b"\r\n");
        }
    }
    for upload in uploads {
        let head = format!(
            "--{line}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
            escaped(&upload.part),
            escaped(&upload.file_name),
            // The document that sets the type is untrusted.
            upload.content_type.replace(|c: char| c.is_control(), ""),
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&upload.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{line}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={line}"), body)
}

/// Returns the body for display, with file sizes in place of their contents.
pub(crate) fn shown(members: &Map<String, Value>, uploads: &[Upload]) -> Value {
    let file = |upload: &Upload| json!({ "part": upload.part, "filename": upload.file_name, "type": upload.content_type, "bytes": upload.bytes.len() });
    json!({ "members": members, "files": uploads.iter().map(file).collect::<Vec<_>>() })
}

/// Derives a boundary from the contents, so that no part can contain it: a file cannot include its
/// own hash.
fn boundary(members: &Map<String, Value>, uploads: &[Upload]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(json!(members).to_string().as_bytes());
    uploads.iter().for_each(|upload| {
        hasher.update(&upload.bytes);
    });
    format!("part-{}", &hasher.finalize().to_hex()[..40])
}

/// Escapes a name in quotes, as browsers do.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multipart_body_keeps_every_byte() {
        let upload = Upload {
            key: "f".to_owned(),
            part: "fi\"le".to_owned(),
            file_name: "a \"b\"\r\n.png".to_owned(),
            content_type: "image/png".to_owned(),
            bytes: vec![0, 255, b'\r', b'\n', b'-', b'-'],
        };
        let members = json!({ "n": 1, "o": { "a": [1] }, "tags": ["x", "y"], "t": "ü" });
        let (kind, body) = body(members.as_object().unwrap(), &[upload]);
        let line = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let text = String::from_utf8_lossy(&body);
        let parts: Vec<_> = text.split(&format!("--{line}")).collect();
        assert_eq!(parts.len(), 8, "{text}");
        assert!(parts[1].contains("name=\"n\"\r\n\r\n1\r\n"), "{text}");
        assert!(
            text.contains("name=\"o\"\r\nContent-Type: application/json\r\n\r\n{\"a\":[1]}\r\n"),
            "{text}"
        );
        assert!(
            text.contains("name=\"tags\"\r\n\r\nx\r\n") && text.contains("name=\"tags\"\r\n\r\ny\r\n"),
            "{text}"
        );
        assert!(text.contains(
            "name=\"fi%22le\"; filename=\"a %22b%22%0D%0A.png\"\r\nContent-Type: image/png\r\n\r\n"
        ));
        let bytes = [0, 255, b'\r', b'\n', b'-', b'-', b'\r', b'\n'];
        assert!(body.windows(8).any(|window| window == bytes) && text.ends_with("--\r\n"));
    }

    #[test]
    fn the_media_type_follows_from_the_files_name_or_content() {
        for (name, bytes, kind) in [
            ("a.PNG", &b"x"[..], "image/png"),
            ("notes", b"text", "text/plain"),
            ("blob", b"\0\x01", "application/octet-stream"),
            ("a.b.json", b"{}", "application/json"),
        ] {
            assert_eq!(media_type_of(name, bytes), kind, "{name}");
        }
    }
}

//! Parses the address in `OLLAMA_HOST`, as Ollama's own programs do.

use reqwest::Url;

/// Ollama's port, for an address without one.
const PORT: u16 = 11434;

/// Parses the address of an Ollama server from `HOST`, `HOST:PORT`, `:PORT` or a full `http(s)://`
/// address. Without a port, a full address has that of its scheme, and any other has 11434. A
/// wildcard listen address (`0.0.0.0`, `[::]`) becomes loopback.
///
/// # Errors
///
/// Returns a message for display if the text is none of these.
pub fn ollama_address(text: &str) -> Result<String, String> {
    let text = text.trim().trim_matches(['"', '\'']);
    let wrong = || format!("takes HOST, HOST:PORT or http://HOST:PORT, not {text:?}");
    let (whole, has_scheme) = match text.split_once("://") {
        Some(("http" | "https", _)) => (text.to_owned(), true),
        Some(_) => return Err(wrong()),
        None if text.is_empty() => return Err(wrong()),
        // An IPv6 address contains colons but no port.
        None if text.parse::<std::net::Ipv6Addr>().is_ok() => (format!("http://[{text}]"), false),
        None if text.starts_with(':') => (format!("http://127.0.0.1{text}"), false),
        None => (format!("http://{text}"), false),
    };
    let mut url = Url::parse(&whole).map_err(|_| wrong())?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    if host == "0.0.0.0" || host == "[::]" {
        url.set_host(Some("127.0.0.1")).map_err(|_| wrong())?;
    }
    // `:80` is the default port of http, which a parsed URL leaves out.
    if !has_scheme && url.port().is_none() && !text.ends_with(":80") {
        url.set_port(Some(PORT)).map_err(|()| wrong())?;
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_variable_is_parsed() {
        for (text, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("127.0.0.1:11500", "http://127.0.0.1:11500"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:11500", "http://127.0.0.1:11500"),
            (":11500", "http://127.0.0.1:11500"),
            ("localhost", "http://localhost:11434"),
            ("gpu-box:1234/", "http://gpu-box:1234"),
            ("[::1]:11500", "http://[::1]:11500"),
            ("::1", "http://[::1]:11434"),
            ("[::]:11500", "http://127.0.0.1:11500"),
            ("http://gpu-box", "http://gpu-box"),
            ("https://ollama.example.org", "https://ollama.example.org"),
            ("http://gpu-box:11434/behind/proxy/", "http://gpu-box:11434/behind/proxy"),
            (" \"10.0.0.2:80\" ", "http://10.0.0.2"),
        ] {
            assert_eq!(ollama_address(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "  ", "ftp://h", "http://", "a b", "h:99999"] {
            assert!(ollama_address(text).is_err_and(|problem| problem.contains("HOST:PORT")), "{text:?}");
        }
    }
}

//! Addresses as they are shown.

/// Removes the user, the password and the query of an address.
pub(crate) fn without_credentials(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let path = if rest.contains('/') { format!("/{path}") } else { String::new() };
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_credentials() {
        for (url, shown) in [
            ("https://me:pass@host/v1?key=1", "https://host/v1"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("https://a@b@host:1/x/y@z", "https://host:1/x/y@z"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }
}

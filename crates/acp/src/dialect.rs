//! Detects the client's dialect from its first message.

use crate::{Protocol, legacy};

/// The dialect that a connection is served in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Version 1 of the protocol.
    V1,
    /// Version 2 of the protocol.
    V2,
    /// The dialect that predates both versions.
    Legacy,
}

impl Dialect {
    /// Returns the dialect of a connection whose first message is `first`; `None` if the input
    /// ended before a message.
    ///
    /// A client that does not start with `initialize` is served in version 1, which responds to
    /// every request.
    pub(crate) fn of(protocol: Protocol, first: Option<&str>) -> Self {
        match protocol {
            Protocol::V1 => Self::V1,
            Protocol::V2 => Self::V2,
            Protocol::Auto => match first {
                Some(line) if legacy::is_legacy(line) => Self::Legacy,
                Some(line) if requests_v2(line) => Self::V2,
                _ => Self::V1,
            },
        }
    }
}

/// Returns whether a line is an `initialize` request for exactly version 2. The draft is served to
/// no other client: a client that requests an unknown version gets the stable one.
fn requests_v2(line: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct InitializeRequest {
        method: String,
        params: InitializeParams,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeParams {
        protocol_version: u64,
    }
    serde_json::from_str::<InitializeRequest>(line)
        .is_ok_and(|request| request.method == "initialize" && request.params.protocol_version == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_selects_the_dialect_unless_the_options_fix_it() {
        let asking = |version: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{version}}}}}"#
            )
        };
        for (protocol, line, dialect) in [
            (Protocol::Auto, asking("0"), Dialect::V1),
            (Protocol::Auto, asking("1"), Dialect::V1),
            (Protocol::Auto, asking("2"), Dialect::V2),
            (Protocol::Auto, asking("3"), Dialect::V1),
            (Protocol::Auto, asking("99"), Dialect::V1),
            (Protocol::Auto, asking("65535"), Dialect::V1),
            (Protocol::Auto, asking("65536"), Dialect::V1),
            (Protocol::Auto, asking("18446744073709551616"), Dialect::V1),
            (Protocol::Auto, asking("-2"), Dialect::V1),
            (Protocol::Auto, asking("2.0"), Dialect::V1),
            (Protocol::Auto, asking("2.5"), Dialect::V1),
            (Protocol::Auto, asking("\"1\""), Dialect::V1),
            (Protocol::Auto, asking("\"2\""), Dialect::V1),
            (Protocol::Auto, asking("null"), Dialect::V1),
            (Protocol::Auto, asking("[2]"), Dialect::V1),
            (Protocol::Auto, r#"{"method":"initialize","id":0,"params":{}}"#.to_owned(), Dialect::Legacy),
            (Protocol::Auto, r#"{"method":"session/new","id":0}"#.to_owned(), Dialect::V1),
            (Protocol::Auto, "no JSON".to_owned(), Dialect::V1),
            (Protocol::V1, asking("2"), Dialect::V1),
            (Protocol::V2, asking("1"), Dialect::V2),
        ] {
            assert_eq!(Dialect::of(protocol, Some(&line)), dialect, "{protocol:?} {line}");
        }
        assert_eq!(Dialect::of(Protocol::Auto, None), Dialect::V1);
    }
}

//! The beginning of a TLS connection: the server name that the client asks for.

use crate::limits::HEAD_BYTES;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The first byte of a TLS connection.
pub(crate) const TLS: u8 = 0x16;

/// The alert `access_denied`, which is fatal.
pub(crate) const ALERT: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 49];

/// Why the beginning of a connection is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadHello {
    /// It ended, or could not be read.
    Ended,
    /// It is no TLS.
    NotTls,
    /// It is longer than any client sends.
    TooLong,
}

/// Reads the beginning of a connection, after the bytes that were read already, up to the end of
/// the client's first message. Appends the bytes, and returns the server name in lower case.
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
) -> Result<Option<String>, BadHello> {
    let mut acceptor = Acceptor::default();
    let mut taken = 0;
    loop {
        while taken < bytes.len() {
            match acceptor.read_tls(&mut &bytes[taken..]) {
                Ok(0) | Err(_) => return Err(BadHello::NotTls),
                Ok(count) => taken += count,
            }
            match acceptor.accept() {
                Ok(Some(accepted)) => {
                    return Ok(accepted.client_hello().server_name().map(str::to_ascii_lowercase));
                }
                Ok(None) => {}
                Err(_) => return Err(BadHello::NotTls),
            }
        }
        if bytes.len() > HEAD_BYTES {
            return Err(BadHello::TooLong);
        }
        if bytes.first().is_some_and(|first| *first != TLS) {
            return Err(BadHello::NotTls);
        }
        match from.read_buf(bytes).await {
            Ok(0) | Err(_) => return Err(BadHello::Ended),
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the first message of a client that asks for a name, in records of some length.
    pub(crate) fn message(name: Option<&str>, record: usize) -> Vec<u8> {
        let mut extensions = Vec::new();
        if let Some(name) = name {
            let length = u16::try_from(name.len()).unwrap();
            extensions.extend([0, 0]);
            extensions.extend((length + 5).to_be_bytes());
            extensions.extend((length + 3).to_be_bytes());
            extensions.push(0);
            extensions.extend(length.to_be_bytes());
            extensions.extend(name.bytes());
        }
        // Signature algorithms, which every client sends.
        extensions.extend([0, 13, 0, 4, 0, 2, 4, 3]);
        let mut body = vec![3, 3];
        body.extend([1; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let handshake = [&[1], &length[1..], &body].concat();
        let records = handshake.chunks(record).map(|part| {
            let length = u16::try_from(part.len()).unwrap().to_be_bytes();
            [&[TLS, 3, 1], &length[..], part].concat()
        });
        records.flatten().collect()
    }

    async fn name_in(bytes: &[u8]) -> Result<Option<String>, BadHello> {
        read(&mut &bytes[..], &mut Vec::new()).await
    }

    #[tokio::test]
    async fn the_server_name_is_read_across_records() {
        for record in [1, 7, 16_384] {
            let name = name_in(&message(Some("Docs.rs"), record)).await;
            assert_eq!(name, Ok(Some("docs.rs".to_owned())), "{record}");
            assert_eq!(name_in(&message(None, record)).await, Ok(None));
        }
    }

    #[tokio::test]
    async fn what_is_no_tls_is_refused() {
        assert_eq!(name_in(b"GET / HTTP/1.1\r\n\r\n").await, Err(BadHello::NotTls));
        assert_eq!(name_in(b"").await, Err(BadHello::Ended));
        assert_eq!(name_in(&message(Some("a.b"), 99)[..20]).await, Err(BadHello::Ended));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), tls: bool) {
            let bytes = if tls { [&[TLS, 3, 1], &bytes[..]].concat() } else { bytes };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let name = runtime.block_on(name_in(&bytes));
            prop_assert!(name.is_err() || tls || bytes.first() == Some(&TLS));
        }
    }
}

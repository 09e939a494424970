//! Queries to the name server and its answers, in the wire format of RFC 1035.

use crate::limits::ANSWER_SECONDS;
use std::net::Ipv4Addr;

/// The type of a query for IPv4 addresses.
pub(crate) const A: u16 = 1;

/// A query with one question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// The name in lower case.
    pub(crate) name: String,
    /// The type of the records asked for.
    pub(crate) kind: u16,
    /// The number of bytes up to the end of the question.
    end: usize,
}

/// The answer to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Address(Ipv4Addr),
    /// The name exists, and has no record of this type.
    Empty,
    /// The name does not exist.
    NoName,
    /// It is not known.
    Failed,
}

/// The number of bytes before the question.
const HEADER: usize = 12;

/// Reads a query; `None` if it is none. Such a message gets no answer.
pub(crate) fn read(packet: &[u8]) -> Option<Query> {
    const OPERATION_AND_ANSWER: u8 = 0xf8;
    let header = packet.get(..HEADER)?;
    let questions = u16::from_be_bytes([header[4], header[5]]);
    if header[2] & OPERATION_AND_ANSWER != 0 || questions != 1 {
        return None;
    }
    let (mut at, mut labels) = (HEADER, Vec::new());
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // Larger numbers are references, which a question has no use for.
        let label = packet.get(at..at + length).filter(|_| length < 64)?;
        labels.push(std::str::from_utf8(label).ok().filter(|label| label.is_ascii())?.to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?);
    packet.get(at + 2..at + 4)?;
    Some(Query { name: labels.join("."), kind, end: at + 4 })
}

/// Returns the answer to a query, which `packet` holds.
pub(crate) fn write(packet: &[u8], query: &Query, answer: Answer) -> Vec<u8> {
    const IS_ANSWER: u8 = 0x80;
    const RECURSION_DESIRED: u8 = 1;
    const RECURSION_AVAILABLE: u8 = 0x80;
    let (code, records) = match answer {
        Answer::Address(_) => (0, 1),
        Answer::Empty => (0, 0),
        Answer::Failed => (2, 0),
        Answer::NoName => (3, 0),
    };
    let mut bytes = packet[..2].to_vec();
    bytes.extend([IS_ANSWER | (packet[2] & RECURSION_DESIRED), RECURSION_AVAILABLE | code]);
    bytes.extend([0, 1, 0, records, 0, 0, 0, 0]);
    bytes.extend(&packet[HEADER..query.end]);
    if let Answer::Address(address) = answer {
        // A reference to the name in the question, the type, the class of the internet.
        bytes.extend([0xc0, 12, 0, 1, 0, 1]);
        bytes.extend(ANSWER_SECONDS.to_be_bytes());
        bytes.extend([0, 4]);
        bytes.extend(address.octets());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut packet = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            packet.push(label.len().try_into().unwrap());
            packet.extend(label.bytes());
        }
        packet.push(0);
        packet.extend(kind.to_be_bytes());
        packet.extend([0, 1]);
        packet
    }

    #[test]
    fn a_query_gets_the_answer_to_its_question() {
        let packet = query("Docs.RS", A);
        let read = read(&packet).unwrap();
        assert_eq!((read.name.as_str(), read.kind), ("docs.rs", A));
        let answer = write(&packet, &read, Answer::Address(Ipv4Addr::new(198, 18, 0, 1)));
        assert_eq!(answer[..12], [7, 9, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..packet.len()], packet[12..]);
        assert_eq!(answer[packet.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 1]);
        for (answer, code) in [(Answer::Empty, 0), (Answer::Failed, 2), (Answer::NoName, 3)] {
            let bytes = write(&packet, &read, answer);
            assert_eq!((bytes[3] & 15, bytes[7], bytes.len()), (code, 0, packet.len()));
        }
    }

    #[test]
    fn messages_that_are_no_query_get_no_answer() {
        let good = query("a.b", A);
        let answer = [&good[..2], &[0x81], &good[3..]].concat();
        let two = [&good[..5], &[2], &good[6..]].concat();
        let reference = [&good[..12], &[0xc0, 12, 0, 1, 0, 1]].concat();
        for bad in [&answer, &two, &reference, &good[..good.len() - 1].to_vec(), &Vec::new()] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_ignored(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(query) = read(&bytes) {
                write(&bytes, &query, Answer::Empty);
            }
        }
    }
}

//! The beginning of a push: the references that it would change, in the packet lines of git's
//! protocol for packs.

use agent::RefChange;

/// Maximum size of the beginning of a push, in bytes.
const HEAD_BYTES: usize = 1 << 20;

/// Maximum number of characters of the reason of a refusal.
const REASON_CHARS: usize = 1000;

/// Maximum size of a part of an answer, in bytes.
const BAND_BYTES: usize = 60_000;

/// The size of the length at the beginning of a packet, in bytes.
const LENGTH: usize = 4;

/// The end of the list.
pub(super) const FLUSH: &[u8; LENGTH] = b"0000";

/// The references that a push would change, as its beginning arrives.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) changes: Vec<RefChange>,
    packets: Packets,
}

impl Head {
    /// Reads on in all bytes so far; returns whether the list is complete.
    ///
    /// # Errors
    /// The reason why the push cannot be decided about.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<bool, String> {
        let Self { changes, packets } = self;
        let is_whole = packets.read(bytes, |packet| {
            changes.extend(change(packet)?);
            Ok(())
        })?;
        match !is_whole && bytes.len() > HEAD_BYTES {
            true => Err("the push changes too many references".to_owned()),
            false => Ok(is_whole),
        }
    }
}

/// A list of packets, as its bytes arrive. No packet is read twice.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The number of bytes that were read.
    read: usize,
}

impl Packets {
    /// Passes on each packet that has become whole in all bytes so far; returns whether the list
    /// has ended.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<bool, String> {
        loop {
            let rest = bytes.get(self.read..).unwrap_or_default();
            if rest.starts_with(FLUSH) {
                return Ok(true);
            }
            let Some(packet) = packet(rest)? else { return Ok(false) };
            each(packet.content)?;
            self.read = bytes.len() - packet.rest.len();
        }
    }
}

/// A packet, with the bytes that follow it.
pub(super) struct Packet<'a> {
    pub(super) content: &'a [u8],
    pub(super) rest: &'a [u8],
}

/// Returns the first packet; `None` if more is needed.
///
/// # Errors
/// It is no packet.
pub(super) fn packet(bytes: &[u8]) -> Result<Option<Packet<'_>>, String> {
    let Some((length, rest)) = bytes.split_at_checked(LENGTH) else { return Ok(None) };
    let text = std::str::from_utf8(length).ok();
    let number = text.and_then(|text| usize::from_str_radix(text, 16).ok());
    let length = number.and_then(|number| number.checked_sub(LENGTH));
    let length = length.ok_or_else(|| "it is not git's protocol".to_owned())?;
    Ok(rest.split_at_checked(length).map(|(content, rest)| Packet { content, rest }))
}

/// Returns a packet with a message that git prints as an error of the host.
pub(super) fn error(reason: &str) -> Vec<u8> {
    line(format!("ERR sandbox: {reason}\n").as_bytes())
}

/// Returns a packet.
pub(super) fn line(content: &[u8]) -> Vec<u8> {
    [format!("{:04x}", content.len() + LENGTH).as_bytes(), content].concat()
}

/// Returns the packets of an answer in the band for data.
pub(super) fn data(content: &[u8]) -> Vec<u8> {
    let parts = content.chunks(BAND_BYTES).flat_map(|part| line(&[&[1], part].concat()));
    parts.chain(*FLUSH).collect()
}

/// Returns whether a text is the id of an object.
pub(super) fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the answer of a host that refuses a push, for a client that has sent this beginning.
pub(super) fn rejection(bytes: &[u8], reason: &str) -> Vec<u8> {
    let capabilities = packet(bytes).ok().flatten().and_then(|Packet { content: first, .. }| {
        let at = first.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&first[at + 1..]).ok()
    });
    let has = |name: &str| capabilities.is_some_and(|all| all.split_whitespace().any(|known| known == name));
    let mut report = line(b"unpack ok\n");
    let reason: String = reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect();
    let mut head = Head::default();
    // What is refused has been read before.
    head.read(bytes).ok();
    for change in head.changes {
        report.extend(line(format!("ng {} sandbox: {reason}\n", change.name).as_bytes()));
    }
    report.extend(FLUSH);
    match () {
        () if !has("report-status") && !has("report-status-v2") => Vec::new(),
        () if has("side-band-64k") => data(&report),
        () => report,
    }
}

/// Reads one line of the list; `None` for one that changes nothing.
fn change(packet: &[u8]) -> Result<Option<RefChange>, String> {
    // The first line ends with the capabilities of the client.
    let line = packet.split(|byte| *byte == 0).next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "the name of a reference is not UTF-8".to_owned())?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    let words: Vec<_> = line.splitn(3, ' ').collect();
    match words[..] {
        ["shallow", id] if is_id(id) => Ok(None),
        [old, new, name] if is_id(old) && is_id(new) && !name.is_empty() => {
            let id = |text: &str| text.bytes().any(|byte| byte != b'0').then(|| text.to_owned());
            Ok(Some(RefChange { name: name.to_owned(), old: id(old), new: id(new) }))
        }
        ["push-cert", ..] => {
            Err("signed pushes are not possible in the sandbox; push without --signed".to_owned())
        }
        _ => Err("it is not git's protocol".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const NONE: &str = "0000000000000000000000000000000000000000";

    fn changes(bytes: &[u8]) -> Result<Option<Vec<RefChange>>, String> {
        let mut head = Head::default();
        Ok(head.read(bytes)?.then_some(head.changes))
    }

    fn line(text: &str) -> String {
        String::from_utf8(super::line(text.as_bytes())).unwrap()
    }

    #[test]
    fn the_list_names_each_reference() {
        let first = line(&format!("{NONE} {ONE} refs/heads/new\0 report-status agent=git/2"));
        let second = line(&format!("{ONE} {NONE} refs/heads/old\n"));
        let shallow = line(&format!("shallow {ONE}"));
        let text = format!("{shallow}{first}{second}0000PACK");
        let found = changes(text.as_bytes()).unwrap().unwrap();
        // Each byte by itself tells the same.
        let mut head = Head::default();
        let whole = (0..=text.len()).find(|length| head.read(&text.as_bytes()[..*length]).unwrap());
        assert_eq!((whole, &head.changes), (text.find("PACK"), &found));
        let names: Vec<_> = found.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["refs/heads/new", "refs/heads/old"]);
        assert_eq!((found[0].old.as_deref(), found[0].new.as_deref()), (None, Some(ONE)));
        assert_eq!((found[1].old.as_deref(), found[1].new.as_deref()), (Some(ONE), None));
        let end = text.find("0000PACK").unwrap() + FLUSH.len();
        assert!((0..end).all(|length| changes(&text.as_bytes()[..length]) == Ok(None)));
        assert_eq!(changes(b"0000"), Ok(Some(Vec::new())));
    }

    #[test]
    fn other_lists_are_refused() {
        let cert = line("push-cert\0 caps");
        let short = line("1 2 refs/heads/x");
        for text in [&cert, &short, "0003", "0001", "zzzz", "0009abcde", &line("shallow x")] {
            assert!(changes(text.as_bytes()).is_err(), "{text}");
        }
        let many = line(&format!("{NONE} {ONE} refs/heads/{}", "x".repeat(60_000))).repeat(20);
        assert!(changes(many.as_bytes()).unwrap_err().contains("too many"));
    }

    #[test]
    fn a_rejection_names_each_reference() {
        let list = |capabilities: &str| {
            format!("{}0000", line(&format!("{NONE} {ONE} refs/heads/x\0{capabilities}"))).into_bytes()
        };
        let text = |capabilities: &str| {
            String::from_utf8(rejection(&list(capabilities), "the user\nsaid no")).unwrap()
        };
        let report =
            format!("{}{}0000", line("unpack ok\n"), line("ng refs/heads/x sandbox: the usersaid no\n"));
        assert_eq!(text(" report-status agent=x"), report);
        let band = line(&format!("\u{1}{report}"));
        assert_eq!(text("report-status-v2 side-band-64k"), format!("{band}0000"));
        assert_eq!(text("side-band-64k"), "");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            changes(&bytes).ok();
        }
    }
}

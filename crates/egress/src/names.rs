//! The invented addresses of hosts.

use crate::limits;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// The network of the invented addresses, 198.18.0.0/15, which is set apart for benchmarks.
const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

/// The hosts that commands of a room have looked up, each with an address.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    /// Returns the address of a host; `None` if there are too many hosts.
    pub(crate) fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.names.len() >= limits::NAMES => return None,
            None => {
                self.names.push(name.to_owned());
                let number = u32::try_from(self.names.len()).ok()?;
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        Some(Ipv4Addr::from_bits(NETWORK.to_bits() + number))
    }

    /// Returns the host of an address.
    pub(crate) fn host(&self, address: Ipv4Addr) -> Option<&str> {
        let number = address.to_bits().checked_sub(NETWORK.to_bits() + 1)?;
        self.names.get(usize::try_from(number).ok()?).map(String::as_str)
    }
}

/// Returns whether an address is one that could have been invented.
pub(crate) fn is_invented(address: Ipv4Addr) -> bool {
    address.to_bits() >> 17 == NETWORK.to_bits() >> 17
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_keeps_its_address() {
        let mut names = Names::default();
        let all: Vec<_> = (0..limits::NAMES).map(|n| names.address(&format!("h{n}.org")).unwrap()).collect();
        assert_eq!(names.address("one.more"), None);
        for (n, address) in all.iter().enumerate() {
            assert!(is_invented(*address));
            assert_eq!(names.host(*address), Some(format!("h{n}.org").as_str()));
            assert_eq!(names.address(&format!("h{n}.org")), Some(*address));
        }
        assert_eq!(names.host(NETWORK), None);
        assert_eq!(names.host(Ipv4Addr::LOCALHOST), None);
        assert!(!is_invented(Ipv4Addr::new(198, 20, 0, 1)) && is_invented(Ipv4Addr::new(198, 19, 255, 255)));
    }
}

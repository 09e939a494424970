//! How long a value is as JSON, without writing it anywhere.

use serde::Serialize;
use std::io;

/// Bytes of a value as JSON; 0 of what cannot be JSON.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_no_json) => 0,
    }
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

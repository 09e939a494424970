//! Formats times for the protocol.

use jiff::Timestamp;

/// Formats a time in milliseconds since the Unix epoch as RFC 3339 in UTC:
/// `2026-11-21T22:48:00.123Z`. A time outside the years -9999 to 9999 becomes the nearest one
/// inside.
pub(crate) fn rfc3339(milliseconds: i64) -> String {
    let nearest = if milliseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(nearest);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_utc_dates() {
        for (milliseconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_301_280_123, "2026-11-21T22:48:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_795_301_280_100, "2026-11-21T22:48:00.100Z"),
            (i64::MAX, "9999-12-30T22:00:00.999Z"),
        ] {
            assert_eq!(rfc3339(milliseconds), expected);
        }
    }
}

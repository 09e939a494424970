//! Delays between attempts.

use crate::limits::MAX_RETRY_DELAY;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// Returns the delays between attempts: exponential backoff from `first`, with jitter so that many
/// clients do not retry at the same moment.
pub(crate) fn waits(first: Duration, tries: u32) -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(first)
        .with_max_delay(MAX_RETRY_DELAY)
        .with_max_times(tries.saturating_sub(1) as usize)
        .with_jitter()
        .build()
}

/// Parses the delay that the server asks for, capped at [`MAX_RETRY_DELAY`]: `retry-after-ms`, or
/// `Retry-After` as seconds or as a date. A date is compared with the server's own `Date` header if
/// it has one.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = if let Some(ms) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        Duration::try_from_secs_f64(ms / 1000.0).ok()?
    } else {
        let value = text(RETRY_AFTER.as_str())?;
        match value.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
            Err(_) => {
                let from = text(DATE.as_str()).and_then(date).unwrap_or(now);
                Duration::try_from(date(value)?.duration_since(from)).unwrap_or(Duration::ZERO)
            }
        }
    };
    Some(asked.min(MAX_RETRY_DELAY))
}

fn date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_parsed_in_every_form() {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        for (pairs, expected) in [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (&[("retry-after", "86400")], Some(60_000)),
            (&[("retry-after", "Sun, 01 Mar 2026 12:00:20 GMT")], Some(20_000)),
            (&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")], Some(0)),
            (
                &[
                    ("retry-after", "Sun, 01 Mar 2026 13:00:20 GMT"),
                    ("date", "Sun, 01 Mar 2026 13:00:15 GMT"),
                ],
                Some(5_000),
            ),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "NaN")], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_millis), "{pairs:?}");
        }
    }

    #[test]
    fn delays_grow_and_are_one_fewer_than_attempts() {
        let waits: Vec<_> = waits(Duration::from_millis(100), 3).collect();
        assert_eq!(waits.len(), 2);
        assert!((100..=200).contains(&waits[0].as_millis()), "{waits:?}");
        assert!((200..=400).contains(&waits[1].as_millis()), "{waits:?}");
    }
}

//! Moments for people: relative on a terminal, RFC 3339 otherwise.

use jiff::Timestamp;

/// Units of time, from the longest, with their length in seconds.
const UNITS: [(&str, i64); 6] = [
    ("year", 365 * DAY),
    ("month", 30 * DAY),
    ("week", 7 * DAY),
    ("day", DAY),
    ("hour", 60 * 60),
    ("minute", 60),
];
const DAY: i64 = 24 * 60 * 60;

/// Returns a time, given in milliseconds since the epoch, as RFC 3339 in UTC with full seconds.
pub(crate) fn rfc3339(milliseconds: i64) -> String {
    let time = Timestamp::from_second(milliseconds.div_euclid(1000));
    time.map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}

/// Returns a time as its distance from `now`; both are in milliseconds since the epoch.
pub(super) fn relative(milliseconds: i64, now: i64) -> String {
    let seconds = (now - milliseconds).div_euclid(1000);
    let Some((unit, length)) = UNITS.iter().find(|(_, length)| seconds.abs() >= *length) else {
        return if seconds >= 0 { "just now".to_owned() } else { "in less than a minute".to_owned() };
    };
    let count = seconds.abs() / length;
    let plural = if count == 1 { "" } else { "s" };
    if seconds > 0 { format!("{count} {unit}{plural} ago") } else { format!("in {count} {unit}{plural}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_has_its_longest_unit() {
        let now = 1_800_000_000_000;
        for (seconds, expected) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7_300, "2 hours ago"),
            (26 * 3600, "1 day ago"),
            (13 * DAY, "1 week ago"),
            (45 * DAY, "1 month ago"),
            (800 * DAY, "2 years ago"),
            (-30, "in less than a minute"),
            (-14 * DAY, "in 2 weeks"),
        ] {
            assert_eq!(relative(now - seconds * 1000, now), expected);
        }
    }

    #[test]
    fn a_moment_for_programs_is_rfc_3339() {
        assert_eq!(rfc3339(1_800_000_000_999), "2027-01-15T08:00:00Z");
        assert_eq!(rfc3339(i64::MAX), i64::MAX.to_string());
    }
}

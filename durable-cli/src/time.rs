//! Times and durations for people: UTC clock times, short spans, and spans that
//! people type. No time zones, no locale.

use std::fmt;
use std::time::Duration;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-11-16 06:15:47.123Z`.
pub(crate) fn utc(at_ms: u64) -> String {
    let (year, month, day) = civil(at_ms / DAY);
    format!("{year:04}-{month:02}-{day:02} {}Z", clock(at_ms))
}

/// `06:15:47.123`.
pub(crate) fn clock(at_ms: u64) -> String {
    let of_day = at_ms % DAY;
    format!(
        "{:02}:{:02}:{:02}.{:03}",
        of_day / HOUR,
        of_day / MINUTE % 60,
        of_day / SECOND % 60,
        of_day % SECOND
    )
}

/// `310 ms`, `1.25 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`.
pub(crate) fn span(ms: u64) -> String {
    let two = |large: u64, large_unit, small: u64, small_unit| match small {
        0 => format!("{large} {large_unit}"),
        small => format!("{large} {large_unit} {small} {small_unit}"),
    };
    match ms {
        0..SECOND => format!("{ms} ms"),
        SECOND..MINUTE => {
            let hundredths = format!("{:02}", ms % SECOND / 10);
            match hundredths.trim_end_matches('0') {
                "" => format!("{} s", ms / SECOND),
                rest => format!("{}.{rest} s", ms / SECOND),
            }
        }
        MINUTE..HOUR => two(ms / MINUTE, "min", ms / SECOND % 60, "s"),
        HOUR..DAY => two(ms / HOUR, "h", ms / MINUTE % 60, "min"),
        _ => two(ms / DAY, "d", ms / HOUR % 24, "h"),
    }
}

/// Year, month and day of the n-th day since 1970-01-01 (Howard Hinnant's
/// `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// The text is not a span such as `90s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidSpan;

impl fmt::Display for InvalidSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a span is a number and a unit: 500ms, 90s, 5m, 2h, 7d")
    }
}

impl std::error::Error for InvalidSpan {}

/// Reads `500ms`, `90s`, `5m`, `2h`, `7d`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, InvalidSpan> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or(InvalidSpan)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| InvalidSpan)?;
    let unit_ms = match unit.trim() {
        "ms" => 1,
        "s" => SECOND,
        "m" | "min" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return Err(InvalidSpan),
    };
    let ms = number.checked_mul(unit_ms).ok_or(InvalidSpan)?;
    Ok(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00.000Z");
        assert_eq!(utc(1_700_000_000_123), "2023-11-14 22:13:20.123Z");
        assert_eq!(utc(4_107_542_399_999), "2100-02-28 23:59:59.999Z");
        assert_eq!(utc(4_107_542_400_000), "2100-03-01 00:00:00.000Z");
    }

    #[test]
    fn spans_are_short() {
        let shown = [
            0,
            999,
            1_000,
            1_250,
            59_999,
            185_000,
            7_200_000,
            273_600_000,
        ];
        let expected = [
            "0 ms",
            "999 ms",
            "1 s",
            "1.25 s",
            "59.99 s",
            "3 min 5 s",
            "2 h",
            "3 d 4 h",
        ];
        assert_eq!(shown.map(span), expected);
    }

    #[test]
    fn spans_are_read_and_nonsense_is_refused() {
        assert_eq!(parse_span("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_span("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(parse_span("5 m"), Ok(Duration::from_secs(300)));
        for text in ["", "7", "d", "-1s", "1.5h", "7 weeks", "99999999999999999d"] {
            assert_eq!(parse_span(text), Err(InvalidSpan), "{text:?}");
        }
    }
}

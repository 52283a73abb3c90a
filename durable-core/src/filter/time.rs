//! Times and spans as a filter writes them: RFC 3339 and dates, in the proleptic Gregorian
//! calendar, and `-1h`. No locale; leap seconds are refused.

use core::fmt;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// 0000-01-01 and 10000-01-01: what four digits of a year can say.
const FIRST_MS: i64 = -62_167_219_200_000;
const END_MS: i64 = 253_402_300_800_000;

/// A time in milliseconds since the Unix epoch, as RFC 3339 in UTC; `@…` outside of the years
/// that RFC 3339 has.
pub(super) struct TimeText(pub(super) i64);

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !(FIRST_MS..END_MS).contains(&self.0) {
            return write!(f, "@{}", self.0);
        }
        let (year, month, day) = date_of(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            of_day / HOUR,
            of_day / MINUTE % 60,
            of_day / SECOND % 60
        )?;
        match of_day % SECOND {
            0 => f.write_str("Z"),
            milliseconds => write!(f, ".{milliseconds:03}Z"),
        }
    }
}

/// Year, month and day of the n-th day since 1970-01-01 (Howard Hinnant's
/// `civil_from_days`).
const fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

/// Which day since 1970-01-01 this is (`days_from_civil`); `None` if there is no such day.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let shifted_year = year - i64::from(month <= 2);
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let days = era * 146_097 + of_era - 719_468;
    ((1..=12).contains(&month) && date_of(days) == (year, month, day)).then_some(days)
}

/// Reads `2026-11-18`, `2026-11-18T14:30Z`, `2026-11-18T14:30:00.123+01:00`.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    let mut rest = Rest(text);
    let year = rest.digits(4)?;
    rest.expect(b"-")?;
    let month = rest.digits(2)?;
    rest.expect(b"-")?;
    let midnight = day_of(year, month, rest.digits(2)?)? * DAY;
    if rest.0.is_empty() {
        return Some(midnight);
    }
    rest.expect(b"Tt")?;
    let hour = rest.digits(2)?;
    rest.expect(b":")?;
    let minute = rest.digits(2)?;
    let second = match rest.expect(b":") {
        Some(()) => rest.digits(2)?,
        None => 0,
    };
    let milliseconds = match rest.expect(b".") {
        Some(()) => rest.fraction()?,
        None => 0,
    };
    let offset = match rest.expect(b"Zz") {
        Some(()) => 0,
        None => {
            let is_west = rest.expect(b"-").is_some();
            if !is_west {
                rest.expect(b"+")?;
            }
            let hours = rest.digits(2)?;
            rest.expect(b":")?;
            let minutes = rest.digits(2)?;
            let offset = in_clock(hours, minutes, 0)?;
            if is_west { -offset } else { offset }
        }
    };
    rest.0
        .is_empty()
        .then_some(midnight + in_clock(hour, minute, second)? + milliseconds - offset)
}

fn in_clock(hour: i64, minute: i64, second: i64) -> Option<i64> {
    let is_valid = hour < 24 && minute < 60 && second < 60;
    is_valid.then_some(hour * HOUR + minute * MINUTE + second * SECOND)
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.0.get(..count)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        self.0 = self.0.get(count..)?;
        is_number.then(|| digits.parse().ok())?
    }

    fn expect(&mut self, one_of: &[u8]) -> Option<()> {
        let first = self.0.bytes().next()?;
        one_of.contains(&first).then(|| self.0 = &self.0[1..])
    }

    /// The digits after a point, as milliseconds; what is finer is cut off.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        if count == 0 || count > 9 {
            return None;
        }
        let weights = [100, 10, 1];
        let milliseconds = digits.bytes().zip(weights);
        Some(
            milliseconds
                .map(|(digit, weight)| i64::from(digit - b'0') * weight)
                .sum(),
        )
    }
}

/// Reads `-1h`, `+90s`, `-500ms`, `-7d`, `-2w` as milliseconds.
pub(super) fn parse_span(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+'])?;
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = unsigned.split_at(digits);
    let number: i64 = number.parse().ok()?;
    let unit = match unit {
        "ms" => 1,
        "s" => SECOND,
        "m" | "min" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        "w" => 7 * DAY,
        _ => return None,
    };
    let span = number.checked_mul(unit)?;
    Some(if text.starts_with('-') { -span } else { span })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (text, time_ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
            ("0000-01-01T00:00:00Z", FIRST_MS),
            ("9999-12-31T23:59:59.999Z", END_MS - 1),
        ] {
            assert_eq!(parse_time(text), Some(time_ms), "{text}");
            assert_eq!(TimeText(time_ms).to_string(), text);
        }
        assert_eq!(TimeText(END_MS).to_string(), "@253402300800000");
        assert_eq!(TimeText(i64::MIN).to_string(), "@-9223372036854775808");
    }

    #[test]
    fn a_time_may_be_short_or_elsewhere() {
        for text in [
            "2023-11-14T22:13:00Z",
            "2023-11-14t22:13z",
            "2023-11-14T23:13:00+01:00",
            "2023-11-14T20:43:00.000-01:30",
        ] {
            assert_eq!(parse_time(text), Some(1_699_999_980_000), "{text}");
        }
        assert_eq!(parse_time("2023-11-14"), Some(1_699_920_000_000));
        assert_eq!(parse_time("1970-01-01T00:00:00.123999Z"), Some(123));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2023",
            "2023-11",
            "2023-13-01",
            "2023-02-29",
            "2023-00-01",
            "2023-01-00",
            "2023-11-14T",
            "2023-11-14T24:00:00Z",
            "2023-11-14T23:60:00Z",
            "2023-11-14T23:59:60Z",
            "2023-11-14T23:59:59",
            "2023-11-14T23:59:59.Z",
            "2023-11-14T23:59:59Zx",
            "2023-11-14T23:59:59+1:00",
            "２０２３-11-14",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn spans_have_a_sign_and_a_unit() {
        assert_eq!(parse_span("-1h"), Some(-3_600_000));
        assert_eq!(parse_span("+7d"), Some(604_800_000));
        assert_eq!(parse_span("-500ms"), Some(-500));
        assert_eq!(parse_span("-2w"), Some(-1_209_600_000));
        for text in [
            "1h",
            "-h",
            "-1",
            "-1y",
            "--1h",
            "-99999999999999999999d",
            "-999999999999999d",
        ] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}

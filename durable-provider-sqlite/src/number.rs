//! Numbers of the contract are `u64`, those of SQLite `i64`. What is larger than an
//! `i64` is stored as the largest: a time that never comes, an id that is never given.

/// A number as SQLite stores it.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that SQLite stored. A negative one was never written here.
pub(crate) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A count that SQLite stored.
pub(crate) fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A number of rows to read at most.
pub(crate) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_the_largest() {
        assert_eq!(int(7), 7);
        assert_eq!(int(u64::MAX), i64::MAX);
        assert_eq!(uint(int(u64::MAX)), i64::MAX as u64);
        assert_eq!(uint(-1), 0);
        assert_eq!(limit(usize::MAX), i64::MAX);
    }
}

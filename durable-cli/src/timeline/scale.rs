//! The axis of a picture: which times are written under it.

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Distances between ticks that people read easily.
const STEPS: &[u64] = &[
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    100 * DAY,
    365 * DAY,
];

/// Times from the beginning of the picture, at most `most` of them after the first.
pub(super) fn ticks(length_ms: u64, most: u64) -> impl Iterator<Item = u64> {
    let most = most.max(1);
    let step = STEPS
        .iter()
        .copied()
        .find(|step| length_ms / step <= most)
        .unwrap_or(length_ms / most + 1);
    (0..=length_ms / step).map(move |number| number * step)
}

/// The place of a moment on `cells` cells.
pub(super) fn place(at_ms: u64, begin_ms: u64, end_ms: u64, cells: usize) -> usize {
    let length = u128::from(end_ms.saturating_sub(begin_ms).max(1));
    let offset = u128::from(at_ms.min(end_ms).saturating_sub(begin_ms));
    let last = cells.saturating_sub(1);
    let place = offset * last as u128 / length;
    usize::try_from(place).unwrap_or(last).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            ticks(3_400, 4).collect::<Vec<_>>(),
            [0, 1_000, 2_000, 3_000]
        );
        assert_eq!(ticks(0, 4).collect::<Vec<_>>(), [0]);
        for length in [1, 999, 86_400_000, 40 * 365 * DAY, u64::MAX / 2] {
            assert!(ticks(length, 5).count() <= 6, "{length}");
        }
    }

    #[test]
    fn places_stay_on_the_cells() {
        assert_eq!(place(0, 0, 100, 11), 0);
        assert_eq!(place(50, 0, 100, 11), 5);
        assert_eq!(place(100, 0, 100, 11), 10);
        assert_eq!(place(500, 0, 100, 11), 10);
        assert_eq!(place(7, 7, 7, 11), 0);
        assert_eq!(place(7, 0, 9, 0), 0);
    }
}

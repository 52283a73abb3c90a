//! "Did you mean …?"

/// The word that a mistyped one probably stands for.
pub(super) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|known| {
        !word.eq_ignore_ascii_case(known) && is_near(word.as_bytes(), known.as_bytes())
    })
}

/// Whether two words differ in one letter that is wrong, missing or too much, or in two
/// neighbours that changed places; or begin alike, if one is at least half of the other.
fn is_near(one: &[u8], other: &[u8]) -> bool {
    let (short, long) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    let is_same = |a: &[u8], b: &[u8]| a.eq_ignore_ascii_case(b);
    let common = short
        .iter()
        .zip(long)
        .take_while(|(a, b)| a.eq_ignore_ascii_case(b))
        .count();
    if common >= 3 && common == short.len() && long.len() <= 2 * short.len() {
        return true;
    }
    if short.len() < 3 {
        return false;
    }
    let (short_rest, long_rest) = (&short[common..], &long[common..]);
    match long.len() - short.len() {
        0 => {
            let is_one_wrong = !short_rest.is_empty() && is_same(&short_rest[1..], &long_rest[1..]);
            let is_swapped = short_rest.len() >= 2
                && short_rest[0].eq_ignore_ascii_case(&long_rest[1])
                && short_rest[1].eq_ignore_ascii_case(&long_rest[0])
                && is_same(&short_rest[2..], &long_rest[2..]);
            is_one_wrong || is_swapped
        }
        1 => is_same(short_rest, &long_rest[1..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_by_one_mistake() {
        let known = ["failed", "completed", "running"];
        for (word, expected) in [
            ("faild", Some("failed")),
            ("failled", Some("failed")),
            ("fialed", Some("failed")),
            ("FAILEE", Some("failed")),
            ("fail", Some("failed")),
            ("complete", Some("completed")),
            ("failed", None),
            ("f", None),
            ("", None),
            ("waiting", None),
        ] {
            assert_eq!(closest(word, known), expected, "{word}");
        }
    }
}

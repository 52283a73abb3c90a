//! Rule: no Rust file is longer than [`MOST`] lines. The length of functions is
//! not looked at.

use super::Finding;

const MOST: usize = 600;

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let length = text.lines().count();
    if length <= MOST {
        return Vec::new();
    }
    let problem = format!("is {length} lines long, more than {MOST}: split it by subject");
    vec![Finding::new(path, MOST + 1, problem)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_at_the_limit_passes() {
        assert_eq!(check("a.rs", &"\n".repeat(MOST)), []);
    }

    #[test]
    fn a_longer_file_is_found() {
        assert_eq!(check("a.rs", &"\n".repeat(MOST + 1))[0].line, MOST + 1);
    }
}

//! Rule: every Rust file opens with `//!`, which says what the file does and does
//! not do. Whether it says it well is for the reviewer.

use super::Finding;

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("//!") {
        Some(summary) if !summary.trim().is_empty() => Vec::new(),
        _ => vec![Finding::new(
            path,
            1,
            "does not open with `//!`: say in the first line what the file is for",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_opens_with_its_purpose_passes() {
        assert_eq!(check("a.rs", "//! Timers.\n\nfn f() {}\n"), []);
    }

    #[test]
    fn a_file_that_opens_otherwise_is_found() {
        for text in ["", "fn f() {}\n", "\n//! Late.\n", "//!\n", "// Plain.\n"] {
            assert_eq!(check("a.rs", text).len(), 1, "{text:?}");
        }
    }
}

//! Rules about attributes: no test is ignored, and no lint is allowed for a whole
//! file or crate. Allowing a lint for one item is left to clippy and the reviewer.

use super::Finding;
use super::source::{self, Kind};

pub(super) fn ignored_tests(path: &str, text: &str) -> Vec<Finding> {
    let is_ignored = |line: &str| line.contains("#[ignore") || line.contains(", ignore)]");
    find(
        path,
        text,
        is_ignored,
        "ignores a test: make it pass, or take it out",
    )
}

pub(super) fn crate_wide_allow(path: &str, text: &str) -> Vec<Finding> {
    let is_allow = |line: &str| line.trim_start().starts_with("#![") && line.contains("allow(");
    let problem = "allows a lint for everything below: mend the cause, \
                   or put `#[expect(…, reason = \"…\")]` on the one item";
    find(path, text, is_allow, problem)
}

fn find(path: &str, text: &str, is_wrong: fn(&str) -> bool, problem: &str) -> Vec<Finding> {
    source::lines(text, Kind::Code)
        .filter(|(_, line)| is_wrong(line))
        .map(|(number, _)| Finding::new(path, number, problem))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_runs_passes() {
        let text = "#[test]\nfn f(a: u8, ignore: u8) {} // not #[ignore]d\n";
        assert_eq!(ignored_tests("a.rs", text), []);
    }

    #[test]
    fn an_ignored_test_is_found() {
        for attribute in [
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[cfg_attr(miri, ignore)]",
        ] {
            let text = format!("#[test]\n{attribute}\nfn f() {{}}\n");
            assert_eq!(ignored_tests("a.rs", &text)[0].line, 2);
        }
    }

    #[test]
    fn other_attributes_of_the_crate_pass() {
        let text = "#![no_std]\n#[allow(dead_code)]\nfn f() {}\n";
        assert_eq!(crate_wide_allow("a.rs", text), []);
    }

    #[test]
    fn a_crate_wide_allow_is_found() {
        for attribute in [
            "#![allow(dead_code)]",
            "#![cfg_attr(test, allow(dead_code))]",
        ] {
            let text = format!("//! A crate.\n{attribute}\n");
            assert_eq!(crate_wide_allow("a.rs", &text)[0].line, 2);
        }
    }
}

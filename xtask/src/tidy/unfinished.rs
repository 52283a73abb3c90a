//! Rule: nothing is committed unfinished, neither as a placeholder macro in code
//! nor as a marker in a comment. Plain words about later work are not looked for.

use super::Finding;
use super::source::{self, Kind};

const MACROS: [&str; 2] = ["todo!", "unimplemented!"];
const MARKERS: [&str; 2] = ["FIXME", "XXX"];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let code = named(text, Kind::Code, &MACROS);
    let comments = named(text, Kind::Comment, &MARKERS);
    code.chain(comments)
        .map(|(line, name)| {
            let problem = format!("`{name}` marks unfinished work: finish it or take it out");
            Finding::new(path, line, problem)
        })
        .collect()
}

/// Where one of the words stands in the pieces of that kind.
fn named<'a>(
    text: &'a str,
    kind: Kind,
    words: &'a [&str],
) -> impl Iterator<Item = (usize, &'a str)> {
    source::lines(text, kind).flat_map(move |(number, line)| {
        let found = words.iter().filter(|word| source::has_word(line, word));
        found.map(|word| (number, *word)).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_code_passes_and_so_do_words_in_strings() {
        let text = "// nothing to do\nfn f() -> &'static str { \"todo!() FIXME\" }\n";
        assert_eq!(check("a.rs", text), []);
    }

    #[test]
    fn placeholders_and_markers_are_found_with_their_lines() {
        let text =
            "fn f() {\n    todo!()\n}\n// FIXME: later\nfn g() { unimplemented!(\"no\") } // XXX\n";
        let lines: Vec<usize> = check("a.rs", text).iter().map(|found| found.line).collect();
        assert_eq!(lines, [2, 5, 4, 5]);
    }
}

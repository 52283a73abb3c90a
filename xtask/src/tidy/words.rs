//! Rule: prose names the actor (the node, the caller, the provider) and not a stand-in for
//! one. It looks at Rust sources and pages, at names too, and leaves the changelog alone.

use super::Finding;

/// What the rule is applied to: files below these folders, and these files. The rest of
/// the repository is not clean yet; what becomes clean is added here.
const CLEAN: &[&str] = &[
    "README.md",
    "benchmarks/",
    "docs/",
    "durable-cli/",
    "durable-core/src/",
    "durable-provider-redis/",
    "durable-provider-sqlite/",
    "durable-runtime/",
    "durable-testkit/",
    "examples/",
    "no-std-proof/",
    "xtask/",
];

/// Written in two parts each, or the rule would find itself.
const VAGUE: [&str; 3] = [
    concat!("who", "ever"),
    concat!("some", "body"),
    concat!("no", "body"),
];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_clean = CLEAN.iter().any(|prefix| path.starts_with(prefix));
    if !is_clean || path.ends_with("CHANGELOG.md") {
        return Vec::new();
    }
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(number, line)| {
            vague_words(line).map(move |word| {
                let problem = format!("says `{word}`: name the node, the caller, the provider, …");
                Finding::new(path, number, problem)
            })
        })
        .collect()
}

/// The vague words of a line; the parts of a name in snake case count as words.
fn vague_words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphabetic());
    words.filter(|word| VAGUE.iter().any(|vague| word.eq_ignore_ascii_case(vague)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_other_folders_and_the_changelog_pass() {
        assert_eq!(
            check("xtask/src/a.rs", "// The caller waits; anybodys.\n"),
            []
        );
        let vague = format!("// {} waits.\n", VAGUE[0]);
        assert_eq!(check("elsewhere/src/a.rs", &vague), []);
        assert_eq!(check("xtask/CHANGELOG.md", &vague), []);
    }

    #[test]
    fn a_vague_word_is_found_with_its_line_in_prose_and_in_names() {
        for word in VAGUE {
            let text = format!("//! A file.\n/// {} waits.\n", word.to_uppercase());
            let found = check("xtask/src/a.rs", &text);
            assert_eq!((found.len(), found[0].line), (1, 2), "{word}");
            let text = format!("fn that_{word}_calls() {{}}\n");
            assert_eq!(check("xtask/src/a.rs", &text).len(), 1, "{word}");
        }
    }
}

//! `cargo xtask tidy`: the project's own rules about its sources, those that neither
//! the compiler nor clippy knows.
//!
//! Each rule is a pure function from a path and a text to findings, in a file of
//! its own; one also needs to know which files there are. The files are those that git tracks or would track; files that are
//! not text are passed over. Nothing is mended here.

mod attributes;
mod codec;
mod embedded;
mod header;
mod length;
mod machine_path;
pub(crate) mod manifest;
mod paths;
mod source;
mod unfinished;
mod words;

use std::fmt;
use std::fs;
use std::io;

use crate::error::Error;
use crate::report;
use crate::workspace::Workspace;
use paths::Tree;

/// Something that a rule objects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    /// What is wrong and how to mend it.
    problem: String,
}

/// A rule: the path is relative to the root and written with `/`.
type Rule = fn(path: &str, text: &str) -> Vec<Finding>;

const FOR_TEXT: &[Rule] = &[machine_path::check];
const FOR_MANIFESTS: &[Rule] = &[
    manifest::lints,
    manifest::dependencies,
    manifest::dev_siblings,
    manifest::feature_comments,
    manifest::default_without_proptest,
];
const FOR_PAGES: &[Rule] = &[words::check];
const FOR_RUST: &[Rule] = &[
    header::check,
    length::check,
    unfinished::check,
    attributes::ignored_tests,
    attributes::crate_wide_allow,
    embedded::sql,
    embedded::lua,
    codec::check,
    words::check,
];

/// Prints the findings; there being any is an error.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::UnexpectedArgument {
            command: "tidy",
            argument: (*argument).to_owned(),
        });
    }
    let findings = findings(&Workspace::find()?)?;
    if findings.is_empty() {
        report::line("tidy: nothing found");
        return Ok(());
    }
    findings.iter().for_each(report::line);
    Err(Error::Untidy {
        findings: findings.len(),
    })
}

/// Applies every rule to every file it is for.
pub(crate) fn findings(workspace: &Workspace) -> Result<Vec<Finding>, Error> {
    let mut files = workspace.files()?;
    // Git lists a tracked file that was deleted.
    files.retain(|path| workspace.root.join(path).exists());
    let mut tree = Tree::new(files.iter().map(String::as_str));
    let mut findings = Vec::new();
    let mut texts = Vec::with_capacity(files.len());
    for path in &files {
        if let Some(text) = read_text(workspace, path)? {
            findings.extend(check(path, &text));
            if path.ends_with(".rs") {
                tree.add_functions(path, &text);
            }
            texts.push((path, text));
        }
    }
    for (path, text) in &texts {
        findings.extend(paths::check(path, text, &tree));
    }
    Ok(findings)
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let particular = match path.rsplit('/').next() {
        Some("Cargo.lock") => return Vec::new(),
        Some("Cargo.toml") => FOR_MANIFESTS,
        Some(name) if name.ends_with(".rs") => FOR_RUST,
        Some(name) if name.ends_with(".md") => FOR_PAGES,
        _ => &[],
    };
    let rules = FOR_TEXT.iter().chain(particular);
    rules.flat_map(|rule| rule(path, text)).collect()
}

/// The contents of a file; `None` if it is not text, or tracked but deleted.
fn read_text(workspace: &Workspace, path: &str) -> Result<Option<String>, Error> {
    let path = workspace.root.join(path);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory | io::ErrorKind::NotFound => {
                Ok(None)
            }
            _ => Err(Error::File {
                path,
                source: error,
            }),
        },
    }
}

impl Finding {
    fn new(path: &str, line: usize, problem: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_path_line_and_problem() {
        let finding = Finding::new("a/b.rs", 7, "is wrong: mend it");
        assert_eq!(finding.to_string(), "a/b.rs:7: is wrong: mend it");
    }

    #[test]
    fn rules_apply_by_file_name() {
        assert_eq!(check("a/src/lib.rs", "fn f() {}\n").len(), 1);
        assert_eq!(check("a/notes.txt", "fn f() {}\n"), []);
        assert_eq!(check("a/Cargo.toml", "[package]\n").len(), 1);
        assert_eq!(check("Cargo.lock", "[package]\n"), []);
    }

    #[test]
    fn the_rules_do_not_object_to_their_own_source() {
        let workspace = Workspace::find().unwrap();
        let mut files = workspace.files().unwrap();
        files.retain(|path| path.starts_with("xtask/"));
        assert!(files.contains("xtask/src/tidy/mod.rs"));
        for path in files {
            let text = read_text(&workspace, &path).unwrap().unwrap();
            assert_eq!(check(&path, &text), []);
        }
    }
}

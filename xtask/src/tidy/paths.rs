//! Rule: every path, and every function by its path, that a page names exists. Pages are markdown files but the changelog,
//! which speaks of what was.
//!
//! What counts as a path:
//!
//! - A link to something in the repository, `[text](docs/page.md#part)`, relative to the
//!   folder of the page.
//! - A word in backticks with a `/` whose first part is a folder at the root of the
//!   repository or the name of a crate of ours: `xtask/src/main.rs`, `docs/`.
//! - In the first column of a table under a *base*, every word in backticks that ends with
//!   `/` or with the name of a kind of source file, relative to the base. The base is the
//!   folder with which the latest paragraph below a heading begins, in backticks and with a
//!   `/` at its end; a heading ends it.
//!
//! A path may name a function of a file, `xtask/src/main.rs::main`: then the file has it.
//!
//! Words with other characters than those of plain paths (`scripts/*.lua`, `{a,b}.rs`) and
//! everything in code blocks are left alone.

use std::collections::BTreeSet;

use super::Finding;

/// How the names of sources end, so that a name alone is a path in a table.
const SOURCES: [&str; 6] = [".lua", ".md", ".rs", ".sh", ".sql", ".toml"];

/// How the names of our crates begin: of a crate that is gone, too.
const CRATE: &str = "durable-";

/// The files of the repository and the folders that hold them, without a `/` at the end,
/// and the functions of the files, as `path::function`.
#[derive(Debug, Default)]
pub(super) struct Tree {
    paths: BTreeSet<String>,
}

impl Tree {
    /// A tree of these files.
    pub(super) fn new<'a>(files: impl IntoIterator<Item = &'a str>) -> Self {
        let mut paths = BTreeSet::new();
        for file in files {
            let folders = file.match_indices('/').map(|(at, _)| file[..at].to_owned());
            paths.extend(folders);
            paths.insert(file.to_owned());
        }
        Self { paths }
    }

    /// Adds the functions that a source defines.
    pub(super) fn add_functions(&mut self, path: &str, text: &str) {
        let names = text.split("fn ").skip(1).map(|rest| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
        });
        let functions = names.filter(|name| !name.is_empty());
        self.paths
            .extend(functions.map(|name| format!("{path}::{name}")));
    }

    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.paths.contains(path)
    }

    /// Whether a word with this first part speaks of the repository.
    fn is_root(&self, first: &str) -> bool {
        first.starts_with(CRATE) || self.paths.contains(first)
    }
}

pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    if !path.ends_with(".md") || path.ends_with("CHANGELOG.md") {
        return Vec::new();
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut page = Page::default();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !page.is_prose(line) {
            continue;
        }
        let linked = links(line).map(|link| joined(folder, link));
        let named = named(line, page.base, tree);
        for missing in linked.chain(named).filter(|path| !tree.has(path)) {
            let problem = format!("names `{missing}`, which does not exist: correct the path");
            findings.push(Finding::new(path, number, problem));
        }
    }
    findings
}

/// Where in a page a line stands.
#[derive(Debug, Default)]
struct Page<'a> {
    is_code: bool,
    /// The folder that tables are relative to.
    base: Option<&'a str>,
}

impl<'a> Page<'a> {
    /// Goes on to the next line; whether it is outside of code blocks.
    fn is_prose(&mut self, line: &'a str) -> bool {
        if line.trim_start().starts_with("```") {
            self.is_code = !self.is_code;
            return false;
        }
        if self.is_code {
            return false;
        }
        if line.starts_with('#') {
            self.base = None;
        }
        if line.starts_with('`') {
            let folder = ticked(line).next().filter(|word| word.ends_with('/'));
            self.base = folder.or(self.base);
        }
        true
    }
}

/// The paths that a line names in backticks, from the root of the repository.
fn named(line: &str, base: Option<&str>, tree: &Tree) -> Vec<String> {
    let of_root = |word: &&str| {
        let parts = word.split_once('/');
        parts.is_some_and(|(first, _)| tree.is_root(first))
    };
    let mut paths: Vec<String> = ticked(line).filter(of_root).map(str::to_owned).collect();
    if let (Some(base), Some(cell)) = (base, first_cell(line)) {
        let is_source = |word: &&str| SOURCES.iter().any(|end| word.ends_with(end));
        let relative = ticked(cell).filter(|word| !of_root(word));
        let sources = relative.filter(|word| word.ends_with('/') || is_source(word));
        paths.extend(sources.map(|word| joined(base, word)));
    }
    paths
}

/// The first column of a row of a table.
fn first_cell(line: &str) -> Option<&str> {
    line.strip_prefix('|')?.split('|').next()
}

/// The words in backticks that are written like plain paths.
fn ticked(line: &str) -> impl Iterator<Item = &str> {
    let is_plain = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        !word.is_empty() && word.chars().all(is_part)
    };
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(move |word| is_plain(word))
}

/// The targets of links that lead into the repository, without the part after `#`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains(':'))
}

/// A path relative to a folder, from the root; `..` leads up.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let files = ["README.md", "docs/a.md", "durable-core/src/event/mod.rs"];
        let mut tree = Tree::new(files);
        tree.add_functions(
            files[2],
            "impl A {\n    pub(crate) async fn visit<T>(&self) {}\n}\n",
        );
        let findings = check(path, text, &tree);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn paths_that_exist_and_words_that_are_no_paths_pass() {
        let text = "`durable-core/src/event/` and `durable-core/src/event/mod.rs`.\n\
                    `src/main.rs`, `mod.rs`, `a/b`, `durable-core/src/*.lua`, `and/or`\n\
                    [a](docs/a.md#part) [b](https://example.org/x) [c](#part)\n\
                    ```text\n`docs/gone.md`\n```\n";
        assert_eq!(lines("README.md", text), []);
        assert_eq!(lines("docs/a.md", "[up](../README.md) [a](a.md)\n"), []);
    }

    #[test]
    fn a_function_is_found_in_its_file() {
        let text = "`durable-core/src/event/mod.rs::visit`\n\
                    `durable-core/src/event/mod.rs::visits`, `docs/a.md::visit`\n\
                    `provider::visit`\n";
        assert_eq!(lines("README.md", text), [2, 2]);
    }

    #[test]
    fn a_path_that_is_gone_is_found_with_its_line() {
        for named in ["`docs/gone.md`", "`durable-gone/src/`", "[a](docs/gone.md)"] {
            assert_eq!(
                lines("README.md", &format!("\nsee {named}\n")),
                [2],
                "{named}"
            );
        }
        assert_eq!(lines("docs/a.md", "[a](docs/a.md)\n"), [1]);
    }

    #[test]
    fn the_changelog_and_sources_may_name_what_is_gone() {
        assert_eq!(lines("CHANGELOG.md", "`docs/gone.md`\n"), []);
        assert_eq!(lines("xtask/src/a.rs", "// `docs/gone.md`\n"), []);
    }

    #[test]
    fn the_first_column_of_a_table_is_relative_to_its_base() {
        let table = "| path | what |\n|---|---|\n| `event/`, `event/mod.rs` | `Event`, `x.rs` |\n\
                     | `gone.rs` | gone |\n| `Gone` | a type |\n";
        let page = format!("# A\n\n`durable-core/src/`. What is there.\n\n{table}");
        assert_eq!(lines("README.md", &page), [8]);
        let under_another_heading = format!("# A\n\n`durable-core/src/`.\n\n# B\n\n{table}");
        assert_eq!(lines("README.md", &under_another_heading), []);
    }
}

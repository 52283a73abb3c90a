//! Rules about `Cargo.toml`: a crate takes the lints of the workspace, and the
//! versions of dependencies stand in `[workspace.dependencies]` alone.
//!
//! The file is read line by line, which is enough for the way manifests are
//! written; that it is valid TOML is cargo's business.

use super::Finding;

/// Outside the workspace, with the reason in each manifest: the proof needs `unsafe` for
/// its allocator, and neither it nor the benchmarks may share the features and the
/// dependencies of the workspace.
const EXEMPT: [&str; 2] = ["no-std-proof/", "benchmarks/"];

pub(super) fn lints(path: &str, text: &str) -> Vec<Finding> {
    let is_package = text.lines().any(|line| line.trim() == "[package]");
    let has_lints = entries(text).any(|entry| {
        entry.value == "true"
            && matches!(
                (entry.section, entry.key),
                ("lints", "workspace") | ("", "lints.workspace")
            )
    });
    if !is_package || has_lints || is_exempt(path) {
        return Vec::new();
    }
    let problem = "does not take the workspace's lints: add `[lints]` with `workspace = true`";
    vec![Finding::new(path, 1, problem)]
}

pub(super) fn dependencies(path: &str, text: &str) -> Vec<Finding> {
    if is_exempt(path) {
        return Vec::new();
    }
    entries(text)
        .filter(Entry::sets_a_version)
        .map(|entry| {
            let problem = format!(
                "`{}` sets its own version: name it in `[workspace.dependencies]` of the root \
                 and write `workspace = true` here",
                entry.dependency()
            );
            Finding::new(path, entry.line, problem)
        })
        .collect()
}

fn is_exempt(path: &str) -> bool {
    EXEMPT.iter().any(|folder| path.starts_with(folder))
}

/// A line `key = value` and the section it stands in.
struct Entry<'a> {
    line: usize,
    section: &'a str,
    key: &'a str,
    value: &'a str,
}

impl<'a> Entry<'a> {
    /// In a list of dependencies: neither from the workspace nor by path, or with a
    /// version besides. In the table of one dependency: the version.
    fn sets_a_version(&self) -> bool {
        if self.section.starts_with("workspace.") {
            return false;
        }
        if self.section.contains("dependencies.") {
            return self.key == "version";
        }
        let whole = format!("{}={}", self.key, self.value).replace(' ', "");
        let is_elsewhere = whole.contains("workspace=true") || whole.contains("path=");
        self.section.ends_with("dependencies") && (!is_elsewhere || whole.contains("version="))
    }

    fn dependency(&self) -> &'a str {
        let table = self.section.split_once("dependencies.");
        table.map_or(self.key, |(_, name)| name)
    }
}

fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut section = "";
    (1..).zip(text.lines()).filter_map(move |(line, content)| {
        let content = content.split(" #").next().unwrap_or_default().trim();
        if content.starts_with('[') {
            section = content.trim_matches(['[', ']']);
            return None;
        }
        let (key, value) = content.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        Some(Entry {
            line,
            section,
            key,
            value,
        })
        .filter(|_| !key.starts_with('#'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER: &str = "a/Cargo.toml";

    #[test]
    fn a_crate_with_the_lints_of_the_workspace_passes() {
        let text = "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n";
        assert_eq!(lints(MEMBER, text), []);
        assert_eq!(lints("Cargo.toml", "[workspace]\n"), []);
        assert_eq!(lints("no-std-proof/Cargo.toml", "[package]\n"), []);
    }

    #[test]
    fn a_crate_without_them_is_found() {
        let text = "[package]\nname = \"a\"\n\n[lints.rust]\nunsafe_code = \"allow\"\n";
        assert_eq!(lints(MEMBER, text).len(), 1);
    }

    #[test]
    fn dependencies_of_the_workspace_or_by_path_pass() {
        let text = "[package]\nversion = \"1.0.0\"\n\n[dependencies]\n# b = \"1\"\n\
                    serde = { workspace = true, features = [\n    \"rc\",\n] }\n\
                    slab.workspace = true\nb = { path = \"../b\" }\n\n\
                    [dev-dependencies.c]\nworkspace = true\n";
        assert_eq!(dependencies(MEMBER, text), []);
        let root = "[workspace.dependencies]\nserde = \"1\"\n";
        assert_eq!(dependencies("Cargo.toml", root), []);
    }

    #[test]
    fn a_version_in_a_member_is_found() {
        for text in [
            "[dependencies]\nserde = \"1\"\n",
            "[dev-dependencies]\nserde = { version = \"1\" } # not path = \n",
            "[target.'cfg(unix)'.dependencies]\nserde = { path = \"s\", version = \"1\" }\n",
            "[dependencies.serde]\nversion = \"1\"\n",
        ] {
            let found = dependencies(MEMBER, text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].line, 2);
            assert!(found[0].problem.starts_with("`serde`"));
        }
    }
}

//! Rules about `Cargo.toml`: a crate takes the lints of the workspace; the versions of
//! dependencies stand in `[workspace.dependencies]` alone; crates of the workspace are
//! dev-dependencies by path alone; a feature says who needs it; and the testkit's default
//! build does without proptest.
//!
//! The file is read line by line, which is enough for the way manifests are
//! written; that it is valid TOML is cargo's business.

use super::Finding;

/// Outside the workspace, with the reason in each manifest: the proof needs `unsafe` for
/// its allocator, and neither it nor the benchmarks may share the features and the
/// dependencies of the workspace.
const EXEMPT: [&str; 2] = ["no-std-proof/", "benchmarks/"];

const TESTKIT: &str = "durable-testkit/Cargo.toml";

/// How the names of the crates of the workspace begin.
const SIBLING: &str = "durable-";

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

/// Cargo leaves a dev-dependency without a version out of what it publishes. With one, two
/// crates that test each other could not be published at all: each would have to be first.
pub(super) fn dev_siblings(path: &str, text: &str) -> Vec<Finding> {
    if is_exempt(path) {
        return Vec::new();
    }
    entries(text)
        .filter(Entry::is_dev_sibling_with_a_version)
        .map(|entry| {
            let name = entry.dependency();
            let problem = format!(
                "the dev-dependency `{name}` has a version, so that it could not be published: \
                 write `{name} = {{ path = \"../{name}\" }}`"
            );
            Finding::new(path, entry.line, problem)
        })
        .collect()
}

pub(super) fn feature_comments(path: &str, text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_commented = |line: usize| {
        let above = line.checked_sub(2).and_then(|index| lines.get(index));
        above.is_some_and(|line| line.starts_with('#'))
    };
    entries(text)
        .filter(|entry| entry.section == "features" && entry.key != "default")
        .filter(|entry| !is_commented(entry.line))
        .map(|entry| {
            let problem = format!("the feature `{}` does not say who needs it", entry.key);
            Finding::new(
                path,
                entry.line,
                format!("{problem}: put a comment above it"),
            )
        })
        .collect()
}

/// Users of the testkit who write no property tests do not compile proptest.
pub(super) fn default_without_proptest(path: &str, text: &str) -> Vec<Finding> {
    let mut entries = entries(text);
    let is_proptest =
        |entry: &Entry<'_>| (entry.section, entry.key) == ("dependencies", "proptest");
    let Some(entry) = entries.find(is_proptest) else {
        return Vec::new();
    };
    let is_optional = entry.value.replace(' ', "").contains("optional=true");
    if path != TESTKIT || (is_optional && !turns_on(text, "default", "proptest")) {
        return Vec::new();
    }
    let problem = "the default build depends on `proptest`: make it optional, and turn it on \
                   with the features that need it";
    vec![Finding::new(path, entry.line, problem)]
}

/// Whether a feature turns a dependency on, by itself or through other features.
fn turns_on(text: &str, feature: &str, dependency: &str) -> bool {
    let asked = features(text).find(|(name, _)| *name == feature);
    asked.is_some_and(|(_, list)| {
        list.split(['[', ']', ',', '"', ' '])
            .filter(|item| !item.is_empty())
            .any(|item| {
                let name = item.trim_start_matches("dep:");
                name.split('/').next() == Some(dependency) || turns_on(text, item, dependency)
            })
    })
}

/// The features of a crate, each with what it turns on.
pub(crate) fn features(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let entries = entries(text).filter(|entry| entry.section == "features");
    entries.map(|entry| (entry.key, entry.value))
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

    /// From the workspace, where it has a version, or with a version of its own.
    fn is_dev_sibling_with_a_version(&self) -> bool {
        let is_dev = self
            .section
            .split('.')
            .any(|part| part == "dev-dependencies");
        if !is_dev || !self.dependency().starts_with(SIBLING) {
            return false;
        }
        let whole = format!("{}={}", self.key, self.value).replace(' ', "");
        whole.contains("workspace=true") || whole.contains("version=")
    }

    fn dependency(&self) -> &'a str {
        let table = self.section.split_once("dependencies.");
        let name = table.map_or(self.key, |(_, name)| name);
        name.split('.').next().unwrap_or(name)
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

    #[test]
    fn a_sibling_by_path_and_a_version_from_elsewhere_pass() {
        let text = "[dependencies]\ndurable-a = { workspace = true }\n\n[dev-dependencies]\n\
                    durable-b = { path = \"../durable-b\", features = [\"c\"] }\n\
                    tempfile = { workspace = true }\n";
        assert_eq!(dev_siblings(MEMBER, text), []);
    }

    #[test]
    fn a_sibling_with_a_version_is_found_among_dev_dependencies() {
        for text in [
            "[dev-dependencies]\ndurable-a = { workspace = true }\n",
            "[dev-dependencies]\ndurable-a.workspace = true\n",
            "[dev-dependencies]\ndurable-a = { path = \"../durable-a\", version = \"1\" }\n",
            "[dev-dependencies.durable-a]\nworkspace = true\n",
            "[target.'cfg(unix)'.dev-dependencies]\ndurable-a = { workspace = true }\n",
        ] {
            let found = dev_siblings(MEMBER, text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].line, 2);
            assert!(found[0].problem.contains("`durable-a`"), "{text}");
        }
    }

    #[test]
    fn a_feature_without_a_comment_is_found() {
        let text = "[features]\ndefault = []\n# For users.\na = []\nb = []\n";
        let lines: Vec<usize> = feature_comments(MEMBER, text)
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(lines, [5]);
    }

    #[test]
    fn the_testkit_may_turn_proptest_on_by_a_feature_that_is_not_the_default() {
        let optional = "proptest = { workspace = true, optional = true }\n";
        let text = format!(
            "[features]\ndefault = [\"a\"]\na = []\nb = [\"dep:proptest\"]\n\n\
             [dependencies]\n{optional}"
        );
        assert_eq!(default_without_proptest(TESTKIT, &text), []);
        let plain = "[dependencies]\nproptest = { workspace = true }\n";
        assert_eq!(default_without_proptest(MEMBER, plain), []);
        assert_eq!(default_without_proptest(TESTKIT, plain).len(), 1);
        let through_another = text.replace("a = []", "a = [\"b\"]");
        assert_eq!(default_without_proptest(TESTKIT, &through_another).len(), 1);
    }
}

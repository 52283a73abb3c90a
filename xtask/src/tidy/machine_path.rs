//! Rule: no path of one machine (a home directory, a working directory)
//! stands in the repository. It looks at every text file but lock files.

use super::Finding;

/// Directories at the root of a file system that hold what is private to a machine.
const PRIVATE: [&str; 4] = ["home", "root", "work", "Users"];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let problem = "names a path of one machine: make it relative, or take it out";
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| has_private_path(line))
        .map(|(number, _)| Finding::new(path, number, problem))
        .collect()
}

fn has_private_path(line: &str) -> bool {
    has_windows_home(line)
        || PRIVATE
            .iter()
            .any(|name| has_root(line, &format!("/{name}/")))
}

/// Whether an absolute path begins so; `src/work/` and `example.org/work/` are none.
fn has_root(line: &str, directory: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "_-.~})*".contains(c);
    line.match_indices(directory)
        .any(|(at, _)| !line[..at].ends_with(continues))
}

fn has_windows_home(line: &str) -> bool {
    line.match_indices(":\\")
        .any(|(at, _)| line[at + 1..].trim_start_matches('\\').starts_with("Users"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_and_addresses_pass() {
        let text = "src/work/mod.rs ./root/a https://example.org/home/a {dir}/work/b /tmp/c";
        assert_eq!(check("a.md", text), []);
    }

    #[test]
    fn paths_of_a_machine_are_found_with_their_lines() {
        for name in PRIVATE {
            let text = format!("first\nsee `/{name}/ann/notes`\n");
            assert_eq!(check("a.md", &text)[0].line, 2, "{name}");
        }
        for separator in ["\\", "\\\\"] {
            let text = format!("C:{separator}Users{separator}ann");
            assert_eq!(check("a.md", &text).len(), 1);
        }
    }
}

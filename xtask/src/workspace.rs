//! Where the workspace is, and which files are its own.
//!
//! It reads no file contents.
//!
//! Invariant: paths of files are relative to the root and written with `/`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::process::Invocation;

/// The workspace that this binary belongs to.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Finds the workspace: from the crate that cargo runs, else from the current directory.
    pub(crate) fn find() -> Result<Self, Error> {
        let start = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .or_else(|| env::current_dir().ok())
            .ok_or(Error::NoWorkspace)?;
        start
            .ancestors()
            .find(|directory| directory.join("xtask/Cargo.toml").is_file())
            .map(|root| Self {
                root: root.to_owned(),
            })
            .ok_or(Error::NoWorkspace)
    }

    /// A directory inside cargo's target directory, relative to the root where it can be.
    pub(crate) fn target(&self, name: &str) -> String {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join(name).to_string_lossy().into_owned()
    }

    /// The files that git tracks or would track; outside a git checkout, all but `target` folders.
    pub(crate) fn files(&self) -> Result<BTreeSet<String>, Error> {
        let listing = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        if let Some(names) = Invocation::git(&listing).answer(&self.root) {
            let names = names.split('\0').filter(|name| !name.is_empty());
            return Ok(names.map(str::to_owned).collect());
        }
        let mut files = BTreeSet::new();
        walk(&self.root, "", &mut files)?;
        Ok(files)
    }
}

/// Adds the files below `root/directory`; `directory` is empty or ends with `/`.
fn walk(root: &Path, directory: &str, files: &mut BTreeSet<String>) -> Result<(), Error> {
    let path = root.join(directory);
    let unreadable = |source: io::Error| Error::File {
        path: path.clone(),
        source,
    };
    for entry in fs::read_dir(&path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_directory = entry.file_type().map_err(unreadable)?.is_dir();
        if !is_directory {
            files.insert(format!("{directory}{name}"));
        } else if !matches!(name.as_str(), ".git" | "target") {
            walk(root, &format!("{directory}{name}/"), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_files_are_found_with_git_and_without() {
        let workspace = Workspace::find().unwrap();
        let mut walked = BTreeSet::new();
        walk(&workspace.root, "", &mut walked).unwrap();
        for files in [workspace.files().unwrap(), walked] {
            assert!(files.contains("xtask/src/workspace.rs"));
            assert!(!files.iter().any(|file| file.starts_with("target/")));
        }
    }
}

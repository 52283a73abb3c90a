//! The golden files: bytes that some release has written, as hexadecimal text, and
//! beside each the entry that they stand for, as JSON.
//!
//! A file is named `<kind>.r<revision>[.<variant>].hex`. Files are added and never
//! changed: with `DURABLE_WRITE_GOLDEN=1` in the environment those are written
//! that the samples ask for and that do not exist.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use durable_core::{HistoryEntry, encode_entry};

use super::envelope::REVISION_AT;
use super::samples::{Sample, samples};

/// One golden file and its JSON.
#[derive(Debug)]
pub(crate) struct Golden {
    pub(crate) kind: String,
    pub(crate) revision: u8,
    pub(crate) bytes: Vec<u8>,
    pub(crate) json: String,
}

/// All golden files by name, without their extension.
pub(crate) fn goldens() -> &'static BTreeMap<String, Golden> {
    static GOLDENS: LazyLock<BTreeMap<String, Golden>> = LazyLock::new(|| {
        if std::env::var_os("DURABLE_WRITE_GOLDEN").is_some_and(|value| value == "1") {
            write_missing();
        }
        names_with("hex")
            .map(|name| {
                let golden = load(&name);
                (name, golden)
            })
            .collect()
    });
    &GOLDENS
}

/// The names of the golden files with this extension.
pub(crate) fn names_with(extension: &'static str) -> impl Iterator<Item = String> {
    let files = fs::read_dir(directory()).expect("tests/golden can be read");
    files
        .map(|file| file.expect("tests/golden can be listed").path())
        .filter(move |path| path.extension() == Some(OsStr::new(extension)))
        .map(|path| {
            let name = path.file_stem().and_then(OsStr::to_str);
            name.expect("golden files have plain names").to_owned()
        })
}

/// The name of the golden file of a sample in the revision that is written today.
pub(crate) fn name_of(sample: &Sample) -> String {
    let kind = sample.entry.event.kind();
    let revision = current_revision(&sample.entry);
    match sample.variant {
        Some(variant) => format!("{kind}.r{revision}.{variant}"),
        None => format!("{kind}.r{revision}"),
    }
}

/// The revision in which an entry is written today.
pub(crate) fn current_revision(entry: &HistoryEntry) -> u8 {
    encode_entry(entry).expect("samples can be encoded")[REVISION_AT]
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn load(name: &str) -> Golden {
    let mut parts = name.split('.');
    let (Some(kind), Some(revision)) = (parts.next(), parts.next()) else {
        panic!("{name} is not named <kind>.r<revision>[.<variant>]");
    };
    let revision = revision
        .strip_prefix('r')
        .and_then(|number| number.parse().ok());
    let read = |extension: &str| {
        let path = directory().join(format!("{name}.{extension}"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    Golden {
        kind: kind.to_owned(),
        revision: revision.unwrap_or_else(|| panic!("{name} has no revision")),
        bytes: from_hex(&read("hex")).unwrap_or_else(|| panic!("{name}.hex is not hexadecimal")),
        json: read("json"),
    }
}

fn write_missing() {
    for sample in samples() {
        let name = name_of(&sample);
        let bytes = encode_entry(&sample.entry).expect("samples can be encoded");
        let json = serde_json::to_string_pretty(&sample.entry).expect("samples are JSON");
        write_new(&directory().join(format!("{name}.hex")), &to_hex(&bytes));
        write_new(
            &directory().join(format!("{name}.json")),
            &format!("{json}\n"),
        );
    }
}

/// Writes a file unless it exists.
pub(crate) fn write_new(path: &Path, content: &str) {
    match fs::File::create_new(path).and_then(|mut file| file.write_all(content.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        result => result.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    }
}

/// Hexadecimal text, 64 digits to a line.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(32) {
        text.extend(line.iter().map(|byte| format!("{byte:02x}")));
        text.push('\n');
    }
    text
}

/// The bytes of hexadecimal text.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

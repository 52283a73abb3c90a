//! Rules: SQL and Lua live in files of their own, loaded with `include_str!`, where
//! editors and people can read them.
//!
//! For SQL it is a heuristic: a string of several lines in a provider's sources
//! that holds a statement. A short statement on one line may stay with its code.

use super::Finding;
use super::source::{self, Kind};

const STATEMENTS: [&str; 9] = [
    "CREATE TABLE",
    "CREATE INDEX",
    "CREATE UNIQUE INDEX",
    "CREATE TRIGGER",
    "ALTER TABLE",
    "INSERT INTO",
    "DELETE FROM",
    "UPDATE ",
    "SELECT ",
];

/// Written in two parts, or the rule would find itself.
const LUA_CALL: &str = concat!("redis", ".call(");

pub(super) fn sql(path: &str, text: &str) -> Vec<Finding> {
    if !(path.starts_with("durable-provider-") && path.contains("/src/")) {
        return Vec::new();
    }
    let is_statement = |text: &str| {
        text.trim_end().contains('\n') && STATEMENTS.iter().any(|opening| text.contains(opening))
    };
    find(
        path,
        text,
        is_statement,
        "has SQL of several lines: move it to a `.sql` file",
    )
}

pub(super) fn lua(path: &str, text: &str) -> Vec<Finding> {
    let is_script = |text: &str| text.contains(LUA_CALL);
    find(
        path,
        text,
        is_script,
        "has a Lua script: move it to a `.lua` file",
    )
}

fn find(path: &str, text: &str, is_foreign: fn(&str) -> bool, problem: &str) -> Vec<Finding> {
    source::pieces(text)
        .into_iter()
        .filter(|piece| piece.kind == Kind::Literal && is_foreign(piece.text))
        .map(|piece| Finding::new(path, piece.line, format!("{problem} and `include_str!` it")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDER: &str = "durable-provider-sqlite/src/schema.rs";
    const SCHEMA: &str = "//! Schema.\nconst SCHEMA: &str = \"\n  CREATE TABLE t (a)\n\";\n";

    #[test]
    fn sql_in_its_own_file_or_on_one_line_passes() {
        let text = "const A: &str = include_str!(\"a.sql\");\nconst B: &str = \"SELECT 1\";\n";
        assert_eq!(sql(PROVIDER, text), []);
        assert_eq!(sql("durable-core/src/lib.rs", SCHEMA), []);
    }

    #[test]
    fn sql_of_several_lines_is_found_where_it_begins() {
        assert_eq!(sql(PROVIDER, SCHEMA)[0].line, 2);
    }

    #[test]
    fn lua_in_its_own_file_passes() {
        let text = "const A: &str = include_str!(\"scripts/a.lua\");\n";
        assert_eq!(lua("a.rs", text), []);
    }

    #[test]
    fn a_lua_script_is_found() {
        let text = format!("\nconst A: &str = \"return {LUA_CALL}'TIME')\";\n");
        assert_eq!(lua("a.rs", &text)[0].line, 2);
    }
}

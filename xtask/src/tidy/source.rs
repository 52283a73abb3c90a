//! Rust source cut into code, comments and literals, so that a rule can look at
//! the part it is about: a word in a comment is not a call.
//!
//! This is not a parser: it knows where comments, strings and characters begin
//! and end, and nothing else of the language.
//!
//! Invariant: the pieces, put together again, are the source.

/// What a piece of source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Comment,
    Literal,
}

/// A longest stretch of one kind; one comment or literal each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) kind: Kind,
    /// The line it begins on, counted from 1.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// Cuts the source into pieces.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut line, mut rest) = (1, source);
    while !rest.is_empty() {
        let (kind, length) = first_piece(rest);
        let (text, tail) = rest.split_at(length);
        pieces.push(Piece { kind, line, text });
        line += text.matches('\n').count();
        rest = tail;
    }
    debug_assert_eq!(
        pieces.iter().map(|piece| piece.text.len()).sum::<usize>(),
        source.len()
    );
    pieces
}

/// The numbered lines of all pieces of one kind.
pub(super) fn lines(source: &str, kind: Kind) -> impl Iterator<Item = (usize, &str)> {
    let pieces = pieces(source).into_iter();
    pieces
        .filter(move |piece| piece.kind == kind)
        .flat_map(|piece| (piece.line..).zip(piece.text.lines()))
}

/// Whether the text has the word, not as a part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_inner) && !text[at + word.len()..].starts_with(is_inner)
    })
}

fn first_piece(text: &str) -> (Kind, usize) {
    if let Some(length) = comment(text) {
        return (Kind::Comment, length);
    }
    if let Some(length) = literal(text) {
        return (Kind::Literal, length);
    }
    let is_end = |at: usize| comment(&text[at..]).is_some() || literal(&text[at..]).is_some();
    let end = text.char_indices().map(|(at, _)| at).find(|&at| is_end(at));
    (Kind::Code, end.unwrap_or(text.len()))
}

/// The length of the comment that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    Some(text.len())
}

/// The length of the literal that the text begins with; a prefix `b` or `c` counts as code.
fn literal(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'"' => Some(string(text)),
        b'r' => raw_string(text),
        b'\'' => character(text),
        _ => None,
    }
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|&byte| byte == b'#').count();
    let opening = 1 + hashes + 1;
    if text.as_bytes().get(opening - 1) != Some(&b'"') {
        return None;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    let inside = text[opening..].find(&closing);
    Some(inside.map_or(text.len(), |length| opening + length + closing.len()))
}

/// `'x'` and `'\n'` are literals, the lifetime `'x` is not.
fn character(text: &str) -> Option<usize> {
    let mut inside = text[1..].char_indices();
    let (_, first) = inside.next()?;
    if first == '\\' {
        inside.next()?;
        return inside.find(|&(_, c)| c == '\'').map(|(at, _)| 1 + at + 1);
    }
    let (at, second) = inside.next()?;
    (second == '\'').then_some(1 + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[(Kind, usize, &str)]) {
        let found: Vec<_> = pieces(source)
            .iter()
            .map(|piece| (piece.kind, piece.line, piece.text))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_end_with_their_line_or_their_outermost_mark() {
        check(
            "a // b\nc /* d /* e */ f\n */ g",
            &[
                (Kind::Code, 1, "a "),
                (Kind::Comment, 1, "// b"),
                (Kind::Code, 1, "\nc "),
                (Kind::Comment, 2, "/* d /* e */ f\n */"),
                (Kind::Code, 3, " g"),
            ],
        );
    }

    #[test]
    fn strings_may_hold_quotes_and_comment_marks() {
        check(
            r##"f("a\"//", r#"b"/*"#)"##,
            &[
                (Kind::Code, 1, "f("),
                (Kind::Literal, 1, r#""a\"//""#),
                (Kind::Code, 1, ", "),
                (Kind::Literal, 1, r##"r#"b"/*"#"##),
                (Kind::Code, 1, ")"),
            ],
        );
    }

    #[test]
    fn characters_are_told_from_lifetimes() {
        check(
            r#"f::<'a>('"', '\'', 'é')"#,
            &[
                (Kind::Code, 1, "f::<'a>("),
                (Kind::Literal, 1, r#"'"'"#),
                (Kind::Code, 1, ", "),
                (Kind::Literal, 1, r"'\''"),
                (Kind::Code, 1, ", "),
                (Kind::Literal, 1, "'é'"),
                (Kind::Code, 1, ")"),
            ],
        );
    }

    #[test]
    fn what_is_not_closed_reaches_to_the_end() {
        for unclosed in ["\"a", "r#\"a\"", "/* a", "// a"] {
            assert_eq!(pieces(unclosed).len(), 1, "{unclosed}");
        }
    }

    #[test]
    fn lines_are_numbered_as_in_the_file() {
        let found: Vec<_> = lines("a\n/* b\n c */ d\n", Kind::Comment).collect();
        assert_eq!(found, [(2, "/* b"), (3, " c */")]);
    }

    #[test]
    fn a_word_is_not_a_part_of_a_word() {
        assert!(has_word("use abc::d;", "abc"));
        assert!(!has_word("use abcd; let x_abc = 1;", "abc"));
    }
}

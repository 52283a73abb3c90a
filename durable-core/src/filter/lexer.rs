//! The words of a filter.

use alloc::string::{String, ToString};
use core::ops::Range;
use core::str::CharIndices;

use super::error::{FilterError, FilterFault};

/// What a word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Letters first, then also digits, `_`, `-`, `.`, `:` and `/`.
    Word(&'a str),
    /// A text in quotes, without them.
    Quoted(String),
    /// It begins with a digit, a sign or `@`.
    Number(&'a str),
    /// `=`, `!=`, `<`, `<=`, `>`, `>=`, `(`, `)` or `,`.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A word and where it is.
#[derive(Debug, Clone)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    pub(super) span: Range<usize>,
}

/// Reads a text word by word.
pub(super) struct Lexer<'a> {
    text: &'a str,
    place: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, place: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Spanned<'a>, FilterError> {
        let rest = &self.text[self.place..];
        let trimmed = rest.trim_start();
        let start = self.place + (rest.len() - trimmed.len());
        self.place = start;
        let Some(first) = trimmed.chars().next() else {
            return Ok(self.spanned(start, Token::End));
        };
        if first == '"' {
            return self.quoted(start);
        }
        if first.is_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_alphanumeric() || "_-.:/".contains(c));
            return Ok(self.spanned(start, Token::Word(word)));
        }
        if first.is_ascii_digit() || "+-@".contains(first) {
            let number = self.take_while(|c| c.is_ascii_alphanumeric() || "+-@:.".contains(c));
            return Ok(self.spanned(start, Token::Number(number)));
        }
        self.symbol(start, first)
    }

    fn spanned(&self, start: usize, token: Token<'a>) -> Spanned<'a> {
        let span = start..self.place;
        Spanned { token, span }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.place..];
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.place += end;
        &rest[..end]
    }

    fn symbol(&mut self, start: usize, first: char) -> Result<Spanned<'a>, FilterError> {
        let rest = &self.text[start..];
        for symbol in ["!=", "<=", ">=", "==", "<>", "=", "<", ">", "(", ")", ","] {
            if !rest.starts_with(symbol) {
                continue;
            }
            self.place += symbol.len();
            let symbol = match symbol {
                "==" => "=",
                "<>" => "!=",
                symbol => symbol,
            };
            return Ok(self.spanned(start, Token::Symbol(symbol)));
        }
        let span = start..start + first.len_utf8();
        let hint = match first {
            '\'' | '`' | '“' | '”' | '‘' | '’' => {
                Some("texts are in double quotes: \"c-17\"")
            }
            '&' => Some("write `and`"),
            '|' => Some("write `or`"),
            '!' => Some("write `not`"),
            '%' | '*' | '^' | '~' => Some("for a prefix write `starts with \"c-\"`"),
            _ => None,
        };
        let error = FilterError::new(self.text, span, FilterFault::Character(first));
        Err(error.with_hint(hint.map(ToString::to_string)))
    }

    fn quoted(&mut self, start: usize) -> Result<Spanned<'a>, FilterError> {
        let inside = start + 1;
        let mut read = String::new();
        let mut characters = self.text[inside..].char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.place = inside + at + 1;
                    return Ok(self.spanned(start, Token::Quoted(read)));
                }
                '\\' => match escaped(&mut characters) {
                    Some(character) => read.push(character),
                    None => {
                        let backslash = inside + at;
                        let after = self.text[backslash + 1..].chars().next();
                        let end = backslash + 1 + after.map_or(0, char::len_utf8);
                        let fault = FilterFault::Escape;
                        let error = FilterError::new(self.text, backslash..end, fault);
                        let hint = r#"escapes are \" \\ \n \t \r \0 and \u{1f600}"#;
                        return Err(error.with_hint(hint.to_string()));
                    }
                },
                plain => read.push(plain),
            }
        }
        let span = start..self.text.len();
        let error = FilterError::new(self.text, span, FilterFault::OpenQuote);
        Err(error.with_hint("add a `\"`".to_string()))
    }
}

/// What follows a backslash.
fn escaped(characters: &mut CharIndices<'_>) -> Option<char> {
    let (_, character) = characters.next()?;
    match character {
        '"' | '\\' => Some(character),
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '0' => Some('\0'),
        'u' => {
            let (_, open) = characters.next()?;
            let mut digits = String::new();
            loop {
                match characters.next()? {
                    (_, '}') => break,
                    (_, digit) if digits.len() < 6 => digits.push(digit),
                    _ => return None,
                }
            }
            let is_number = open == '{' && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let code = u32::from_str_radix(&digits, 16).ok()?;
            is_number.then(|| char::from_u32(code))?
        }
        _ => None,
    }
}

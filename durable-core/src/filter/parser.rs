//! Reads filters from text: recursive descent over bounded text, bounded depth.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::Range;

use super::error::{FilterError, FilterFault};
use super::lexer::{Lexer, Spanned, Token};
use super::query::{Direction, InstanceQuery, Order, OrderBy};
use super::suggestion::closest;
use super::time::{parse_span, parse_time};
use super::value::quoted;
use super::{Field, Filter, Test};
use crate::attribute::{AttributeKind, AttributeNameFault, AttributeValue, attribute_name_fault};
use crate::provider::StatusKind;

/// What an order adds to the text of a filter at most.
const ORDER_BYTES: usize = 64;
const OPERATOR: &str = "`=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `between` or `starts with`";
const FIELDS: [&str; 7] = [
    "id", "name", "version", "status", "created", "changed", "parent",
];

pub(super) fn parse_query(text: &str, now_ms: u64) -> Result<InstanceQuery, FilterError> {
    let mut parser = Parser::new(text, now_ms)?;
    let filter = parser.whole_filter()?;
    let order = match parser.take_word("order")? {
        true => parser.order()?,
        false => Order::default(),
    };
    parser.end("`and`, `or`, `order by` or the end")?;
    let query = InstanceQuery::new(filter).ordered(order);
    Ok(query)
}

pub(super) fn parse_filter(text: &str, now_ms: u64) -> Result<Filter, FilterError> {
    let mut parser = Parser::new(text, now_ms)?;
    let filter = parser.whole_filter()?;
    if parser.is_word("order") {
        return Err(parser.fault(FilterFault::Order));
    }
    parser.end("`and`, `or` or the end")?;
    Ok(filter)
}

/// What a filter compares: a status is no field like the others.
enum Subject {
    Status,
    Field(Field),
}

struct Parser<'a> {
    text: &'a str,
    now_ms: i64,
    lexer: Lexer<'a>,
    next: Spanned<'a>,
    depth: usize,
    values: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, now_ms: u64) -> Result<Self, FilterError> {
        if text.len() > Filter::MAX_BYTES + ORDER_BYTES {
            let end = character_before(text, Filter::MAX_BYTES);
            let error = FilterError::new(text, end..end, FilterFault::TooLong);
            let hint = format!("at most {} bytes", Filter::MAX_BYTES);
            return Err(error.with_hint(hint));
        }
        let mut lexer = Lexer::new(text);
        Ok(Self {
            text,
            now_ms: i64::try_from(now_ms).unwrap_or(i64::MAX),
            next: lexer.next()?,
            lexer,
            depth: 0,
            values: 0,
        })
    }

    fn error(&self, span: Range<usize>, fault: FilterFault) -> FilterError {
        FilterError::new(self.text, span, fault)
    }

    /// A fault of the next word.
    fn fault(&self, fault: FilterFault) -> FilterError {
        self.error(self.next.span.clone(), fault)
    }

    fn expected(&self, expected: &'static str) -> FilterError {
        let found = self.text[self.next.span.clone()].to_string();
        self.fault(FilterFault::Expected { expected, found })
    }

    fn take(&mut self) -> Result<Spanned<'a>, FilterError> {
        let next = self.lexer.next()?;
        Ok(core::mem::replace(&mut self.next, next))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.next.token, Token::Word(next) if next.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> Result<bool, FilterError> {
        let is_there = self.is_word(word);
        if is_there {
            self.take()?;
        }
        Ok(is_there)
    }

    fn take_symbol(&mut self, symbol: &str) -> Result<bool, FilterError> {
        let is_there = matches!(self.next.token, Token::Symbol(next) if next == symbol);
        if is_there {
            self.take()?;
        }
        Ok(is_there)
    }

    fn end(&self, expected: &'static str) -> Result<(), FilterError> {
        if self.next.token == Token::End {
            return Ok(());
        }
        let known = ["and", "or", "order", "in", "between", "starts"];
        Err(self.expected(expected).with_hint(self.did_you_mean(known)))
    }

    /// A word that the next one probably stands for.
    fn did_you_mean(&self, known: impl IntoIterator<Item = &'static str>) -> Option<String> {
        match &self.next.token {
            Token::Word(word) => {
                closest(word, known).map(|known| format!("did you mean `{known}`?"))
            }
            Token::Quoted(_) | Token::Number(_) | Token::Symbol(_) | Token::End => None,
        }
    }

    fn whole_filter(&mut self) -> Result<Filter, FilterError> {
        if self.next.token == Token::End || self.is_word("order") {
            return Ok(Filter::all());
        }
        let filter = self.either()?;
        if filter.depth > Filter::MAX_DEPTH {
            return Err(self.fault(FilterFault::TooDeep));
        }
        if filter.to_string().len() > Filter::MAX_BYTES {
            return Err(self.fault(FilterFault::TooLong));
        }
        Ok(filter)
    }

    fn either(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.all_of()?;
        while self.take_word("or")? {
            filter = filter.or(self.all_of()?);
        }
        Ok(filter)
    }

    fn all_of(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.negated()?;
        while self.take_word("and")? {
            filter = filter.and(self.negated()?);
        }
        Ok(filter)
    }

    fn negated(&mut self) -> Result<Filter, FilterError> {
        let mut is_negated = false;
        while self.take_word("not")? {
            is_negated = !is_negated;
        }
        let filter = self.single()?;
        let filter = if is_negated { !filter } else { filter };
        // As in parentheses: what was built by calls has this depth, too.
        if filter.depth + self.depth > Filter::MAX_DEPTH {
            return Err(self.fault(FilterFault::TooDeep));
        }
        Ok(filter)
    }

    fn single(&mut self) -> Result<Filter, FilterError> {
        if self.take_symbol("(")? {
            self.depth += 1;
            if self.depth >= Filter::MAX_DEPTH {
                return Err(self.fault(FilterFault::TooDeep));
            }
            let filter = self.either()?;
            self.depth -= 1;
            if !self.take_symbol(")")? {
                return Err(self.expected("`)`, `and` or `or`"));
            }
            return Ok(filter);
        }
        if self.take_word("true")? {
            return Ok(Filter::all());
        }
        if self.take_word("false")? {
            return Ok(Filter::nothing());
        }
        if self.take_word("has")? {
            self.count_value()?;
            return match self.subject()? {
                Subject::Status => Ok(Filter::all()),
                Subject::Field(field) => Ok(field.exists()),
            };
        }
        match self.subject()? {
            Subject::Status => self.status_test(),
            Subject::Field(field) => self.field_test(field),
        }
    }

    fn subject(&mut self) -> Result<Subject, FilterError> {
        let Token::Word(word) = self.next.token else {
            return Err(self.expected("a field, an attribute, `not` or `(`"));
        };
        let field = match word.to_ascii_lowercase().as_str() {
            "status" => Subject::Status,
            "id" => Subject::Field(Field::Id),
            "name" => Subject::Field(Field::Name),
            "version" => Subject::Field(Field::Version),
            "created" => Subject::Field(Field::Created),
            "changed" => Subject::Field(Field::Changed),
            "parent" => Subject::Field(Field::Parent),
            _ => match attribute_name_fault(word) {
                None => Subject::Field(Field::attribute(word)),
                Some(AttributeNameFault::Reserved) => {
                    return Err(self.expected("a field, an attribute, `not` or `(`"));
                }
                Some(fault) => {
                    let found = word.to_string();
                    return Err(self.fault(FilterFault::AttributeName { found, fault }));
                }
            },
        };
        self.take()?;
        Ok(field)
    }

    fn status_test(&mut self) -> Result<Filter, FilterError> {
        if self.take_symbol("=")? {
            return Ok(Filter::status(self.status()?));
        }
        if self.take_symbol("!=")? {
            return Ok(!Filter::status(self.status()?));
        }
        let is_negated = self.take_word("not")?;
        if !self.take_word("in")? {
            let field = "status".to_string();
            let allowed = "`=`, `!=` and `in`";
            return Err(match self.next.token {
                Token::End | Token::Word(_) => self.expected("`=`, `!=` or `in`"),
                _ => self.fault(FilterFault::Operator { field, allowed }),
            });
        }
        let statuses = self.list(Self::status)?;
        let filter = Filter::status_in(statuses);
        Ok(if is_negated { !filter } else { filter })
    }

    fn status(&mut self) -> Result<StatusKind, FilterError> {
        self.count_value()?;
        let word = match &self.next.token {
            Token::Word(word) => (*word).to_string(),
            Token::Quoted(text) => text.clone(),
            Token::Number(_) | Token::Symbol(_) | Token::End => {
                return Err(self.expected("a status").with_hint(status_hint()));
            }
        };
        let mut kinds = StatusKind::ALL.into_iter();
        let found = kinds.find(|kind| kind.to_string().eq_ignore_ascii_case(&word));
        if let Some(status) = found {
            self.take()?;
            return Ok(status);
        }
        let names = StatusKind::ALL.map(|kind| kind.to_string());
        let names = names.iter().map(String::as_str);
        let hint = match closest(&word, names) {
            Some(known) => format!("did you mean `{known}`?"),
            None => status_hint(),
        };
        Err(self.fault(FilterFault::Status(word)).with_hint(hint))
    }

    fn field_test(&mut self, field: Field) -> Result<Filter, FilterError> {
        if let Token::Symbol(symbol) = self.next.token
            && let "=" | "!=" | "<" | "<=" | ">" | ">=" = symbol
        {
            self.take()?;
            let value = self.value(&field)?;
            return Ok(match symbol {
                "=" => field.is(value),
                "!=" => !field.is(value),
                "<" => field.less_than(value),
                "<=" => field.at_most(value),
                ">" => field.greater_than(value),
                _ => field.at_least(value),
            });
        }
        if self.take_word("between")? {
            let from = self.value(&field)?;
            if !self.take_word("and")? {
                return Err(self.expected("`and` and a second value"));
            }
            let to = self.value(&field)?;
            return Ok(field.between(from, to));
        }
        if self.is_word("starts") {
            return self.prefix_test(field);
        }
        let is_negated = self.take_word("not")?;
        if self.take_word("in")? {
            let values = self.list(|parser| parser.value(&field))?;
            let filter = Filter::test(field, Test::In(values));
            return Ok(if is_negated { !filter } else { filter });
        }
        let hint = match &self.next.token {
            Token::Word(word) if ["is", "equals", "eq"].contains(word) => Some("write `=`".into()),
            Token::Word(word)
                if ["like", "matches", "contains", "begins", "prefix"].contains(word) =>
            {
                Some(format!("write `{field} starts with \"…\"`"))
            }
            Token::Word(_) => self.did_you_mean(["in", "between", "starts", "not"]),
            Token::Quoted(_) | Token::Number(_) | Token::Symbol(_) => None,
            Token::End => Some(format!("for instances that have it write `has {field}`")),
        };
        Err(self.expected(OPERATOR).with_hint(hint))
    }

    fn prefix_test(&mut self, field: Field) -> Result<Filter, FilterError> {
        if field.kind().is_some_and(|kind| kind != AttributeKind::Text) {
            let allowed = "`=`, `!=`, `<`, `<=`, `>`, `>=`, `in` and `between`";
            let field = field.to_string();
            return Err(self.fault(FilterFault::Operator { field, allowed }));
        }
        self.take()?;
        if !self.take_word("with")? {
            return Err(self.expected("`with`"));
        }
        self.count_value()?;
        let prefix = match self.next.token.clone() {
            Token::Quoted(text) => text,
            Token::Word(word) => word.to_string(),
            Token::Number(_) | Token::Symbol(_) | Token::End => {
                return Err(self.expected("a text in double quotes"));
            }
        };
        self.take()?;
        Ok(field.starts_with(prefix))
    }

    fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, FilterError>,
    ) -> Result<Vec<T>, FilterError> {
        if !self.take_symbol("(")? {
            let hint = "`in` is followed by a list: `in (a, b)`".to_string();
            return Err(self.expected("`(`").with_hint(hint));
        }
        let mut list = vec![element(self)?];
        while self.take_symbol(",")? {
            list.push(element(self)?);
        }
        match self.take_symbol(")")? {
            true => Ok(list),
            false => Err(self.expected("`,` or `)`")),
        }
    }

    fn count_value(&mut self) -> Result<(), FilterError> {
        self.values += 1;
        match self.values > Filter::MAX_VALUES {
            true => Err(self.fault(FilterFault::TooManyValues)),
            false => Ok(()),
        }
    }

    fn value(&mut self, field: &Field) -> Result<AttributeValue, FilterError> {
        self.count_value()?;
        let value = match self.next.token.clone() {
            Token::Quoted(text) => AttributeValue::Text(text),
            Token::Word(word) => self.word_value(word)?,
            Token::Number(number) => self.number_value(number)?,
            Token::Symbol(_) | Token::End => return Err(self.expected("a value")),
        };
        let Some(kind) = field.kind().filter(|kind| *kind != value.kind()) else {
            self.take()?;
            return Ok(value);
        };
        let written = &self.text[self.next.span.clone()];
        let (expected, hint) = match kind {
            AttributeKind::Time => (
                "a time",
                "2026-11-18T14:30:00Z, 2026-11-18, or from now: -1h, -7d".to_string(),
            ),
            _ => ("a text", format!("write {}", quoted(written))),
        };
        let field = field.to_string();
        let error = self.fault(FilterFault::ValueType { field, expected });
        Err(error.with_hint(hint))
    }

    fn word_value(&self, word: &str) -> Result<AttributeValue, FilterError> {
        if word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false") {
            return Ok(AttributeValue::Bool(word.eq_ignore_ascii_case("true")));
        }
        if word.eq_ignore_ascii_case("now") {
            return Ok(AttributeValue::Time(self.now_ms));
        }
        // After an operator any word is a value, but these are more likely in the wrong place.
        let joints = ["and", "or", "not", "in", "between"];
        if joints.iter().any(|joint| word.eq_ignore_ascii_case(joint)) {
            let hint = format!("as a text it is in quotes: {}", quoted(word));
            return Err(self.expected("a value").with_hint(hint));
        }
        Ok(AttributeValue::Text(word.to_string()))
    }

    fn number_value(&self, number: &str) -> Result<AttributeValue, FilterError> {
        if let Ok(integer) = number.parse() {
            return Ok(AttributeValue::Integer(integer));
        }
        let from_now = parse_span(number).map(|span| self.now_ms.saturating_add(span));
        let counted = || number.strip_prefix('@')?.parse().ok();
        let time = from_now.or_else(counted).or_else(|| parse_time(number));
        time.map(AttributeValue::Time).ok_or_else(|| {
            let hint = match number
                .bytes()
                .any(|byte| byte.is_ascii_alphabetic() || byte == b'-')
            {
                true => format!(
                    "times are 2026-11-18T14:30:00Z, 2026-11-18 or -1h (ms, s, m, h, d, w); as a \
                     text it is in quotes: {}",
                    quoted(number)
                ),
                false => "integers have at most 64 bits and no fraction".to_string(),
            };
            let fault = FilterFault::Number(number.to_string());
            self.fault(fault).with_hint(hint)
        })
    }

    fn order(&mut self) -> Result<Order, FilterError> {
        if !self.take_word("by")? {
            return Err(self.expected("`by`"));
        }
        let known = ["created", "changed", "id"];
        let by = if self.take_word("created")? {
            OrderBy::Created
        } else if self.take_word("changed")? {
            OrderBy::Changed
        } else if self.take_word("id")? {
            OrderBy::Id
        } else {
            let error = self.expected("`created`, `changed` or `id`");
            return Err(error.with_hint(self.did_you_mean(known)));
        };
        let direction = if self.take_word("desc")? {
            Direction::Descending
        } else {
            self.take_word("asc")?;
            Direction::Ascending
        };
        Ok(Order::new(by, direction))
    }
}

fn status_hint() -> String {
    let names = StatusKind::ALL.map(|kind| kind.to_string());
    format!("one of {}", names.join(", "))
}

impl Filter {
    /// The names of attributes in it that are probably mistyped fields, each with the field:
    /// any word may be the name of an attribute, so `statsu = failed` is a filter.
    pub fn probable_mistakes(&self) -> Vec<(&str, &'static str)> {
        let mut mistakes = Vec::new();
        self.collect_mistakes(&mut mistakes);
        mistakes
    }

    fn collect_mistakes<'a>(&'a self, mistakes: &mut Vec<(&'a str, &'static str)>) {
        match self.node() {
            super::Node::Test(Field::Attribute(name), _) => {
                mistakes.extend(closest(name, FIELDS).map(|field| (name.as_str(), field)));
            }
            super::Node::Not(part) => part.collect_mistakes(mistakes),
            super::Node::And(parts) | super::Node::Or(parts) => {
                parts
                    .iter()
                    .for_each(|part| part.collect_mistakes(mistakes));
            }
            super::Node::All
            | super::Node::Nothing
            | super::Node::Status(_)
            | super::Node::Test(..) => {}
        }
    }
}

/// The last place up to this one at which a character begins.
fn character_before(text: &str, index: usize) -> usize {
    let mut places = (0..=index.min(text.len())).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

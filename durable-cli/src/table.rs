//! A plain table: columns as wide as their widest cell, the last one as it is.

use anstyle::Style;

const HEAD: Style = Style::new().dimmed();

/// A table that is written line by line when it is complete.
#[derive(Debug, Default)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: harmless(&text.into()),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self {
            head: head.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, row: impl IntoIterator<Item = Cell>) {
        self.rows.push(row.into_iter().collect());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.head.len()).map(|at| self.width(at)).collect();
        let head = self.head.iter().map(|text| (*text, HEAD));
        let mut lines = vec![joined(head, &widths)];
        for row in &self.rows {
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.style));
            lines.push(joined(cells, &widths));
        }
        lines
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells
            .map(|cell| cell.text.as_str())
            .chain([self.head[column]])
            .map(|text| text.chars().count())
            .max()
            .unwrap_or(0)
    }
}

fn joined<'a>(cells: impl Iterator<Item = (&'a str, Style)>, widths: &[usize]) -> String {
    let cells: Vec<(&str, Style)> = cells.collect();
    let last = cells.iter().rposition(|(text, _)| !text.is_empty());
    let mut line = String::new();
    for (at, (text, style)) in cells.into_iter().enumerate() {
        if Some(at) > last {
            break;
        }
        let gap = if at == 0 { "" } else { "  " };
        let text = if Some(at) == last {
            text.to_owned()
        } else {
            padded(text, widths[at])
        };
        line += &format!("{gap}{style}{text}{style:#}");
    }
    line
}

/// `1 event`, `2 events`.
pub(crate) fn counted(number: impl Into<u128>, what: &str) -> String {
    match number.into() {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// The text with spaces behind it, up to this width.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// The text, cut to this width; what was cut away shows as `…`.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    let text = harmless(text);
    if text.chars().count() <= width {
        return text;
    }
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// The text without characters that would move the cursor or colour the screen:
/// names come from users of the store.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_without_spaces() {
        let mut table = Table::new(&["id", "status", "note"]);
        table.add(["order-7".into(), "running".into(), "".into()]);
        table.add(["x".into(), "ok".into(), "a\u{1b}[31m".into()]);
        let lines: Vec<String> = table
            .lines()
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect();
        let expected = [
            "id       status   note",
            "order-7  running",
            "x        ok       a\u{fffd}[31m",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(clipped("orchestration", 6), "orche…");
        assert_eq!(clipped("short", 6), "short");
    }
}

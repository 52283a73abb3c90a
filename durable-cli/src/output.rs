//! Where results go: text with colours only where they belong, or JSON.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Color, Style};
use durable_core::provider::StatusKind;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::args::{ColorWhen, Global};
use crate::error::CliError;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const RED: Style = coloured(AnsiColor::Red);

/// How results are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) is_json: bool,
    color: ColorChoice,
}

impl Output {
    pub(crate) fn of(global: &Global) -> Self {
        let color = match global.color {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        };
        Self {
            is_json: global.json,
            color,
        }
    }

    /// Writes one value, over several lines.
    pub(crate) fn json(&self, value: &Value) -> Result<(), CliError> {
        self.line(&format!("{value:#}"))
    }

    /// Writes one value on one line, for streams.
    pub(crate) fn json_line(&self, value: &Value) -> Result<(), CliError> {
        self.line(&value.to_string())
    }

    /// Writes a line.
    pub(crate) fn line(&self, line: &str) -> Result<(), CliError> {
        self.text(&format!("{line}\n"))
    }

    /// Writes text that ends its own lines.
    pub(crate) fn text(&self, text: &str) -> Result<(), CliError> {
        let mut stdout = AutoStream::new(std::io::stdout(), self.color);
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// Tells of an error, and what to do about it.
    pub(crate) fn error(&self, error: &CliError) {
        let text = if self.is_json {
            let told = json!({
                "error": {
                    "kind": error.kind(),
                    "message": error.to_string(),
                    "hint": error.hint(),
                }
            });
            format!("{told:#}\n")
        } else {
            let hint = error.hint();
            let hint =
                hint.map_or_else(String::new, |hint| format!("{DIM}  hint: {hint}{DIM:#}\n"));
            format!("{RED}error:{RED:#} {error}\n{hint}")
        };
        let mut stderr = AutoStream::new(std::io::stderr(), self.color);
        // Standard error is closed: there is no other place to report to.
        let _ = stderr.write_all(text.as_bytes());
    }

    /// A bar for work that may take long; it shows on a terminal only.
    pub(crate) fn progress(&self, total: usize, what: &'static str) -> ProgressBar {
        let target = if self.is_json || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        let template = "{msg} {wide_bar} {pos}/{len} {eta}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| {
            // The template is a constant; without it the bar is plain.
            ProgressStyle::default_bar()
        }));
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

/// How wide the terminal is: as `COLUMNS` says, or as it is, or 100 columns.
pub fn terminal_columns() -> usize {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seen = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or(seen).unwrap_or(100).clamp(60, 400)
}

const fn coloured(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// The colour of a status.
pub(crate) const fn status_style(status: StatusKind) -> Style {
    match status {
        StatusKind::Pending => coloured(AnsiColor::Blue),
        StatusKind::Running => coloured(AnsiColor::Cyan),
        StatusKind::Suspended => coloured(AnsiColor::Yellow),
        StatusKind::Completed => coloured(AnsiColor::Green),
        StatusKind::Failed | StatusKind::Terminated => RED,
    }
}

//! Which instances a command selects: a filter as text, and options that are short for parts
//! of one.

use std::time::Duration;

use clap::Args;
use durable_core::filter::{Field, Filter, FilterFault, InstanceQuery, Order};
use durable_runtime::ClientError;

use crate::args::Status;
use crate::error::CliError;
use crate::time::{parse_span, whole_ms};

#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only instances that this filter means: `status = failed and customer = "c-17"`
    #[arg(long = "where", short = 'w', value_name = "FILTER")]
    pub(crate) text: Option<String>,
    /// Only this orchestration
    #[arg(long, value_name = "ORCHESTRATION")]
    pub(crate) name: Option<String>,
    /// Only these statuses
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<Status>,
    /// Only ids with this prefix
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only instances that did not change for this long, such as `7d`
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(crate) older_than: Option<Duration>,
}

impl FilterArgs {
    /// Whether every instance is selected.
    pub(crate) fn means_all(&self) -> bool {
        let Self {
            text,
            name,
            status,
            prefix,
            older_than,
        } = self;
        let has_option = name.is_some() || prefix.is_some() || older_than.is_some();
        text.is_none() && status.is_empty() && !has_option
    }

    /// The filter, at this time of the store.
    pub(crate) fn to_filter(&self, now_ms: u64) -> Result<Filter, CliError> {
        let text = self.text.as_deref().unwrap_or_default();
        let filter = Filter::parse(text, now_ms).map_err(ClientError::Filter)?;
        Ok(filter.and(self.options(now_ms)))
    }

    /// The filter with this one, as a query. Without an order of its own it lists what has
    /// stopped by the time of the last change, and all else by creation, the latest first.
    pub(crate) fn to_query(
        &self,
        text: Option<&str>,
        more: Filter,
        now_ms: u64,
    ) -> Result<InstanceQuery, CliError> {
        let filter = self.to_filter(now_ms)?.and(more);
        let text = text.unwrap_or_default();
        match Filter::parse(text, now_ms) {
            Ok(typed) => {
                let filter = typed.and(filter);
                let order = match filter.stopped_term() {
                    Some(_) => Order::LATEST_CHANGE_FIRST,
                    None => Order::NEWEST_FIRST,
                };
                Ok(InstanceQuery::new(filter).ordered(order))
            }
            Err(error) if *error.fault() == FilterFault::Order => {
                let query = InstanceQuery::parse(text, now_ms).map_err(ClientError::Filter)?;
                Ok(InstanceQuery::new(query.filter.and(filter)).ordered(query.order))
            }
            Err(error) => Err(ClientError::Filter(error).into()),
        }
    }

    /// What the options say.
    fn options(&self, now_ms: u64) -> Filter {
        let mut filter = Filter::all();
        if let Some(name) = &self.name {
            filter = filter.and(Filter::name(name.as_str()));
        }
        if !self.status.is_empty() {
            let statuses = self.status.iter().copied().map(Into::into);
            filter = filter.and(Filter::status_in(statuses));
        }
        if let Some(prefix) = &self.prefix {
            filter = filter.and(Filter::id_starts_with(prefix.as_str()));
        }
        if let Some(age) = self.older_than {
            let before_ms = now_ms.saturating_sub(whole_ms(age));
            filter = filter.and(Filter::changed_before_ms(before_ms));
        }
        filter
    }
}

/// Only this version.
pub(crate) fn at_version(version: &str) -> Filter {
    Field::Version.is(version)
}

//! Which instances a command selects.

use std::time::Duration;

use clap::Args;
use durable_core::provider::InstanceFilter;

use crate::args::Status;
use crate::time::{parse_span, whole_ms};

#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
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
            name,
            status,
            prefix,
            older_than,
        } = self;
        name.is_none() && status.is_empty() && prefix.is_none() && older_than.is_none()
    }

    /// The filter, at this time of the store.
    pub(crate) fn to_filter(&self, now_ms: u64) -> InstanceFilter {
        let before = |age| now_ms.saturating_sub(whole_ms(age));
        let statuses = self.status.iter().copied().map(Into::into);
        let mut filter = InstanceFilter::all().statuses(statuses);
        filter.name = self.name.as_deref().map(Into::into);
        filter.id_prefix.clone_from(&self.prefix);
        filter.updated_before_ms = self.older_than.map(before);
        filter
    }
}

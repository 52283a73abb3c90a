//! A filter and an order.

use core::cmp::Ordering;
use core::fmt;

use super::{Filter, FilterError};
use crate::provider::{InstanceRecord, ProviderError};

/// By what a list is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderBy {
    /// By the time at which instances were created.
    Created,
    /// By the time at which instances last changed.
    Changed,
    /// By id, in the order of bytes.
    Id,
}

/// Which end of a list comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The oldest, or the least, first.
    Ascending,
    /// The newest, or the greatest, first.
    Descending,
}

impl Direction {
    /// An order of ascending things in this direction.
    #[must_use]
    pub const fn apply(self, ascending: Ordering) -> Ordering {
        match self {
            Self::Ascending => ascending,
            Self::Descending => ascending.reverse(),
        }
    }

    /// Whether the least comes first.
    pub const fn is_ascending(self) -> bool {
        matches!(self, Self::Ascending)
    }
}

/// The order of a list. By default the newest instances come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Order {
    /// By what.
    pub by: OrderBy,
    /// Which end comes first.
    pub direction: Direction,
}

impl Order {
    /// This order.
    pub const fn new(by: OrderBy, direction: Direction) -> Self {
        Self { by, direction }
    }

    /// By creation, the oldest first.
    pub const OLDEST_FIRST: Self = Self::new(OrderBy::Created, Direction::Ascending);
    /// By creation, the newest first: the default.
    pub const NEWEST_FIRST: Self = Self::new(OrderBy::Created, Direction::Descending);
    /// By the last change, the latest first.
    pub const LATEST_CHANGE_FIRST: Self = Self::new(OrderBy::Changed, Direction::Descending);
    /// By id.
    pub const BY_ID: Self = Self::new(OrderBy::Id, Direction::Ascending);

    /// How two instances are ordered. Those of one time are ordered by id here; a store may
    /// order them in another way, which must not change.
    pub fn compare(self, one: &InstanceRecord, other: &InstanceRecord) -> Ordering {
        let by_id = one.instance.cmp(&other.instance);
        let ascending = match self.by {
            OrderBy::Created => one.created_at_ms.cmp(&other.created_at_ms).then(by_id),
            OrderBy::Changed => one.updated_at_ms.cmp(&other.updated_at_ms).then(by_id),
            OrderBy::Id => by_id,
        };
        self.direction.apply(ascending)
    }
}

impl Default for Order {
    fn default() -> Self {
        Self::NEWEST_FIRST
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            OrderBy::Created => "created",
            OrderBy::Changed => "changed",
            OrderBy::Id => "id",
        };
        let direction = match self.direction {
            Direction::Ascending => "asc",
            Direction::Descending => "desc",
        };
        write!(f, "order by {by} {direction}")
    }
}

/// Which instances to list, in which order.
///
/// ```
/// use durable_core::filter::{Filter, InstanceQuery, Order};
/// use durable_core::provider::StatusKind;
///
/// let text = "status = failed order by changed desc";
/// let query = InstanceQuery::parse(text, 1_700_000_000_000)?;
/// assert_eq!(query.filter, Filter::status(StatusKind::Failed));
/// assert_eq!(query.order, Order::LATEST_CHANGE_FIRST);
/// assert_eq!(query.to_string(), text);
/// # Ok::<(), durable_core::filter::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InstanceQuery {
    /// Which instances.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
}

impl InstanceQuery {
    /// How many instances a store sorts at most, when no index has them in the order that is
    /// asked for; and so many may match a term for which it is worth being looked up first.
    pub const MAX_SORTED: usize = 10_000;

    /// The instances that the filter means, the newest first.
    pub fn new(filter: Filter) -> Self {
        let order = Order::default();
        Self { filter, order }
    }

    /// All instances, the newest first.
    pub fn all() -> Self {
        Self::default()
    }

    /// In this order.
    #[must_use]
    pub const fn ordered(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Reads a text such as `status = failed and changed > -1h order by changed desc`. Times
    /// such as `-1h` are counted from `now_ms`, which is the store's time. An empty text is
    /// all instances.
    ///
    /// # Errors
    ///
    /// [`FilterError`] with the place and a hint.
    pub fn parse(text: &str, now_ms: u64) -> Result<Self, FilterError> {
        super::parser::parse_query(text, now_ms)
    }

    /// Checks a query that was built by calls, as [`Filter::check`] does.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] with the first fault.
    pub fn check(&self) -> Result<(), ProviderError> {
        self.filter.check()
    }

    /// What a store answers that would have to sort too many instances.
    pub fn too_many_to_sort(&self) -> ProviderError {
        ProviderError::Invalid {
            reason: alloc::format!(
                "`{self}` may mean more than {} instances that run, which have no order by the \
                 time of their last change: select a status such as `failed` or fewer \
                 instances, or order by `created`",
                Self::MAX_SORTED
            ),
        }
    }
}

impl Filter {
    /// Reads a text such as `status = failed and changed > -1h`. Times such as `-1h` are
    /// counted from `now_ms`, which is the store's time. An empty text is all instances.
    ///
    /// # Errors
    ///
    /// [`FilterError`] with the place and a hint.
    pub fn parse(text: &str, now_ms: u64) -> Result<Self, FilterError> {
        super::parser::parse_filter(text, now_ms)
    }
}

impl From<Filter> for InstanceQuery {
    fn from(filter: Filter) -> Self {
        Self::new(filter)
    }
}

impl fmt::Display for InstanceQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.filter, self.order)
    }
}

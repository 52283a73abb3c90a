//! Views: values that an orchestration publishes for clients, by name. A store keeps the latest
//! value of each.

/// The name of the view that holds the custom status of an instance, which its record shows.
pub const CUSTOM_STATUS_VIEW: &str = "durable.status";

/// What the names of the engine's own views begin with.
const RESERVED_PREFIX: &str = "durable.";

/// Whether the engine keeps this name for its own views.
///
/// ```
/// use durable_core::{CUSTOM_STATUS_VIEW, is_reserved_view};
///
/// assert!(is_reserved_view(CUSTOM_STATUS_VIEW));
/// assert!(!is_reserved_view("cart"));
/// ```
pub fn is_reserved_view(name: &str) -> bool {
    name.starts_with(RESERVED_PREFIX)
}

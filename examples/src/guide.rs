//! The guide in `docs`, as modules, so that its snippets are compiled and run with the
//! other examples in the documentation.

#[doc = include_str!("../../docs/concepts.md")]
pub mod concepts {}

#[doc = include_str!("../../docs/client.md")]
pub mod client {}

#[doc = include_str!("../../docs/requests.md")]
pub mod requests {}

#[doc = include_str!("../../docs/determinism.md")]
pub mod determinism {}

#[doc = include_str!("../../docs/errors.md")]
pub mod errors {}

#[doc = include_str!("../../docs/cancellation.md")]
pub mod cancellation {}

#[doc = include_str!("../../docs/versions.md")]
pub mod versions {}

#[doc = include_str!("../../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../../docs/search.md")]
pub mod search {}

#[doc = include_str!("../../docs/operating.md")]
pub mod operating {}

#[doc = include_str!("../../docs/command.md")]
pub mod command {}

#[doc = include_str!("../../docs/replay.md")]
pub mod replay {}

#[doc = include_str!("../../docs/providers.md")]
pub mod providers {}

#[doc = include_str!("../../docs/coming-from.md")]
pub mod coming_from {}

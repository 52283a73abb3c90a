//! Small programs that show what orchestrations can do, each in `src/bin`. What they
//! share is here, and the [`guide`].

pub mod guide;
mod http;
mod node;

pub use http::{http_get, http_post};
pub use node::{ExampleNode, ExampleResult};

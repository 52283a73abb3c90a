//! Small programs that show what orchestrations can do, each in `src/bin`. What they
//! share is here.

mod http;
mod node;

pub use http::{http_get, http_post};
pub use node::{ExampleNode, ExampleResult};

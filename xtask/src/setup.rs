//! `cargo xtask setup`: installs what the tests need, which is the server that the tests of
//! `durable-provider-redis` start for themselves.
//!
//! `ci` runs the same steps as a stage. Where the server is missing it is installed if that
//! is possible (as root, with apt); otherwise the step says how to get it. Nothing is
//! started, and no service is left running.

use crate::ci;
use crate::ci::stage::Step;
use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

const INSTALL: &str = include_str!("install-redis.sh");
const EXPLAIN: &str = "echo 'the tests need redis-server 7.0 or newer on the PATH; to get it: \
                       apt-get install redis-server (Debian, Ubuntu) or brew install redis'; exit 1";

/// Runs the stage alone.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    match arguments {
        [] => ci::run(&["--only", "setup"]),
        [argument, ..] => Err(Error::UnexpectedArgument {
            command: "setup",
            argument: (*argument).to_owned(),
        }),
    }
}

/// The steps of the stage: look, install, or say how to.
pub(crate) fn steps(workspace: &Workspace) -> Vec<Step> {
    let look = Invocation::new("redis-server", &["--version"]);
    let answers = |invocation: &Invocation| invocation.answer(&workspace.root);
    if answers(&look).is_some() {
        return vec![Step::run("redis-server", look)];
    }
    let user = answers(&Invocation::new("id", &["-u"])).unwrap_or_default();
    let apt = answers(&Invocation::new("apt-get", &["--version"]));
    match (user.trim(), apt) {
        ("0", Some(_)) => vec![Step::run(
            "install redis-server",
            Invocation::new("sh", &["-c", INSTALL]),
        )],
        _ => vec![Step::run(
            "redis-server",
            Invocation::new("sh", &["-c", EXPLAIN]),
        )],
    }
}

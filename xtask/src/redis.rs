//! The server that the tests of `durable-provider-redis` start for themselves.
//!
//! Where it is missing, `ci` installs it if it may (as root, with apt); otherwise it says how
//! to get it. It starts no server and leaves no service running.

use crate::ci::stage::Step;
use crate::process::Invocation;
use crate::workspace::Workspace;

const INSTALL: &str = include_str!("install-redis.sh");
const EXPLAIN: &str = "echo 'the tests need redis-server 7.0 or newer on the PATH; to get it: \
                       apt-get install redis-server (Debian, Ubuntu) or brew install redis'; exit 1";

/// The steps of the stage: look, install, or say how to.
pub(crate) fn steps(workspace: &Workspace) -> Vec<Step> {
    let look = Invocation::new("redis-server", &["--version"]);
    let answers = |invocation: &Invocation| invocation.answer(&workspace.root);
    if answers(&look).is_some() {
        return vec![Step::run("", look)];
    }
    let user = answers(&Invocation::new("id", &["-u"])).unwrap_or_default();
    let apt = answers(&Invocation::new("apt-get", &["--version"]));
    match (user.trim(), apt) {
        ("0", Some(_)) => vec![Step::run(
            "install",
            Invocation::new("sh", &["-c", INSTALL]),
        )],
        _ => vec![Step::run("", Invocation::new("sh", &["-c", EXPLAIN]))],
    }
}

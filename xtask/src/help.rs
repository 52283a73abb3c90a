//! `cargo xtask help`: the usage text. It does nothing else.

use crate::error::Error;
use crate::report;

/// Also shown below the error when the command line cannot be understood.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

  ci                  run every check and change nothing; stops at the first failure
  ci --only <stage>   run one stage
  ci --list           list the stages
  setup               install what the tests need, where that is possible
  fix                 mend what can be mended, then report what is left
  tidy                check the sources against the project's own rules
  no-std              build and run durable-core in a binary that has no std
  bench [<name>]      run one benchmark of the crates, or all of them: core, runtime, sqlite
  bench peers         run the same workloads on other engines too; --help for its options
  bench instructions  count the instructions of the replay hot path; --accept for a new baseline
  sim --seeds <n>     simulate nodes over n seeds, with faults; --from <seed> to begin there
  sim --seed <seed>   simulate one seed; --scope <scope> for what shrinking left of it
  help                print this text";

/// Prints the usage text.
pub(crate) fn run() -> Result<(), Error> {
    report::line(USAGE);
    Ok(())
}

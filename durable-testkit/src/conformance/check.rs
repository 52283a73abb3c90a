//! A check as data: its name, what it stands for, what it needs.

use std::future::Future;
use std::pin::Pin;

use super::checks;
use super::env::Env;
use super::failure::CheckResult;
use super::promise::ContractPromise;

/// One named check.
#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) promise: ContractPromise,
    pub(super) needs: &'static [Needs],
    pub(super) run: fn(Env) -> CheckFuture,
}

pub(super) type CheckFuture = Pin<Box<dyn Future<Output = CheckResult> + Send>>;

/// What a check needs besides a fresh store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// That the store can be opened again after its provider was dropped, and a
    /// second time beside it.
    OpenAgain,
    /// That the check moves the store's clock.
    VirtualClock,
    /// That a commit can claim the work of any instance.
    OnePartition,
}

/// Makes a [`Check`] of a function, under the function's name.
macro_rules! check {
    ($promise:ident, $function:ident $(, needs $($needs:ident)and+)?) => {
        $crate::conformance::check::Check {
            name: stringify!($function),
            promise: $crate::conformance::promise::ContractPromise::$promise,
            needs: &[$( $( $crate::conformance::check::Needs::$needs ),+ )?],
            run: |env| Box::pin($function(env)),
        }
    };
}
pub(super) use check;

/// All checks, in the order of the promises.
pub(super) fn all() -> impl Iterator<Item = Check> {
    checks::ALL.iter().copied().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().map(|check| check.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn every_promise_has_checks() {
        for number in 1..=10 {
            let has_check = |check: Check| check.promise.number() == Some(number);
            assert!(all().any(has_check), "promise {number}");
        }
    }
}

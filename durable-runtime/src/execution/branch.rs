//! The branch of an orchestration that is being polled on this thread.
//!
//! A branch has a path: for each combinator around it, outermost first, the child that
//! it is. Combinators have no context, so the path is a stack of the thread: a child
//! pushes its segment for as long as it is polled. The driver marks where the path of
//! its execution begins, so that an execution that is driven within a combinator of
//! other code sees its own branches alone.
//!
//! Invariant: a segment is on the stack only while the future of its branch is polled,
//! also when that panics.

use std::cell::RefCell;

use durable_core::Name;

/// One step of the path of a branch. Paths are compared step by step, outermost first;
/// code around a combinator comes before its branches, and numbered branches come before
/// named ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BranchSegment {
    /// The place among the children of a combinator.
    Index(usize),
    /// The name that the code gave it.
    Name(Name),
}

/// The path that is being polled on a thread.
#[derive(Debug)]
struct BranchStack {
    segments: Vec<BranchSegment>,
    /// Where the path of the innermost execution begins.
    base: usize,
}

thread_local! {
    static STACK: RefCell<BranchStack> = const {
        RefCell::new(BranchStack { segments: Vec::new(), base: 0 })
    };
}

/// Polls a future as this branch of the one that is being polled.
pub(crate) fn within<T>(segment: BranchSegment, poll: impl FnOnce() -> T) -> T {
    let _scope = Scope::enter(|stack| stack.segments.push(segment));
    poll()
}

/// Polls the root of an execution: the path begins here.
pub(crate) fn at_root<T>(poll: impl FnOnce() -> T) -> T {
    let _scope = Scope::enter(|stack| stack.base = stack.segments.len());
    poll()
}

/// Appends the path of the branch that is being polled.
pub(super) fn append_path(paths: &mut Vec<BranchSegment>) {
    let _ = STACK.try_with(|stack| {
        let stack = stack.borrow();
        paths.extend_from_slice(&stack.segments[stack.base..]);
    });
}

/// Puts the stack back to how it was, also when a poll panics. A thread that is ending
/// has no stack any more; no execution is driven there.
struct Scope {
    len: usize,
    base: usize,
}

impl Scope {
    fn enter(change: impl FnOnce(&mut BranchStack)) -> Option<Self> {
        let entered = STACK.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            let scope = Self {
                len: stack.segments.len(),
                base: stack.base,
            };
            change(&mut stack);
            scope
        });
        entered.ok()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = STACK.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            stack.segments.truncate(self.len);
            stack.base = self.base;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn path() -> Vec<BranchSegment> {
        let mut path = Vec::new();
        append_path(&mut path);
        path
    }

    fn index(index: usize) -> BranchSegment {
        BranchSegment::Index(index)
    }

    fn name(name: &str) -> BranchSegment {
        BranchSegment::Name(name.into())
    }

    #[test]
    fn a_path_has_the_branches_that_are_being_polled_outermost_first() {
        assert_eq!(path(), []);
        within(index(1), || {
            assert_eq!(path(), [index(1)]);
            within(name("left"), || {
                assert_eq!(path(), [index(1), name("left")]);
            });
            within(index(0), || assert_eq!(path(), [index(1), index(0)]));
            assert_eq!(path(), [index(1)]);
        });
        assert_eq!(path(), []);
    }

    #[test]
    fn an_execution_within_a_branch_of_other_code_has_a_path_of_its_own() {
        within(index(7), || {
            at_root(|| {
                assert_eq!(path(), []);
                within(index(2), || assert_eq!(path(), [index(2)]));
                assert_eq!(path(), []);
            });
            assert_eq!(path(), [index(7)]);
        });
    }

    #[test]
    fn a_panic_leaves_its_branches() {
        let panicked = within(index(1), || {
            let panicked = catch_unwind(|| {
                at_root(|| within(index(2), || within(name("x"), || panic!("on purpose"))))
            });
            assert_eq!(path(), [index(1)]);
            panicked
        });
        assert!(panicked.is_err());
        assert_eq!(path(), []);
    }

    #[test]
    fn paths_are_in_order_from_the_outermost_branch_on() {
        let in_order = [
            vec![],
            vec![index(0)],
            vec![index(0), index(1)],
            vec![index(0), name("a")],
            vec![index(1)],
            vec![index(1), index(0)],
            vec![index(10)],
            vec![name("a")],
            vec![name("a"), index(0)],
            vec![name("b")],
        ];
        assert!(in_order.is_sorted());
    }
}

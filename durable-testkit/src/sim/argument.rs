//! The arguments of the contract's methods, kept so that one call can send its request
//! more than once.
//!
//! Both traits work on whatever type the one list of methods names, so that a new method
//! needs nothing here.

/// An argument that a call keeps.
///
/// An argument that is passed by value is kept through a reference to it, which the
/// compiler takes by itself where the method is called on the argument.
pub(crate) trait OwnedArgument {
    type Owned;

    /// The argument without a borrow.
    fn owned(self) -> Self::Owned;
}

impl<T: ToOwned + ?Sized> OwnedArgument for &T {
    type Owned = T::Owned;

    fn owned(self) -> T::Owned {
        self.to_owned()
    }
}

impl<T: Clone> OwnedArgument for Option<&T> {
    type Owned = Option<T>;

    fn owned(self) -> Option<T> {
        self.cloned()
    }
}

/// A kept argument, given to a method that takes it as an `A`.
pub(crate) trait LendArgument<'a, A> {
    fn lend(&'a self) -> A;
}

impl<'a, T: Clone> LendArgument<'a, T> for T {
    fn lend(&'a self) -> T {
        self.clone()
    }
}

impl<'a, T> LendArgument<'a, &'a T> for T {
    fn lend(&'a self) -> &'a T {
        self
    }
}

impl<'a, T> LendArgument<'a, &'a [T]> for Vec<T> {
    fn lend(&'a self) -> &'a [T] {
        self
    }
}

impl<'a, T> LendArgument<'a, Option<&'a T>> for Option<T> {
    fn lend(&'a self) -> Option<&'a T> {
        self.as_ref()
    }
}

//! How a field of an event is written: the trait, the plain types and lists.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::codec::error::PayloadFault;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, MessageId, Name, Payload, Version};

/// The frozen form of a `T`: the type whose shape is on disk and never changes.
pub(super) trait Frozen<'a, T>: Sized {
    /// The frozen form of a value. Text is borrowed.
    fn freeze(value: &'a T) -> Self;

    /// The value again. Text is copied, once.
    fn thaw(self) -> Result<T, PayloadFault>;
}

macro_rules! frozen_as_itself {
    ($($type:ty),*) => {$(
        impl Frozen<'_, $type> for $type {
            fn freeze(value: &$type) -> Self {
                *value
            }

            fn thaw(self) -> Result<$type, PayloadFault> {
                Ok(self)
            }
        }
    )*};
}

macro_rules! frozen_as_number {
    ($($type:ident),*) => {$(
        impl Frozen<'_, $type> for u64 {
            fn freeze(value: &$type) -> Self {
                value.get()
            }

            fn thaw(self) -> Result<$type, PayloadFault> {
                Ok($type::new(self))
            }
        }
    )*};
}

macro_rules! frozen_as_text {
    ($($type:ident),*) => {$(
        impl<'a> Frozen<'a, $type> for &'a str {
            fn freeze(value: &'a $type) -> Self {
                value.as_str()
            }

            fn thaw(self) -> Result<$type, PayloadFault> {
                Ok($type::from(self))
            }
        }
    )*};
}

frozen_as_itself!(bool, u32, u64, i64);
frozen_as_number!(EventId, ExecutionId);
frozen_as_text!(Name, InstanceId, Payload, Version, MessageId, String);

impl<'a, T, F: Frozen<'a, T>> Frozen<'a, Option<T>> for Option<F> {
    fn freeze(value: &'a Option<T>) -> Self {
        value.as_ref().map(F::freeze)
    }

    fn thaw(self) -> Result<Option<T>, PayloadFault> {
        self.map(F::thaw).transpose()
    }
}

/// What is boxed in memory is written as itself.
impl<'a, T, F: Frozen<'a, T>> Frozen<'a, Box<T>> for F {
    fn freeze(value: &'a Box<T>) -> Self {
        F::freeze(value)
    }

    fn thaw(self) -> Result<Box<T>, PayloadFault> {
        F::thaw(self).map(Box::new)
    }
}

impl<'a, A, B, F: Frozen<'a, A>, G: Frozen<'a, B>> Frozen<'a, (A, B)> for (F, G) {
    fn freeze((first, second): &'a (A, B)) -> Self {
        (F::freeze(first), G::freeze(second))
    }

    fn thaw(self) -> Result<(A, B), PayloadFault> {
        Ok((self.0.thaw()?, self.1.thaw()?))
    }
}

/// A list, which grows with what is really there: the count that hostile bytes
/// claim reserves nothing.
#[derive(Debug)]
pub(super) struct List<F>(pub(super) Vec<F>);

impl<'a, T, F: Frozen<'a, T>> Frozen<'a, Vec<T>> for List<F> {
    fn freeze(value: &'a Vec<T>) -> Self {
        Self(value.iter().map(F::freeze).collect())
    }

    fn thaw(self) -> Result<Vec<T>, PayloadFault> {
        self.0.into_iter().map(F::thaw).collect()
    }
}

impl<F: Serialize> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, F: Deserialize<'de>> Deserialize<'de> for List<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<F>(PhantomData<F>);

impl<'de, F: Deserialize<'de>> Visitor<'de> for ListVisitor<F> {
    type Value = List<F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<F>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(List(list))
    }
}

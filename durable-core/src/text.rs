//! Immutable shared text: names, instance ids, payloads.
//!
//! Each kind of text is its own type, so a name cannot be passed where a payload
//! is meant. All of them are an [`Arc<str>`] inside: a clone is a counter, not a
//! copy, which matters because the same text stands in an event, in a work item
//! and in the open operation. Nothing here checks lengths; see
//! [`Limits`](crate::Limits).

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

macro_rules! shared_text {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<&$name> for $name {
            fn from(text: &$name) -> Self {
                text.clone()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor).map(Self)
            }
        }
    };
}

/// Shows the text in quotes. Payloads have their own `Debug`.
macro_rules! debug_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    )*};
}

debug_as_text!(Name, InstanceId, Version, MessageId);

shared_text! {
    /// The name of an activity, orchestration, event, queue, state key or patch.
    ///
    /// ```
    /// use durable_core::Name;
    ///
    /// let charge = Name::from("charge");
    /// assert_eq!(charge, "charge");
    /// ```
    Name
}

shared_text! {
    /// The id that a user gave to an orchestration instance.
    ///
    /// ```
    /// use durable_core::InstanceId;
    ///
    /// let order = InstanceId::from("order-7");
    /// assert_eq!(order.to_string(), "order-7");
    /// ```
    InstanceId
}

shared_text! {
    /// A user's value as JSON text: an input, an output, a detail.
    ///
    /// The core never looks inside, except to compare two texts as JSON values
    /// when their bytes differ. `Debug` shows how long it is, not what it says: an event
    /// or a failure that ends up in a log gives no secrets away.
    ///
    /// ```
    /// use durable_core::Payload;
    ///
    /// let order = Payload::from(r#"{"amount":12}"#);
    /// assert_eq!(order.as_str(), r#"{"amount":12}"#);
    /// assert_eq!(format!("{order:?}"), "Payload(13 bytes)");
    /// ```
    Payload
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.len())
    }
}

shared_text! {
    /// A semantic version of an orchestration, such as `1.4.0`.
    ///
    /// ```
    /// use durable_core::Version;
    ///
    /// assert_eq!(Version::from("1.4.0").as_str(), "1.4.0");
    /// ```
    Version
}

shared_text! {
    /// The sender's own id of a message: sending it again with the same id does
    /// not repeat it.
    ///
    /// ```
    /// use durable_core::MessageId;
    ///
    /// assert_eq!(MessageId::from("approval-1"), "approval-1");
    /// ```
    MessageId
}

/// Reads text straight into its shared form: one allocation, no detour over `String`.
struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Arc<str>, E> {
        Ok(text.into())
    }
}

//! Typed attributes: what instances are found by.
//!
//! The types of values are a closed list, because every store indexes them: text, integers,
//! times and booleans.

use std::time::{Duration, SystemTime};

use durable_core::{
    AttributeValue, Attributes, Failure, FailureKind, Limits, attribute_name_fault,
};

/// Keeps [`AttributeType`] closed.
mod sealed {
    pub trait Sealed {}
}

use sealed::Sealed;

/// Names an attribute whose values are `T`: `String`, `i64`, `bool` or `SystemTime`.
///
/// ```
/// use durable_runtime::Attribute;
///
/// const CUSTOMER: Attribute<String> = Attribute::new("customer");
/// assert_eq!(CUSTOMER.name(), "customer");
/// ```
///
/// A name that a filter could not name is refused when a constant is compiled, and so is a
/// value of another type:
///
/// ```compile_fail,E0080
/// # use durable_runtime::Attribute;
/// const STATUS: Attribute<String> = Attribute::new("status");
/// # let _ = STATUS;
/// ```
///
/// ```compile_fail,E0277
/// # use durable_runtime::{Attribute, Failure, OrchestrationContext};
/// # const CUSTOMER: Attribute<String> = Attribute::new("customer");
/// fn bill(ctx: OrchestrationContext) -> Result<(), Failure> {
///     ctx.set_attribute(CUSTOMER, 17) // not a text
/// }
/// ```
///
/// Attributes are stored in the clear, also with a payload codec: a store compares them.
#[derive(Debug)]
pub struct Attribute<T> {
    name: &'static str,
    value: std::marker::PhantomData<fn(T)>,
}

impl<T: AttributeType> Attribute<T> {
    /// Names an attribute.
    ///
    /// # Panics
    ///
    /// If it is no [name of an attribute](durable_core::attribute_name_fault): 1 to 64 letters
    /// of the Latin alphabet, digits, `_`, `-` and `.`, a letter first, and no word of the
    /// filter language. In a constant that is an error of the compiler.
    pub const fn new(name: &'static str) -> Self {
        assert!(
            attribute_name_fault(name).is_none(),
            "an attribute is named by a letter (a to z) and up to 63 letters, digits, `_`, `-` \
             and `.`, and not by a word of the filter language"
        );
        Self {
            name,
            value: std::marker::PhantomData,
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The value of this attribute, if it is there and a `T`.
    pub(crate) fn read(&self, value: Option<&AttributeValue>) -> Result<Option<T>, Failure> {
        let Some(value) = value else {
            return Ok(None);
        };
        match T::from_value(value) {
            Some(value) => Ok(Some(value)),
            None => Err(Failure::new(
                FailureKind::InvalidPayload,
                format!(
                    "the attribute `{}` is of type {} and was read as another",
                    self.name,
                    value.kind()
                ),
            )),
        }
    }
}

impl<T> Clone for Attribute<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Attribute<T> {}

/// What an attribute can hold. This crate alone implements it.
pub trait AttributeType: Sealed + Sized {
    /// The value of this type, if it is one.
    #[doc(hidden)]
    fn from_value(value: &AttributeValue) -> Option<Self>;
}

/// What a value of an attribute can be given as. This crate alone implements it.
pub trait IntoAttribute<T>: Sealed {
    /// The value.
    #[doc(hidden)]
    fn into_value(self) -> AttributeValue;
}

macro_rules! attribute_types {
    ($(
        $type:ty as $variant:ident($value:ident) => $read:expr, from {
            $( $given:ty => $write:expr, )*
        }
    )*) => {$(
        impl Sealed for $type {}

        impl AttributeType for $type {
            fn from_value(value: &AttributeValue) -> Option<Self> {
                match value {
                    AttributeValue::$variant($value) => Some($read),
                    _ => None,
                }
            }
        }

        $(
            impl IntoAttribute<$type> for $given {
                fn into_value(self) -> AttributeValue {
                    let write: fn(Self) -> AttributeValue = $write;
                    write(self)
                }
            }
        )*
    )*};
}

attribute_types! {
    String as Text(text) => text.clone(), from {
        String => AttributeValue::Text,
        &String => |text| AttributeValue::Text(text.clone()),
        &str => |text| AttributeValue::Text(text.to_owned()),
    }
    i64 as Integer(number) => *number, from {
        i64 => AttributeValue::Integer,
        i32 => |number| AttributeValue::Integer(number.into()),
        u32 => |number| AttributeValue::Integer(number.into()),
    }
    bool as Bool(truth) => *truth, from {
        bool => AttributeValue::Bool,
    }
    SystemTime as Time(time_ms) => time_of_ms(*time_ms), from {
        SystemTime => |time| AttributeValue::Time(ms_of_time(time)),
    }
}

impl Sealed for &String {}
impl Sealed for &str {}
impl Sealed for i32 {}
impl Sealed for u32 {}

/// Sets one of the attributes of an instance, if the limits allow it.
pub(crate) fn set_within_limits(
    limits: &Limits,
    attributes: &mut Attributes,
    name: &'static str,
    value: AttributeValue,
) -> Result<(), Failure> {
    attributes.set(name, value);
    let checked = limits.check_attributes(attributes);
    checked.map_err(|error| {
        let message = format!("attribute `{name}`: {error}");
        Failure::new(FailureKind::LimitExceeded, message).not_retryable()
    })
}

/// A time in milliseconds since the Unix epoch. What does not fit is the nearest that does.
fn ms_of_time(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            let before = before.duration();
            let whole_ms = before.as_nanos().div_ceil(1_000_000);
            i64::try_from(whole_ms).map_or(i64::MIN, |ms| -ms)
        }
    }
}

fn time_of_ms(time_ms: i64) -> SystemTime {
    let distance = Duration::from_millis(time_ms.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let time = match time_ms < 0 {
        true => epoch.checked_sub(distance),
        false => epoch.checked_add(distance),
    };
    time.unwrap_or(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_to_the_millisecond() {
        for time_ms in [0, 1, -1, 1_763_000_000_123, -86_400_000] {
            assert_eq!(ms_of_time(time_of_ms(time_ms)), time_ms);
        }
        let odd = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(ms_of_time(odd), -1, "the millisecond that it is in");
    }

    #[test]
    fn a_value_is_read_as_what_it_is() {
        const AMOUNT: Attribute<i64> = Attribute::new("amount");
        assert_eq!(AMOUNT.read(None), Ok(None));
        assert_eq!(AMOUNT.read(Some(&AttributeValue::Integer(7))), Ok(Some(7)));
        let failure = AMOUNT.read(Some(&"7".into())).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidPayload);
        assert_eq!(
            failure.message,
            "the attribute `amount` is of type text and was read as another"
        );
    }
}

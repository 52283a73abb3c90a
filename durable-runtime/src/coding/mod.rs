//! Payloads as they are stored: a codec between the runtime and its store.
//!
//! The codec stands where values are handed to a provider and taken from it. The
//! runtime itself, and thereby every replay, sees plain text only; so a codec may
//! give another result each time, as encryption with a fresh nonce does.
//!
//! Nothing here knows what the bytes mean, and nothing here stores them.

mod store;
mod texts;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use durable_core::Limits;
use durable_core::provider::Provider;

use crate::execution::panic_message;
use store::EncodingStore;

pub(crate) use texts::Texts;

/// How a coded value begins in the store; what does not begin so is plain. A coded
/// value is a JSON string, so that tools which expect JSON can show it.
const PREFIX: &str = "\"durable-coded:";
const SUFFIX: &str = "\"";

/// Encrypts, compresses or otherwise changes payloads on their way into the store,
/// and back.
///
/// It covers what the code and its callers say: inputs, outputs, results, event data,
/// promise values, state, custom status, heartbeat details, messages and details of
/// failures, and the reasons given for cancelling, terminating and suspending.
/// **Names stay readable**: of orchestrations, activities, events, queues, state keys,
/// patches and kinds of failures, and all ids. So do times, and why a node handed an
/// instance back.
///
/// Give the same codec to every node and every client of a store, with
/// [`RuntimeBuilder::payload_codec`](crate::RuntimeBuilder::payload_codec) and
/// [`Client::with_payload_codec`](crate::Client::with_payload_codec). A node that cannot
/// read a value hands the instance or the work back, so that a node with the right key
/// can go on with it; the instance's record says why. Values that were stored before
/// there was a codec are read as they are. To change a key, let the codec write the
/// number of the key in front of what it returns, and keep the old ones.
///
/// A codec that cannot encode, because its key service is away for instance, is waited
/// for as a store is that does not answer.
///
/// ```
/// use durable_runtime::{PayloadCodec, PayloadCodecError};
///
/// /// A toy, and no encryption.
/// struct Rot13;
///
/// fn rotated(bytes: &[u8]) -> Vec<u8> {
///     let rotate = |byte: &u8| match byte {
///         b'a'..=b'z' => b'a' + (byte - b'a' + 13) % 26,
///         other => *other,
///     };
///     bytes.iter().map(rotate).collect()
/// }
///
/// impl PayloadCodec for Rot13 {
///     fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
///         Ok(rotated(plain))
///     }
///
///     fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
///         Ok(rotated(coded))
///     }
/// }
///
/// assert_eq!(Rot13.decode(&Rot13.encode(b"hello")?)?, b"hello");
/// # Ok::<(), PayloadCodecError>(())
/// ```
pub trait PayloadCodec: Send + Sync + 'static {
    /// The value as it is stored.
    fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError>;

    /// The value that [`encode`](Self::encode) was given, here or on another node.
    fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError>;

    /// By how many bytes at most a coded value is longer than a plain one of this
    /// length. A longer value has no smaller overhead.
    ///
    /// It is taken off the largest payload, so that a value is refused when the code
    /// hands it over and not when it is stored.
    fn overhead(&self, plain_bytes: usize) -> usize {
        256 + plain_bytes / 64
    }
}

/// Why a value could not be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadCodecError {
    reason: String,
}

impl PayloadCodecError {
    /// An error with this reason. It is logged and stored as it is: it must not hold
    /// what the codec is to hide.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl fmt::Display for PayloadCodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for PayloadCodecError {}

/// The codec of a node or a client, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Coding {
    codec: Option<Arc<dyn PayloadCodec>>,
}

impl Coding {
    pub(crate) fn new(codec: impl PayloadCodec) -> Self {
        Self {
            codec: Some(Arc::new(codec)),
        }
    }

    /// The store, with everything encoded that goes into it. What comes out of it is
    /// as it is stored: whoever takes it calls [`decode`](Self::decode), and knows what
    /// to do if that fails.
    pub(crate) fn store(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match &self.codec {
            Some(_) => Arc::new(EncodingStore::new(provider, self.clone())),
            None => provider,
        }
    }

    /// The largest plain values whose coded form is within these limits.
    pub(crate) fn plain_limits(&self, stored: Limits) -> Limits {
        let Some(codec) = &self.codec else {
            return stored;
        };
        let text_bytes = stored
            .max_payload_bytes
            .saturating_sub(PREFIX.len() + SUFFIX.len());
        // Three bytes are four characters; what is left over is not used.
        let coded_bytes = text_bytes / 4 * 3;
        Limits {
            max_payload_bytes: coded_bytes.saturating_sub(codec.overhead(coded_bytes)),
            ..stored
        }
    }

    fn encode(&self, value: &mut impl Texts) -> Result<(), PayloadCodecError> {
        match &self.codec {
            Some(codec) => value.change(&mut |plain| encoded(&**codec, plain)),
            None => Ok(()),
        }
    }

    /// Makes everything plain that is in a value from the store. If that fails, parts
    /// of it may still be coded.
    pub(crate) fn decode(&self, value: &mut impl Texts) -> Result<(), PayloadCodecError> {
        match &self.codec {
            Some(codec) => value.change(&mut |stored| decoded(&**codec, stored)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coding")
            .field("is_coded", &self.codec.is_some())
            .finish()
    }
}

fn encoded(codec: &dyn PayloadCodec, plain: &str) -> Result<String, PayloadCodecError> {
    let coded = guarded(|| codec.encode(plain.as_bytes()))?;
    let mut text = String::with_capacity(PREFIX.len() + coded.len() / 3 * 4 + 4 + SUFFIX.len());
    text.push_str(PREFIX);
    STANDARD_NO_PAD.encode_string(&coded, &mut text);
    text.push_str(SUFFIX);
    Ok(text)
}

fn decoded(codec: &dyn PayloadCodec, stored: &str) -> Result<String, PayloadCodecError> {
    let inside = stored.strip_prefix(PREFIX);
    let Some(coded) = inside.and_then(|text| text.strip_suffix(SUFFIX)) else {
        return Ok(stored.into());
    };
    let coded = STANDARD_NO_PAD
        .decode(coded)
        .map_err(|error| PayloadCodecError::new(format!("a coded value is damaged: {error}")))?;
    let plain = guarded(|| codec.decode(&coded))?;
    String::from_utf8(plain)
        .map_err(|_| PayloadCodecError::new("the codec gave something that is not text"))
}

/// A codec that panics must not take the task along that hands an instance back.
fn guarded(
    code: impl FnOnce() -> Result<Vec<u8>, PayloadCodecError>,
) -> Result<Vec<u8>, PayloadCodecError> {
    std::panic::catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| {
        let message = panic_message(panic.as_ref());
        Err(PayloadCodecError::new(format!(
            "the codec panicked: {message}"
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use durable_core::Payload;

    /// Turns every bit around and puts its key in front.
    struct Inverted {
        key: u8,
    }

    impl PayloadCodec for Inverted {
        fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            let inverted = plain.iter().map(|byte| !byte);
            Ok([self.key].into_iter().chain(inverted).collect())
        }

        fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            match coded.split_first() {
                Some((key, rest)) if *key == self.key => {
                    Ok(rest.iter().map(|byte| !byte).collect())
                }
                _ => Err(PayloadCodecError::new("another key")),
            }
        }

        fn overhead(&self, _: usize) -> usize {
            1
        }
    }

    struct Broken;

    impl PayloadCodec for Broken {
        fn encode(&self, _: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            Ok(vec![0xff])
        }

        fn decode(&self, _: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            panic!("no key")
        }
    }

    fn coded(coding: &Coding, plain: &str) -> Payload {
        let mut value = Payload::from(plain);
        coding.encode(&mut value).unwrap();
        value
    }

    #[test]
    fn a_value_comes_back_as_it_was_and_is_a_json_string_meanwhile() {
        let coding = Coding::new(Inverted { key: 7 });
        for plain in [
            "",
            "1",
            "\"Ada\"",
            "{\"sum\": 12}",
            "\"durable-coded:AAAA\"",
        ] {
            let mut value = coded(&coding, plain);
            assert_ne!(value, plain);
            assert!(serde_json::from_str::<String>(&value).is_ok(), "{value}");
            coding.decode(&mut value).unwrap();
            assert_eq!(value, plain);
        }
    }

    #[test]
    fn a_plain_value_is_read_as_it_is_and_a_wrong_key_is_an_error() {
        let coding = Coding::new(Inverted { key: 7 });
        let mut plain = Payload::from("\"stored before\"");
        coding.decode(&mut plain).unwrap();
        assert_eq!(plain, "\"stored before\"");
        let mut foreign = coded(&Coding::new(Inverted { key: 8 }), "1");
        let error = coding.decode(&mut foreign).unwrap_err();
        assert_eq!(error.to_string(), "another key");
    }

    #[test]
    fn damage_and_panics_are_errors() {
        let coding = Coding::new(Inverted { key: 7 });
        let mut damaged = Payload::from("\"durable-coded:!\"");
        let error = coding.decode(&mut damaged).unwrap_err();
        assert!(error.to_string().starts_with("a coded value is damaged"));
        let broken = Coding::new(Broken);
        let mut value = coded(&broken, "1");
        let error = broken.decode(&mut value).unwrap_err();
        assert_eq!(error.to_string(), "the codec panicked: no key");
        let error = coding.decode(&mut coded(&broken, "1")).unwrap_err();
        assert_eq!(error.to_string(), "another key");
    }

    #[test]
    fn the_largest_plain_value_is_within_the_limit_when_it_is_coded() {
        for max_payload_bytes in 100..140 {
            let stored = Limits {
                max_payload_bytes,
                ..Limits::default()
            };
            let coding = Coding::new(Inverted { key: 7 });
            let plain = coding.plain_limits(stored);
            assert_eq!(plain.max_name_bytes, stored.max_name_bytes);
            assert!(plain.max_payload_bytes > max_payload_bytes / 2);
            let largest = coded(&coding, &"x".repeat(plain.max_payload_bytes));
            stored.check_payload("value", &largest).unwrap();
            assert_eq!(Coding::default().plain_limits(stored), stored);
        }
    }
}

//! Payloads as they are stored: a codec between the runtime and its store.
//!
//! The codec stands where values are handed to a provider and taken from it. The
//! runtime itself, and thereby every replay, sees plain text only; so a codec may
//! give another result each time, as encryption with a fresh nonce does.
//!
//! Nothing here knows what the bytes mean, and nothing here stores them.

mod active;
mod store;

use std::fmt;

use async_trait::async_trait;

pub(crate) use active::ActiveCodec;

/// Encrypts, compresses or otherwise changes payloads on their way into the store,
/// and back.
///
/// It covers what the code and its callers say: inputs, outputs, results, event data,
/// promise values, state, custom status, heartbeat details, messages and details of
/// failures, and the reasons given for cancelling, terminating and suspending.
/// **Names stay readable**: of orchestrations, activities, events, queues, state keys,
/// patches and kinds of failures, and all ids. So do times, why a node handed an
/// instance back, and why a codec failed.
///
/// Give the same codec to every node and every client of a store, with
/// [`RuntimeBuilder::payload_codec`](crate::RuntimeBuilder::payload_codec) and
/// [`Client::with_payload_codec`](crate::Client::with_payload_codec). Values that were
/// stored before there was a codec are read as they are. To change a key, let the codec
/// write the number of the key in front of what it returns, and keep the old ones.
///
/// Both methods are asynchronous, so that a codec can ask a key service without blocking
/// a worker thread. Code that computes for long belongs on
/// [`spawn_blocking`](tokio::task::spawn_blocking).
///
/// # Errors of a codec
///
/// A [temporary](PayloadCodecError::temporary) error is waited out: the runtime tries
/// again with a growing delay, and hands what it cannot read back to other nodes
/// meanwhile. A [permanent](PayloadCodecError::permanent) one is not tried again: the call
/// is refused, the activity fails, or the instance is suspended and its record says why.
///
/// ```
/// use async_trait::async_trait;
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
/// #[async_trait]
/// impl PayloadCodec for Rot13 {
///     async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
///         Ok(rotated(plain))
///     }
///
///     async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
///         Ok(rotated(coded))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), PayloadCodecError> {
/// assert_eq!(Rot13.decode(&Rot13.encode(b"hello").await?).await?, b"hello");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait PayloadCodec: Send + Sync + 'static {
    /// The value as it is stored.
    ///
    /// # Errors
    ///
    /// Says whether it is of use to try again.
    async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError>;

    /// The value that [`encode`](Self::encode) was given, here or on another node.
    ///
    /// # Errors
    ///
    /// Says whether it is of use to try again, here or on another node.
    async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError>;

    /// By how many bytes at most a coded value is longer than a plain one of this
    /// length. Must not fall as `plain_bytes` rises.
    ///
    /// It is taken off the largest payload, so that a value is refused when the code
    /// hands it over and not when it is stored.
    fn overhead(&self, plain_bytes: usize) -> usize {
        256 + plain_bytes / 64
    }
}

/// Why a value could not be encoded or decoded, and whether to try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadCodecError {
    reason: String,
    is_permanent: bool,
}

impl PayloadCodecError {
    /// It may succeed later or on another node: a key service is away, or this node lacks
    /// a key that others have.
    ///
    /// The reason is logged and stored as it is: it must not hold what the codec is to
    /// hide.
    pub fn temporary(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_permanent: false,
        }
    }

    /// It will never succeed, on no node: the value is damaged, or its key was destroyed.
    ///
    /// The reason is logged and stored as it is: it must not hold what the codec is to
    /// hide.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_permanent: true,
        }
    }

    /// Whether the same call will never succeed.
    pub const fn is_permanent(&self) -> bool {
        self.is_permanent
    }
}

impl fmt::Display for PayloadCodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for PayloadCodecError {}

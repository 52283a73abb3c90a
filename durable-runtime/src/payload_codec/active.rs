//! The codec of a node or a client at work: which texts are coded, and how they look.

use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use durable_core::provider::{Layered, Provider};
use durable_core::{Limits, PayloadMut, VisitPayloads};

use super::store::EncodingStore;
use super::{PayloadCodec, PayloadCodecError};
use crate::execution::panic_message;

/// How a coded value begins in the store; what does not begin so is plain. A coded
/// value is a JSON string, so that tools which expect JSON can show it.
const PREFIX: &str = "\"durable-coded:";
const SUFFIX: &str = "\"";

/// The codec of a node or a client, if it has one.
#[derive(Clone, Default)]
pub(crate) struct ActiveCodec {
    codec: Option<Arc<dyn PayloadCodec>>,
}

impl ActiveCodec {
    pub(crate) fn new(codec: impl PayloadCodec) -> Self {
        Self {
            codec: Some(Arc::new(codec)),
        }
    }

    /// The store, with everything encoded that goes into it. What comes out of it is
    /// as it is stored: the caller [decodes](Self::decode) it, and knows what to do if
    /// that fails.
    pub(crate) fn store(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match &self.codec {
            Some(_) => Arc::new(Layered(EncodingStore::new(provider, self.clone()))),
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
        let mut plain = stored;
        plain.max_payload_bytes = coded_bytes.saturating_sub(codec.overhead(coded_bytes));
        plain
    }

    /// Codes everything in a value that goes into the store. If that fails, parts of it
    /// may be coded.
    pub(super) async fn encode(
        &self,
        value: &mut impl VisitPayloads,
    ) -> Result<(), PayloadCodecError> {
        let Some(codec) = &self.codec else {
            return Ok(());
        };
        for payload in payloads(value) {
            let coded = encoded(&**codec, payload.as_str()).await?;
            payload.set(coded);
        }
        Ok(())
    }

    /// Makes everything plain that is in a value from the store. If that fails, parts
    /// of it may still be coded.
    pub(crate) async fn decode(
        &self,
        value: &mut impl VisitPayloads,
    ) -> Result<(), PayloadCodecError> {
        let Some(codec) = &self.codec else {
            return Ok(());
        };
        for payload in payloads(value) {
            if let Some(plain) = decoded(&**codec, payload.as_str()).await? {
                payload.set(plain);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ActiveCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveCodec")
            .field("is_coded", &self.codec.is_some())
            .finish()
    }
}

fn payloads(value: &mut impl VisitPayloads) -> Vec<PayloadMut<'_>> {
    let mut payloads = Vec::new();
    value.visit(&mut payloads);
    payloads
}

async fn encoded(codec: &dyn PayloadCodec, plain: &str) -> Result<String, PayloadCodecError> {
    let coded = guarded(codec.encode(plain.as_bytes())).await?;
    let mut text = String::with_capacity(PREFIX.len() + coded.len() / 3 * 4 + 4 + SUFFIX.len());
    text.push_str(PREFIX);
    STANDARD_NO_PAD.encode_string(&coded, &mut text);
    text.push_str(SUFFIX);
    Ok(text)
}

/// The plain value; `None` if it is stored plain.
async fn decoded(
    codec: &dyn PayloadCodec,
    stored: &str,
) -> Result<Option<String>, PayloadCodecError> {
    let inside = stored.strip_prefix(PREFIX);
    let Some(coded) = inside.and_then(|text| text.strip_suffix(SUFFIX)) else {
        return Ok(None);
    };
    let coded = STANDARD_NO_PAD.decode(coded).map_err(|error| {
        PayloadCodecError::permanent(format!("a coded value is damaged: {error}"))
    })?;
    let plain = guarded(codec.decode(&coded)).await?;
    match String::from_utf8(plain) {
        Ok(plain) => Ok(Some(plain)),
        Err(_) => Err(PayloadCodecError::permanent(
            "the codec gave something that is not text",
        )),
    }
}

type Code<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, PayloadCodecError>> + Send + 'a>>;

/// A codec that panics must not take the task along that holds the instance.
async fn guarded(mut code: Code<'_>) -> Result<Vec<u8>, PayloadCodecError> {
    poll_fn(|cx| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| code.as_mut().poll(cx)));
        polled.unwrap_or_else(|panic| {
            let message = panic_message(panic.as_ref());
            Poll::Ready(Err(PayloadCodecError::permanent(format!(
                "the codec panicked: {message}"
            ))))
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use durable_core::Payload;

    use super::*;

    /// Turns every bit around and puts its key in front.
    struct Inverted {
        key: u8,
    }

    #[async_trait]
    impl PayloadCodec for Inverted {
        async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            let inverted = plain.iter().map(|byte| !byte);
            Ok([self.key].into_iter().chain(inverted).collect())
        }

        async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            match coded.split_first() {
                Some((key, rest)) if *key == self.key => {
                    Ok(rest.iter().map(|byte| !byte).collect())
                }
                _ => Err(PayloadCodecError::temporary("another key")),
            }
        }

        fn overhead(&self, _: usize) -> usize {
            1
        }
    }

    struct Broken;

    #[async_trait]
    impl PayloadCodec for Broken {
        async fn encode(&self, _: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            Ok(vec![0xff])
        }

        async fn decode(&self, _: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
            panic!("no key")
        }
    }

    async fn coded(codec: &ActiveCodec, plain: &str) -> Payload {
        let mut value = Payload::from(plain);
        codec.encode(&mut value).await.unwrap();
        value
    }

    #[tokio::test]
    async fn a_value_comes_back_as_it_was_and_is_a_json_string_meanwhile() {
        let codec = ActiveCodec::new(Inverted { key: 7 });
        for plain in [
            "",
            "1",
            "\"Ada\"",
            "{\"sum\": 12}",
            "\"durable-coded:AAAA\"",
        ] {
            let mut value = coded(&codec, plain).await;
            assert_ne!(value, plain);
            assert!(serde_json::from_str::<String>(&value).is_ok(), "{value}");
            codec.decode(&mut value).await.unwrap();
            assert_eq!(value, plain);
        }
    }

    #[tokio::test]
    async fn a_plain_value_is_read_as_it_is_and_a_wrong_key_is_an_error() {
        let codec = ActiveCodec::new(Inverted { key: 7 });
        let mut plain = Payload::from("\"stored before\"");
        codec.decode(&mut plain).await.unwrap();
        assert_eq!(plain, "\"stored before\"");
        let mut foreign = coded(&ActiveCodec::new(Inverted { key: 8 }), "1").await;
        let error = codec.decode(&mut foreign).await.unwrap_err();
        assert_eq!(error.to_string(), "another key");
    }

    #[tokio::test]
    async fn damage_and_panics_are_errors() {
        let codec = ActiveCodec::new(Inverted { key: 7 });
        let mut damaged = Payload::from("\"durable-coded:!\"");
        let error = codec.decode(&mut damaged).await.unwrap_err();
        assert!(error.to_string().starts_with("a coded value is damaged"));
        let broken = ActiveCodec::new(Broken);
        let mut value = coded(&broken, "1").await;
        let error = broken.decode(&mut value).await.unwrap_err();
        assert_eq!(error.to_string(), "the codec panicked: no key");
        let error = codec
            .decode(&mut coded(&broken, "1").await)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "another key");
    }

    #[tokio::test]
    async fn the_largest_plain_value_is_within_the_limit_when_it_is_coded() {
        for max_payload_bytes in 100..140 {
            let stored = Limits::new().max_payload_bytes(max_payload_bytes);
            let codec = ActiveCodec::new(Inverted { key: 7 });
            let plain = codec.plain_limits(stored);
            assert_eq!(plain.max_name_bytes, stored.max_name_bytes);
            assert!(plain.max_payload_bytes > max_payload_bytes / 2);
            let largest = coded(&codec, &"x".repeat(plain.max_payload_bytes)).await;
            stored.check_payload("value", &largest).unwrap();
            assert_eq!(ActiveCodec::default().plain_limits(stored), stored);
        }
    }
}

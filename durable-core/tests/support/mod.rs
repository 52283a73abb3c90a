//! What the tests of this crate share. Each test file uses a part of it, so each
//! module may have unused items.

#[allow(dead_code, reason = "not every test makes envelopes by hand")]
pub(crate) mod envelope;
#[allow(dead_code, reason = "not every test reads the golden files")]
pub(crate) mod golden;
#[allow(dead_code, reason = "only the tests of records need them")]
pub(crate) mod record;
#[allow(dead_code, reason = "not every test needs the samples")]
mod request_samples;
#[allow(dead_code, reason = "not every test needs the samples")]
pub(crate) mod samples;
#[allow(dead_code, reason = "not every test needs every strategy")]
pub(crate) mod strategy;
#[allow(dead_code, reason = "not every test needs every kind of text")]
pub(crate) mod text;

//! What makes the claims believable: an in-memory provider, the conformance
//! suite, the simulator and the replay tester.
//!
//! Nothing is implemented yet: the crate reserves its place in the layering (it
//! depends on the core and the runtime, never on a provider).

//! Traces: where the spans of a node belong, and which trace a caller is in.
//!
//! A span always says its trace parent as a field. With the feature `opentelemetry` and the
//! layer of `tracing-opentelemetry` it is a part of that trace.

use durable_core::TraceParent;
use tracing::Span;

/// Has a span belong to a trace. It must not have been entered.
pub(crate) fn join(span: &Span, parent: Option<&TraceParent>) {
    let Some(parent) = parent else {
        return;
    };
    span.record("trace_parent", tracing::field::display(parent));
    #[cfg(feature = "opentelemetry")]
    layer::join(span, parent);
}

/// The span that the caller is in, as far as a layer knows its trace.
pub(crate) fn current() -> Option<TraceParent> {
    #[cfg(feature = "opentelemetry")]
    return layer::current();
    #[cfg(not(feature = "opentelemetry"))]
    None
}

/// What the layer of `tracing-opentelemetry` knows.
#[cfg(feature = "opentelemetry")]
mod layer {
    use durable_core::TraceParent;
    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState,
    };
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    pub(super) fn join(span: &Span, parent: &TraceParent) {
        let remote = SpanContext::new(
            TraceId::from(parent.trace_id()),
            SpanId::from(parent.span_id()),
            TraceFlags::new(parent.flags()),
            true,
            TraceState::NONE,
        );
        let context = opentelemetry::Context::new().with_remote_span_context(remote);
        // Without the layer there is no trace to join.
        let _ = span.set_parent(context);
    }

    pub(super) fn current() -> Option<TraceParent> {
        let context = Span::current().context();
        let span = context.span();
        let position = span.span_context();
        TraceParent::new(
            u128::from_be_bytes(position.trace_id().to_bytes()),
            u64::from_be_bytes(position.span_id().to_bytes()),
            position.trace_flags().to_u8(),
        )
    }
}

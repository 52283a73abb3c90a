//! Distributed tracing: a request of a client, the turns of the order that it starts, its
//! activities and its child are one trace, which is exported to OpenTelemetry.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::BTreeSet;

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::Instrument;
use tracing_subscriber::layer::SubscriberExt;

const ORDER: Orchestration<u64, ()> = Orchestration::new("order");
const SHIP: Orchestration<u64, ()> = Orchestration::new("ship");
const CHARGE: Activity<u64, ()> = Activity::new("charge");
const PACK: Activity<u64, ()> = Activity::new("pack");

async fn order(ctx: OrchestrationContext, number: u64) -> Result<(), Failure> {
    ctx.activity(CHARGE, &number).await?;
    ctx.sub_orchestration(SHIP, &number).await
}

async fn ship(ctx: OrchestrationContext, number: u64) -> Result<(), Failure> {
    ctx.activity(PACK, &number).await
}

async fn charge(ctx: ActivityContext, _number: u64) -> Result<(), Failure> {
    // For a service that the activity calls: its spans are in the trace, too.
    let header = ctx.trace_parent().map(ToString::to_string);
    tracing::info_span!("call the bank", has_header = header.is_some()).in_scope(|| ());
    Ok(())
}

#[tokio::main]
async fn main() -> ExampleResult {
    // Another exporter sends the spans to a collector.
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(exporter.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;

    let registry = Registry::builder()
        .orchestration(ORDER, order)
        .orchestration(SHIP, ship)
        .activity(CHARGE, charge)
        .activity(PACK, |_: ActivityContext, _| async { Ok::<_, Failure>(()) })
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    // The start takes the trace of the span that it is made in.
    let request = tracing::info_span!("request");
    let order = client.start(ORDER, "order-7", &7);
    order
        .into_future()
        .instrument(request.clone())
        .await?
        .wait()
        .await?;
    drop(request);
    example.stop().await?;
    provider.force_flush()?;
    show(&exporter.get_finished_spans()?);
    Ok(())
}

/// The spans of the trace of the request, each kind once.
fn show(spans: &[SpanData]) {
    let Some(request) = spans.iter().find(|span| span.name == "request") else {
        return;
    };
    let trace = request.span_context.trace_id();
    let of_trace = spans
        .iter()
        .filter(|span| span.span_context.trace_id() == trace);
    let lines: BTreeSet<String> = of_trace
        .map(|span| {
            let parent = spans
                .iter()
                .find(|other| other.span_context.span_id() == span.parent_span_id);
            match parent {
                Some(parent) => format!("{} below {}", described(span), described(parent)),
                None => described(span),
            }
        })
        .collect();
    for line in lines {
        println!("{line}");
    }
}

/// What a span is called, with its activity or its instance.
fn described(span: &SpanData) -> String {
    let of = match &*span.name {
        "turn" => "instance",
        "activity" => "name",
        other => return other.into(),
    };
    let found = span.attributes.iter().find(|tag| tag.key.as_str() == of);
    let what = found.map_or_else(String::new, |tag| tag.value.to_string());
    format!("{} of {what}", span.name)
}

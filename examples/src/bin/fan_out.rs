//! Fan-out and fan-in: count the words of several texts at once, at most three at a
//! time, and add them up in the order in which they come in.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};
use futures::stream::{self, StreamExt as _};

const COUNT_WORDS: Activity<String, usize> = Activity::new("count words");
const SUM: Orchestration<Vec<String>, usize> = Orchestration::new("sum");

async fn sum(ctx: OrchestrationContext, texts: Vec<String>) -> Result<usize, Failure> {
    // Any combinator works: this one is from the `futures` crate.
    let calls = texts.iter().map(|text| ctx.activity(COUNT_WORDS, text));
    let counting: Vec<_> = calls.collect();
    let mut counts = stream::iter(counting).buffer_unordered(3);
    let mut sum = 0;
    while let Some(count) = counts.next().await {
        sum += count?;
    }
    Ok(sum)
}

async fn count_words(_: ActivityContext, text: String) -> Result<usize, Failure> {
    Ok(text.split_whitespace().count())
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(SUM, sum)
        .activity(COUNT_WORDS, count_words)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let texts: Vec<String> = (1..=10).map(|words| "word ".repeat(words)).collect();
    let client = example.node.client();
    let sum = client.start(SUM, "sum-1", &texts).await?;
    println!("{} texts have {} words", texts.len(), sum.wait().await?);
    example.stop().await
}

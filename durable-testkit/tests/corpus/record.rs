//! Runs an example on a node in virtual time, and takes its histories.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::Provider;
use durable_core::{Failure, History};
use durable_runtime::{Client, InstanceHandle, Registry, Runtime, RuntimeOptions};
use durable_testkit::{MemoryProvider, TokioClock, export_histories};

use crate::examples;

type Story = fn(Client) -> Pin<Box<dyn Future<Output = ()>>>;

/// How the histories of a file come about.
pub(crate) struct Recording {
    /// The name of the file.
    pub(crate) name: &'static str,
    /// Whether the code of today leads to the same events.
    pub(crate) is_current: bool,
    story: Story,
}

impl Recording {
    pub(crate) const fn of(name: &'static str, story: Story) -> Self {
        Self {
            name,
            is_current: true,
            story,
        }
    }

    /// Told by code that has since been patched.
    const fn before_a_patch(mut self) -> Self {
        self.is_current = false;
        self
    }
}

/// The histories of the examples, and how each came about.
pub(crate) const RECORDINGS: &[Recording] = &[
    Recording::of("hello", |client| {
        Box::pin(async move {
            let hello = client
                .start(examples::HELLO, "hello", &"Ada".into())
                .await
                .unwrap();
            assert_eq!(hello.wait().await.unwrap(), "Hello, Ada!");
        })
    }),
    Recording::of("fan-out", |client| {
        Box::pin(async move {
            let sum = client
                .start(examples::FAN_OUT, "fan-out", &5)
                .await
                .unwrap();
            assert_eq!(sum.wait().await.unwrap(), 30);
        })
    }),
    Recording::of("status", |client| {
        Box::pin(async move {
            let status = client.start(examples::STATUS, "status", &5).await.unwrap();
            assert_eq!(status.wait().await.unwrap(), 7);
            assert_eq!(status.record().await.unwrap().custom_status, None);
        })
    }),
    Recording::of("views", |client| {
        Box::pin(async move {
            let views = client.start(examples::VIEWS, "views", &5).await.unwrap();
            assert_eq!(views.wait().await.unwrap(), 7);
            assert_eq!(views.view(examples::SO_FAR).await.unwrap(), Some(7));
            assert_eq!(views.view(examples::STEP).await.unwrap(), None);
        })
    }),
    Recording::of("attributes", |client| {
        Box::pin(async move {
            let start = client.start(examples::ATTRIBUTES, "attributes", &5);
            let attributes = start.attribute(examples::AMOUNT, 1).await.unwrap();
            assert_eq!(attributes.wait().await.unwrap(), 7);
            assert_eq!(attributes.attribute(examples::AMOUNT).await.unwrap(), None);
        })
    }),
    Recording::of("requests", |client| {
        Box::pin(async move {
            let start = client.start(examples::REQUESTS, "requests", &5);
            let requests = start.await.unwrap();
            // The asker has asked twice.
            waits(&requests, 6).await;
            let add = requests.request(examples::ADD, &7).id("request-1");
            assert_eq!(add.await, Ok(17));
            assert_eq!(requests.wait().await.unwrap(), 17);
        })
    }),
    Recording::of("saga", |client| {
        Box::pin(async move {
            let trip = client
                .start(examples::SAGA, "saga", &"Rome".into())
                .await
                .unwrap();
            assert!(trip.wait().await.is_err());
        })
    }),
    Recording::of("approval-granted", |client| {
        Box::pin(async move {
            let approval = client
                .start(examples::APPROVAL, "approval-granted", &7)
                .await
                .unwrap();
            waits(&approval, 4).await;
            approval
                .raise_with_id("m1", examples::DECISION, &true)
                .await
                .unwrap();
            assert!(approval.wait().await.unwrap());
        })
    }),
    Recording::of("approval-timed-out", |client| {
        Box::pin(async move {
            let approval = client
                .start(examples::APPROVAL, "approval-timed-out", &7)
                .await
                .unwrap();
            assert!(!approval.wait().await.unwrap());
        })
    }),
    Recording::of("approval-waiting", |client| {
        Box::pin(async move {
            let approval = client
                .start(examples::APPROVAL, "approval-waiting", &7)
                .await
                .unwrap();
            waits(&approval, 4).await;
        })
    }),
    Recording::of("approval-cancelled", |client| {
        Box::pin(async move {
            let approval = client
                .start(examples::APPROVAL, "approval-cancelled", &7)
                .await
                .unwrap();
            waits(&approval, 4).await;
            approval.cancel("no longer needed").await.unwrap();
            assert!(approval.wait().await.is_err());
        })
    }),
    Recording::of("polling", |client| {
        Box::pin(async move {
            let polling = client
                .start(examples::POLLING, "polling", &0)
                .await
                .unwrap();
            assert_eq!(polling.wait().await.unwrap(), 3);
        })
    }),
    Recording::of("tree", |client| {
        Box::pin(async move {
            let tree = client.start(examples::TREE, "tree", &2).await.unwrap();
            assert_eq!(tree.wait().await.unwrap(), 3);
        })
    }),
    Recording::of("race", |client| {
        Box::pin(async move {
            let race = client.start(examples::RACE, "race", &1).await.unwrap();
            assert_eq!(race.wait().await.unwrap(), "timer");
        })
    }),
    Recording::of("promise-kept", |client| {
        Box::pin(async move {
            let promise = client
                .start(examples::PROMISE, "promise-kept", &1)
                .await
                .unwrap();
            waits(&promise, 6).await;
            let token = promise.custom_status().await.unwrap().unwrap();
            client.resolve_promise(&token, &41_u64).await.unwrap();
            assert_eq!(promise.wait().await.unwrap(), 42);
        })
    }),
    Recording::of("promise-broken", |client| {
        Box::pin(async move {
            let promise = client
                .start(examples::PROMISE, "promise-broken", &1)
                .await
                .unwrap();
            waits(&promise, 6).await;
            let token = promise.custom_status().await.unwrap().unwrap();
            let failure = Failure::application("refused", "not today");
            client.reject_promise(&token, failure).await.unwrap();
            assert!(promise.wait().await.is_err());
        })
    }),
    Recording::of("messages", |client| {
        Box::pin(async move {
            let messages = client
                .start(examples::MESSAGES, "messages", &1)
                .await
                .unwrap();
            messages.wait().await.unwrap();
        })
    }),
    Recording::of("mailbox", |client| {
        Box::pin(async move {
            let mailbox = client
                .start(examples::MAILBOX, "mailbox", &2)
                .await
                .unwrap();
            for letter in ["bill", "love"] {
                let text = letter.to_string();
                let sent = mailbox.raise_with_id(letter, examples::LETTER, &text);
                sent.await.unwrap();
            }
            assert_eq!(mailbox.wait().await.unwrap(), ["bill", "love"]);
        })
    }),
    Recording::of("tape", |client| {
        Box::pin(async move {
            let tape = client.start(examples::TAPE, "tape", &2).await.unwrap();
            waits(&tape, 2).await;
            for letter in ["bill", "love", "post"] {
                let text = letter.to_string();
                let sent = tape.raise_with_id(letter, examples::LETTER, &text);
                sent.await.unwrap();
            }
            assert_eq!(tape.wait().await.unwrap(), ["bill", "love", "post"]);
        })
    }),
    Recording::of("patched-new", |client| {
        Box::pin(async move {
            let patched = client
                .start(examples::PATCHED, "patched-new", &1)
                .await
                .unwrap();
            assert_eq!(patched.wait().await.unwrap(), 3);
        })
    }),
    Recording::of("patched-old", |client| {
        Box::pin(async move {
            let patched = client
                .start(examples::PATCHED, "patched-old", &1)
                .await
                .unwrap();
            assert_eq!(patched.wait().await.unwrap(), 2);
        })
    })
    .before_a_patch(),
    Recording::of("version-one", |client| {
        Box::pin(async move {
            let one = examples::VERSIONS.at("1.0.0");
            let versions = client.start(one, "version-one", &1).await.unwrap();
            assert_eq!(versions.wait().await.unwrap(), "one");
        })
    }),
    Recording::of("version-two", |client| {
        Box::pin(async move {
            let versions = client
                .start(examples::VERSIONS, "version-two", &1)
                .await
                .unwrap();
            assert_eq!(versions.wait().await.unwrap(), "two");
        })
    }),
];

/// Waits until its history has come to this event; no time passes.
async fn waits<O>(instance: &InstanceHandle<O>, last_event: u64) {
    for _ in 0..10_000 {
        if instance.record().await.unwrap().last_event_id.get() >= last_event {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{} does not come to event {last_event}", instance.id());
}

/// What the code of the time leads to.
pub(crate) fn record(recording: &Recording) -> Vec<History> {
    let registry = if recording.is_current {
        examples::registry()
    } else {
        examples::registry_before_the_patch()
    };
    record_with(registry, recording)
}

/// The histories of everything that a story leaves in a store.
pub(crate) fn record_with(registry: Registry, recording: &Recording) -> Vec<History> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    tokio.block_on(async {
        let store = Arc::new(MemoryProvider::with_clock(TokioClock::default()));
        // Heartbeats are of no topic, and a month has many.
        let options = RuntimeOptions::default().session_timeout(Duration::from_secs(365 * 86_400));
        let node = Runtime::builder(store.clone(), registry)
            .options(options)
            .start()
            .await
            .unwrap();
        (recording.story)(node.client()).await;
        node.shutdown(Duration::from_secs(1)).await;
        let query = InstanceQuery::all().ordered(Order::BY_ID);
        let page = store.instances(&query, None, usize::MAX).await.unwrap();
        let mut histories = Vec::new();
        for record in page.instances {
            histories.extend(export_histories(&*store, &record.instance).await.unwrap());
        }
        histories
    })
}

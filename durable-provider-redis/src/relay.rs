//! Messages to other partitions: out of the sender's outbox, in order, into the receiver's
//! inbox.
//!
//! They are delivered at least once, by the node that comes first; the receiving partition
//! remembers the last number of each sender and drops what it had. An entry leaves the
//! outbox only when it was delivered.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::InstanceId;
use durable_core::provider::{IdReuse, OutgoingMessage, ProviderError};
use futures::future::join_all;
use redis::Cmd;

use crate::codec::message_of;
use crate::error::{self, Effect, unexpected};
use crate::keys::Partition;
use crate::receipt::{self, RequestedReceipt};
use crate::script::{self, Call};
use crate::store::Store;
use crate::turn::{declare_targets, push_message};

/// How many messages are read and delivered in one step.
const TOGETHER: usize = 100;

/// A message on its way.
struct OutboxEntry {
    stream_id: String,
    number: u64,
    message: OutgoingMessage,
    /// The sender, if it wants a receipt.
    sender: Option<InstanceId>,
}

impl OutboxEntry {
    fn receipt(&self) -> Option<RequestedReceipt<'_>> {
        RequestedReceipt::of(self.sender.as_ref()?, &self.message)
    }
}

type StoredEntry = (String, BTreeMap<String, Vec<u8>>);

impl Store {
    /// Delivers what waits in a partition's outbox. What cannot be delivered now stays.
    pub(crate) async fn relay_from(&self, source: &Partition) {
        if let Err(error) = self.try_relay_from(source).await {
            tracing::warn!(%error, partition = source.number, "messages to other partitions wait");
        }
    }

    async fn try_relay_from(&self, source: &Partition) -> Result<(), ProviderError> {
        let mut from = "-".to_owned();
        loop {
            let mut command = redis::cmd("XRANGE");
            command.arg(source.outbox()).arg(&from).arg("+");
            command.arg("COUNT").arg(TOGETHER);
            let stored: Vec<StoredEntry> = self.read(&command).await?;
            let Some((last, _)) = stored.last() else {
                return Ok(());
            };
            from = format!("({last}");
            let mut groups: BTreeMap<usize, Vec<OutboxEntry>> = BTreeMap::new();
            for (stream_id, fields) in stored {
                match read_entry(stream_id, &fields) {
                    Ok((partition, entry)) => groups.entry(partition).or_default().push(entry),
                    // It stays for inspection; the others go on.
                    Err(error) => tracing::error!(%error, "a message cannot be delivered"),
                }
            }
            let deliveries = groups
                .iter()
                .map(|(partition, entries)| self.deliver(source, *partition, entries));
            for delivered in join_all(deliveries).await {
                delivered?;
            }
        }
    }

    async fn deliver(
        &self,
        source: &Partition,
        target: usize,
        entries: &[OutboxEntry],
    ) -> Result<(), ProviderError> {
        let partition = self.partitions.get(target);
        let partition = partition.ok_or_else(|| unexpected("a partition that is not there"))?;
        let mut call = Call::new(&script::DELIVER, partition);
        call.args.count(source.number);
        let targets = entries.iter().map(|entry| entry.message.target.as_str());
        declare_targets(&mut call, targets);
        call.args.count(entries.len());
        for entry in entries {
            let target = entry.message.target.as_str();
            call.args.number(entry.number).push(target);
            push_message(&mut call.args, &entry.message, entry.receipt())?;
        }
        self.call(&call).await?;
        let mut remove: Cmd = redis::cmd("XDEL");
        remove.arg(source.outbox());
        for entry in entries {
            remove.arg(&entry.stream_id);
        }
        let removed = self.link().await?.send(&remove).await;
        removed.map_err(|error| error::of_call(&error, Effect::Writes))?;
        Ok(())
    }
}

fn read_entry(
    stream_id: String,
    fields: &BTreeMap<String, Vec<u8>>,
) -> Result<(usize, OutboxEntry), ProviderError> {
    let text = |name: &str| {
        let value = fields.get(name).cloned().unwrap_or_default();
        String::from_utf8(value).map_err(unexpected)
    };
    let number = stream_id.split_once('-').map_or("", |(number, _)| number);
    let number = number.parse().map_err(unexpected)?;
    let partition = text("p")?.parse().map_err(unexpected)?;
    let target = text("t")?;
    let bytes = fields.get("m").map(Vec::as_slice).unwrap_or_default();
    let message = message_of(format_args!("a message to `{target}`"), bytes)?;
    let mut message = OutgoingMessage::new(target.into(), message);
    let mut sender = None;
    if fields.contains_key("r") {
        let receipt = receipt::from_text(&text("r")?);
        let (wants_it, request) = receipt.ok_or_else(|| unexpected("a receipt"))?;
        message = message.receipt(request);
        sender = Some(wants_it);
    }
    message.reuse = match fields.get("u").map(Vec::as_slice) {
        None => IdReuse::Refuse,
        Some(b"u") => IdReuse::UseRunning,
        Some(b"w") => IdReuse::RestartEnded,
        Some(_) => return Err(unexpected("a policy for taken ids")),
    };
    let entry = OutboxEntry {
        stream_id,
        number,
        message,
        sender,
    };
    Ok((partition, entry))
}

/// Delivers what crashed senders left, and looks again whenever an outbox has messages.
pub(crate) async fn serve(store: Arc<Store>) {
    loop {
        let sources = store.partitions.iter();
        join_all(sources.map(|source| store.relay_from(source))).await;
        // Notified or by the poll interval: it looks either way.
        let notified = store.wakeups.outbox.notified();
        let _ = tokio::time::timeout(store.options.poll_interval, notified).await;
    }
}

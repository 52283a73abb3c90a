//! Streams: a list of items each, and in the record of their instance which of them are stored.

use std::collections::BTreeMap;

use durable_core::provider::{
    EmitOutcome, EmitRequest, ProviderError, SourceEvent, StreamBounds, StreamItem, StreamList,
    StreamPage, StreamSource,
};
use durable_core::{EventId, ExecutionId, InstanceId, Limits, Name, Payload};

use crate::keys::work_text;
use crate::script::{self, Args, Call};
use crate::store::Store;

/// What the field of a stream begins with; its name follows.
const FIELD: &str = "e:";
/// How many items or streams one page has at most: the server answers others meanwhile.
const LARGEST_PAGE: usize = 1_000;

/// How much of a stream is kept.
pub(crate) fn push_stream_limits(args: &mut Args, limits: &Limits) {
    args.number(limits.max_stream_items)
        .number(limits.max_stream_bytes);
}

impl Store {
    pub(crate) async fn emit(&self, emitted: &EmitRequest) -> Result<EmitOutcome, ProviderError> {
        let limits = &self.options.limits;
        limits.check_pushes(&emitted.items)?;
        let lease = &emitted.lease;
        let id = &lease.key.instance;
        let mut streams: BTreeMap<&Name, Vec<(u64, &Payload)>> = BTreeMap::new();
        let mut last = emitted.first_number;
        for (number, push) in (emitted.first_number..).zip(&emitted.items) {
            let items = streams.entry(&push.stream).or_default();
            items.push((number, &push.value));
            last = number;
        }
        let mut call = Call::new(&script::EMIT, self.partition(id));
        call.instance(id)
            .push(work_text(&lease.key))
            .number(lease.session.0)
            .number(lease.token)
            .number(emitted.attempt)
            .number(last);
        push_stream_limits(&mut call.args, limits);
        call.args.count(streams.len());
        for (name, items) in streams {
            call.keys.push(call.partition.stream(id, name));
            call.args.push(name.as_str()).count(items.len());
            for (number, value) in items {
                call.args.number(number).push(value.as_str());
            }
        }
        match self.call(&call).await?.0.as_str() {
            "ADDED" => Ok(EmitOutcome::Added),
            "LEASE_LOST" => Ok(EmitOutcome::LeaseLost),
            other => Err(Self::unexpected_status(&call, other)),
        }
    }

    pub(crate) async fn stream(
        &self,
        id: &InstanceId,
        stream: &Name,
        from: u64,
        max: usize,
    ) -> Result<StreamPage, ProviderError> {
        let mut call = Call::new(&script::READ_STREAM, self.partition(id));
        call.keys.extend(call.partition.instance_keys(id));
        call.keys.push(call.partition.stream(id, stream));
        call.args
            .push(stream.as_str())
            .number(from.min(1 << 53))
            .count(max.min(LARGEST_PAGE));
        let (status, mut reply) = self.call(&call).await?;
        if status == "NONE" {
            return Ok(StreamPage::default());
        }
        let damaged = || ProviderError::Damaged {
            reason: format!("stream `{stream}` of `{id}`"),
        };
        let bounds = bounds_of(&reply.text()?).ok_or_else(damaged)?;
        let mut stored = reply.list()?;
        let mut items = Vec::new();
        let mut offset = from.max(bounds.first);
        while !stored.is_empty() {
            items.push(item_of(offset, &stored.text()?).ok_or_else(damaged)?);
            offset += 1;
        }
        Ok(StreamPage::new(bounds, items))
    }

    pub(crate) async fn streams(
        &self,
        id: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<StreamList, ProviderError> {
        let max = max.min(LARGEST_PAGE);
        let mut names = self.stream_names(id).await?;
        names.retain(|name| after.is_none_or(|after| name > after));
        names.sort_unstable();
        names.truncate(max.saturating_add(1));
        let mut streams = Vec::with_capacity(names.len());
        if !names.is_empty() {
            let mut command = redis::cmd("HMGET");
            command.arg(self.partition(id).instance(id));
            for name in &names {
                command.arg(format!("{FIELD}{name}"));
            }
            let heads: Vec<Option<String>> = self.read(&command).await?;
            for (name, head) in names.into_iter().zip(heads) {
                // It may be gone since.
                let bounds = head.as_deref().and_then(bounds_of);
                streams.extend(bounds.map(|bounds| (name, bounds)));
            }
        }
        Ok(StreamList::first(streams, after, max))
    }

    /// The names of its streams.
    pub(crate) async fn stream_names(&self, id: &InstanceId) -> Result<Vec<Name>, ProviderError> {
        let mut command = redis::cmd("HKEYS");
        command.arg(self.partition(id).instance(id));
        let fields: Vec<Vec<u8>> = self.read(&command).await?;
        let names = fields.iter().filter_map(|field| str::from_utf8(field).ok());
        let names = names.filter_map(|field| field.strip_prefix(FIELD));
        Ok(names.map(Name::from).collect())
    }
}

/// `first:end:bytes`.
fn bounds_of(text: &str) -> Option<StreamBounds> {
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next()?.parse().ok();
    Some(StreamBounds {
        first: number()?,
        end: number()?,
        bytes: number()?,
    })
}

/// `time:source:value`; the source is `-`, or `execution.event.attempt.number`.
fn item_of(offset: u64, text: &str) -> Option<StreamItem> {
    let mut parts = text.splitn(3, ':');
    let added_at_ms = parts.next()?.parse().ok()?;
    let source = match parts.next()? {
        "-" => StreamSource::Orchestration,
        call => {
            let mut parts = call.splitn(4, '.');
            let execution_id = ExecutionId::new(parts.next()?.parse().ok()?);
            let event_id = EventId::new(parts.next()?.parse().ok()?);
            StreamSource::Activity {
                call: SourceEvent::new(execution_id, event_id),
                attempt: parts.next()?.parse().ok()?,
                number: parts.next()?.parse().ok()?,
            }
        }
    };
    let value = Payload::from(parts.next()?);
    Some(StreamItem::new(offset, source, added_at_ms, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_bounds_are_read_as_they_are_written() {
        let pushed = StreamItem::new(7, StreamSource::Orchestration, 12, "1:2".into());
        assert_eq!(item_of(7, "12:-:1:2"), Some(pushed));
        let call = SourceEvent::new(ExecutionId::new(3), EventId::new(4));
        let source = StreamSource::Activity {
            call,
            attempt: 2,
            number: 9,
        };
        let emitted = StreamItem::new(0, source, 12, "".into());
        assert_eq!(item_of(0, "12:3.4.2.9:"), Some(emitted));
        for damaged in ["", "12", "12:-", "12:3.4.2:1", "x:-:1"] {
            assert_eq!(item_of(0, damaged), None, "{damaged}");
        }
        let bounds = StreamBounds {
            first: 1,
            end: 2,
            bytes: 3,
        };
        assert_eq!(bounds_of("1:2:3"), Some(bounds));
        assert_eq!(bounds_of("1:2"), None);
    }
}

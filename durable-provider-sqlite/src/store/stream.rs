//! The streams of an instance. A turn that pushes nothing writes nothing here.

use std::collections::BTreeMap;

use durable_core::provider::{
    Change, EmitOutcome, EmitRequest, StreamBounds, StreamPush, StreamSource, TurnCommit,
};
use durable_core::{InstanceId, Limits, Name};
use rusqlite::{OptionalExtension, params};

use super::Store;
use super::work::RowKey;
use crate::error::Step;
use crate::number::{int, uint};
use crate::sql;

impl Store<'_, '_> {
    /// Adds what a turn pushed.
    pub(super) fn add_pushes(&mut self, key: i64, turn: &TurnCommit, limits: &Limits) -> Step<()> {
        let pushes = turn.pushes.iter();
        let items = pushes.map(|push| (push, StreamSource::Orchestration));
        self.add_items(key, &turn.lease.instance, items, limits)
    }

    pub(crate) fn emit(&mut self, emitted: &EmitRequest, limits: &Limits) -> Step<EmitOutcome> {
        let EmitRequest { lease, attempt, .. } = emitted;
        let Some(key) = self.emitting_work(lease)? else {
            return Ok(EmitOutcome::LeaseLost);
        };
        let added = self.emitted_under(key, lease.token)?;
        let numbered = (emitted.first_number..).zip(&emitted.items);
        let new: Vec<_> = numbered.filter(|(number, _)| *number >= added).collect();
        let Some((last, _)) = new.last() else {
            return Ok(EmitOutcome::Added);
        };
        let [instance, execution, event] = key.parameters();
        let counted = [instance, execution, event, int(lease.token), int(last + 1)];
        self.run(sql::WORK_EMITTED, counted)?;
        let source = |number| StreamSource::Activity {
            call: lease.key.source(),
            attempt: *attempt,
            number,
        };
        let items = new.into_iter().map(|(number, push)| (push, source(number)));
        self.add_items(key.instance_key, &lease.key.instance, items, limits)?;
        Ok(EmitOutcome::Added)
    }

    /// How many items were emitted under this token.
    fn emitted_under(&self, key: RowKey, token: u64) -> Step<u64> {
        let mut statement = self.statement(sql::WORK_EMITS)?;
        let emitted = statement.query_row(key.parameters(), |row| {
            let (of, count): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(of.filter(|of| uint(*of) == token).and(count))
        });
        Ok(emitted.optional()?.flatten().map_or(0, uint))
    }

    fn add_items<'a>(
        &mut self,
        key: i64,
        id: &InstanceId,
        items: impl Iterator<Item = (&'a StreamPush, StreamSource)>,
        limits: &Limits,
    ) -> Step<()> {
        let mut streams: BTreeMap<&Name, StreamBounds> = BTreeMap::new();
        let now_ms = int(self.state.now_ms);
        for (push, source) in items {
            let name = &push.stream;
            let bounds = match streams.entry(name) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => {
                    new.insert(self.stream_bounds(key, name)?)
                }
            };
            let (call, attempt, number) = match source {
                StreamSource::Orchestration => (None, None, None),
                StreamSource::Activity {
                    call,
                    attempt,
                    number,
                } => (Some(call), Some(attempt), Some(int(number))),
            };
            let row = params![
                key,
                name.as_str(),
                int(bounds.end),
                now_ms,
                call.map(|call| int(call.execution_id.get())),
                call.map(|call| int(call.event_id.get())),
                attempt,
                number,
                push.value.as_str(),
            ];
            self.run(sql::STREAM_ADD, row)?;
            bounds.end += 1;
            bounds.bytes += push.value.len() as u64;
        }
        if streams.is_empty() {
            return Ok(());
        }
        for (name, mut bounds) in streams {
            self.trim(key, name, &mut bounds, limits)?;
            let row = params![
                key,
                name.as_str(),
                int(bounds.first),
                int(bounds.end),
                int(bounds.bytes),
            ];
            self.run(sql::STREAM_WRITE, row)?;
        }
        self.note(Change::Streams(id.clone()));
        Ok(())
    }

    fn stream_bounds(&self, key: i64, name: &Name) -> Step<StreamBounds> {
        let mut statement = self.statement(sql::STREAM_READ)?;
        let bounds = statement.query_row(params![key, name.as_str()], |row| {
            Ok(StreamBounds {
                first: uint(row.get(0)?),
                end: uint(row.get(1)?),
                bytes: uint(row.get(2)?),
            })
        });
        Ok(bounds.optional()?.unwrap_or_default())
    }

    /// Removes the oldest items until the rest is within the limits.
    fn trim(&self, key: i64, name: &Name, bounds: &mut StreamBounds, limits: &Limits) -> Step<()> {
        let is_too_much = |bounds: &StreamBounds| {
            bounds.end - bounds.first > 1
                && (bounds.end - bounds.first > limits.max_stream_items
                    || bounds.bytes > limits.max_stream_bytes)
        };
        if !is_too_much(bounds) {
            return Ok(());
        }
        {
            let mut statement = self.statement(sql::STREAM_OLDEST)?;
            let mut oldest = statement.query(params![key, name.as_str()])?;
            while is_too_much(bounds) {
                let Some(row) = oldest.next()? else {
                    break;
                };
                let (offset, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
                bounds.first = uint(offset) + 1;
                bounds.bytes = bounds.bytes.saturating_sub(uint(bytes));
            }
        }
        self.run(
            sql::STREAM_TRIM,
            params![key, name.as_str(), int(bounds.first)],
        )?;
        Ok(())
    }
}

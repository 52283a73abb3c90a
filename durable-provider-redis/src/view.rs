//! Views: fields of the record of their instance. Reading them changes nothing.

use durable_core::provider::{ProviderError, SourceEvent, ViewChange, ViewPage, ViewRecord};
use durable_core::{EventId, ExecutionId, InstanceId, Name, Payload};

use crate::store::Store;

/// What the field of a view begins with; its name follows.
const FIELD: &str = "v:";
/// How many views one page has at most: the server answers others meanwhile.
const LARGEST_PAGE: usize = 1_000;

/// A new value as its field has it: `execution:event:time:value`. `None` clears the view.
pub(crate) fn view_text(source: SourceEvent, change: ViewChange<'_>) -> Option<String> {
    let SourceEvent {
        execution_id,
        event_id,
    } = source;
    let at_ms = change.changed_at_ms;
    let value = change.value?;
    Some(format!("{execution_id}:{event_id}:{at_ms}:{value}"))
}

/// The view that a field has; `None` if it was not written by [`view_text`].
pub(crate) fn view_of(name: Name, text: &str) -> Option<ViewRecord> {
    let mut parts = text.splitn(4, ':');
    let execution_id = ExecutionId::new(parts.next()?.parse().ok()?);
    let event_id = EventId::new(parts.next()?.parse().ok()?);
    let changed_at_ms = parts.next()?.parse().ok()?;
    let value = Payload::from(parts.next()?);
    let source = SourceEvent::new(execution_id, event_id);
    Some(ViewRecord::new(name, value, source, changed_at_ms))
}

impl Store {
    pub(crate) async fn view(
        &self,
        id: &InstanceId,
        name: &Name,
    ) -> Result<Option<ViewRecord>, ProviderError> {
        let found = self.stored_views(id, std::slice::from_ref(name)).await?;
        Ok(found.into_iter().next())
    }

    pub(crate) async fn views(
        &self,
        id: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<ViewPage, ProviderError> {
        let max = max.min(LARGEST_PAGE);
        let mut command = redis::cmd("HKEYS");
        command.arg(self.partition(id).instance(id));
        let fields: Vec<Vec<u8>> = self.read(&command).await?;
        let names = fields.iter().filter_map(|field| str::from_utf8(field).ok());
        let mut names: Vec<Name> = names
            .filter_map(|field| field.strip_prefix(FIELD))
            .map(Name::from)
            .filter(|name| after.is_none_or(|after| name > after))
            .collect();
        names.sort_unstable();
        names.truncate(max.saturating_add(1));
        let views = self.stored_views(id, &names).await?;
        Ok(ViewPage::first(views, after, max))
    }

    /// Those of these views that have a value.
    async fn stored_views(
        &self,
        id: &InstanceId,
        names: &[Name],
    ) -> Result<Vec<ViewRecord>, ProviderError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = redis::cmd("HMGET");
        command.arg(self.partition(id).instance(id));
        for name in names {
            command.arg(format!("{FIELD}{name}"));
        }
        let found: Vec<Option<Vec<u8>>> = self.read(&command).await?;
        let stored = names.iter().zip(&found).filter_map(|(name, bytes)| {
            let text = str::from_utf8(bytes.as_deref()?).ok();
            let view = text.and_then(|text| view_of(name.clone(), text));
            Some(view.ok_or_else(|| ProviderError::Damaged {
                reason: format!("view `{name}` of `{id}`"),
            }))
        });
        stored.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_survives_whatever_its_value() {
        let source = SourceEvent::new(ExecutionId::new(3), EventId::new(12));
        for value in ["", "1:2:3", "\u{0}", "{\"a\":\"ü\"}"] {
            let view = ViewRecord::new("cart".into(), value.into(), source, 17);
            let text = format!("3:12:17:{value}");
            assert_eq!(view_of("cart".into(), &text), Some(view));
        }
        for damaged in ["", "3", "3:12", "3:12:17", "x:12:17:1", "3:12:-1:1"] {
            assert_eq!(view_of("cart".into(), damaged), None, "{damaged}");
        }
    }
}

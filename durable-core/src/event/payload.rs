//! The texts in events that are the user's own: what a payload codec changes.
//!
//! A visitor gets references that live as long as the borrow of the event, so that a
//! codec may collect them first and put the changed texts back later, also across an
//! `await`. Names, ids and times are not among them.

use alloc::string::String;
use core::fmt;

use super::parts::Carried;
use super::role::Visit;
use crate::failure::Failure;
use crate::text::Payload;

/// One text of the user's in an event or a failure, which a payload codec may replace.
///
/// ```
/// use durable_core::{Event, EventId, PayloadMut};
///
/// let mut event = Event::StateSet {
///     event_id: EventId::new(2),
///     key: "cart".into(),
///     value: "[7]".into(),
/// };
/// let mut texts: Vec<PayloadMut<'_>> = Vec::new();
/// event.visit_payloads(&mut |text| texts.push(text));
/// assert_eq!(texts.len(), 1);
/// for mut text in texts {
///     let coded = text.as_str().replace('7', "8");
///     text.replace(coded);
/// }
/// assert!(matches!(event, Event::StateSet { value, .. } if value == "[8]"));
/// ```
pub struct PayloadMut<'a>(Text<'a>);

enum Text<'a> {
    Payload(&'a mut Payload),
    String(&'a mut String),
}

impl<'a> PayloadMut<'a> {
    /// A payload.
    pub fn of(payload: &'a mut Payload) -> Self {
        Self(Text::Payload(payload))
    }

    /// A text that is no payload, but may be as secret as one: a reason, a message.
    pub fn of_text(text: &'a mut String) -> Self {
        Self(Text::String(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Payload(payload) => payload,
            Text::String(text) => text,
        }
    }

    /// Puts another text in its place.
    pub fn replace(&mut self, text: String) {
        match &mut self.0 {
            Text::Payload(payload) => **payload = Payload::from(text),
            Text::String(old) => **old = text,
        }
    }
}

/// Its length alone: what it says may be secret.
impl fmt::Debug for PayloadMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadMut({} bytes)", self.as_str().len())
    }
}

impl Failure {
    /// Visits its message and its details, in this order.
    pub fn visit_payloads<'a>(&'a mut self, visit: &mut dyn FnMut(PayloadMut<'a>)) {
        visit(PayloadMut::of_text(&mut self.message));
        self.details.iter_mut().map(PayloadMut::of).for_each(visit);
    }
}

impl Carried {
    /// Visits the state, the unread events, the custom status and the reason of a
    /// cancellation, in this order.
    pub(super) fn visit_payloads<'a>(&'a mut self, visit: Visit<'_, 'a>) {
        let state = self.state.iter_mut().map(|(_, value)| value);
        let unread = self.unread_events.iter_mut().map(|event| &mut event.data);
        let payloads = state.chain(unread).chain(&mut self.custom_status);
        payloads.map(PayloadMut::of).for_each(&mut *visit);
        self.cancel_reason
            .iter_mut()
            .map(PayloadMut::of_text)
            .for_each(visit);
    }
}

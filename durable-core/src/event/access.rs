//! Questions that can be asked of any event.

use super::define::{Event, EventClass, EventKind};

impl EventKind {
    /// The number that is stored for this kind.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether events of this kind end the execution.
    pub const fn is_terminal(self) -> bool {
        matches!(self.class(), EventClass::Terminal | EventClass::Forced)
    }
}

impl Event {
    /// On which side of the code it stands.
    pub const fn class(&self) -> EventClass {
        self.kind().class()
    }

    /// Whether it came from outside and is delivered to the code.
    pub const fn is_input(&self) -> bool {
        matches!(self.class(), EventClass::Input)
    }

    /// Whether the code emitted it and goes on after it.
    pub const fn is_output(&self) -> bool {
        matches!(self.class(), EventClass::Output)
    }

    /// Whether it ends the execution.
    pub const fn is_terminal(&self) -> bool {
        self.kind().is_terminal()
    }

    /// Whether it ends the execution without the code having said so.
    pub const fn is_forced(&self) -> bool {
        matches!(self.class(), EventClass::Forced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_numbers_are_unique_and_found_again() {
        let mut last = 0;
        for kind in EventKind::ALL {
            assert!(kind.number() > last, "{kind}");
            last = kind.number();
            assert_eq!(EventKind::from_number(kind.number()), Some(*kind));
        }
        assert_eq!(EventKind::from_number(0), None);
        assert_eq!(EventKind::from_number(last + 1), None);
    }

    #[test]
    fn every_source_is_an_output_of_an_operation() {
        for kind in EventKind::ALL {
            if let Some(source) = kind.source_kind() {
                assert_eq!(source.class(), EventClass::Output, "{kind}");
                assert_eq!(source.source_kind(), None, "{kind}");
            }
        }
    }
}

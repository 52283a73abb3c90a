//! Where in the source a durable future was made.

use std::cmp::Ordering;
use std::panic::Location;

/// The place in the source of a call of a context's method.
///
/// Places are in order by file, line and column. Of two files the names decide first,
/// then the folders, innermost first: what stands before them is another on each machine
/// that builds the code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSite(&'static Location<'static>);

impl CallSite {
    /// The place from which the caller of this function was called, if that caller is
    /// `#[track_caller]` itself.
    #[track_caller]
    pub(crate) fn of_caller() -> Self {
        Self(Location::caller())
    }

    /// The order of two places.
    pub(super) fn order(self, other: Self) -> Ordering {
        if std::ptr::eq(self.0, other.0) {
            return Ordering::Equal;
        }
        let position = |site: Self| (site.0.line(), site.0.column());
        file_order(self.0.file(), other.0.file()).then_with(|| position(self).cmp(&position(other)))
    }
}

fn file_order(one: &str, other: &str) -> Ordering {
    if one == other {
        return Ordering::Equal;
    }
    parts(one).cmp(parts(other))
}

/// The file and its folders, innermost first, whatever separates them.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn made() -> CallSite {
        CallSite::of_caller()
    }

    #[test]
    fn places_of_one_file_are_in_the_order_of_the_source() {
        let (first, second) = (made(), made());
        let third = made();
        assert_eq!(first.order(second), Ordering::Less);
        assert_eq!(second.order(third), Ordering::Less);
        assert_eq!(third.order(first), Ordering::Greater);
    }

    #[test]
    fn one_place_is_equal_to_itself_however_often_it_is_reached() {
        let sites: Vec<CallSite> = (0..2).map(|_| made()).collect();
        assert_eq!(sites[0].order(sites[1]), Ordering::Equal);
    }

    #[test]
    fn where_the_sources_lie_does_not_matter() {
        for prefix in ["", "/build/ada/", "/b/", "C:\\build\\"] {
            let here = format!("{prefix}shop/src/order.rs");
            let there = format!("{prefix}shop/src/pack.rs");
            assert_eq!(file_order(&here, "src/pack.rs"), Ordering::Less);
            assert_eq!(file_order("src/order.rs", &there), Ordering::Less);
            assert_eq!(file_order(&here, &there), Ordering::Less);
            assert_eq!(file_order(&here, &here), Ordering::Equal);
        }
        let (unix, windows) = ("a/src/lib.rs", "b\\src\\lib.rs");
        assert_eq!(file_order(unix, windows), Ordering::Less);
    }
}

//! How a memory is a row, in either database.

use agent::{Expiry, MemoryClass, MemoryId, MemoryKind};
use system::AbsPath;

/// Milliseconds in a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The columns of a memory, in the order in which both databases read them.
pub(crate) const COLUMNS: &str = "m.id, m.project, m.session_id, m.type, m.class, m.title, m.content, m.pinned, \
    m.created_at, m.updated_at, m.surfaced_at, m.expires_at";

/// Returns the SQL expression for the weight of a memory's class and type.
pub(crate) fn weight_of_class_and_type() -> String {
    let whens = |weights: &[(&str, i64)]| -> String {
        weights.iter().map(|(id, weight)| format!(" WHEN '{id}' THEN {weight}")).collect()
    };
    let classes = whens(&MemoryClass::ALL.map(|class| (class.id(), class.weight())));
    let kinds = whens(&MemoryKind::ALL.map(|kind| (kind.id(), kind.weight())));
    format!("CASE m.class{classes} ELSE 0 END + CASE m.type{kinds} ELSE 0 END")
}

/// Returns a stored project. A damaged path becomes that of the kernel's empty file, which is no
/// project.
pub(crate) fn project(stored: &str) -> AbsPath {
    AbsPath::new(stored).unwrap_or_else(|_| AbsPath::new("/dev/null").expect("it is absolute"))
}

/// Returns when a memory expires that is stored now.
pub(crate) fn end(now: i64, expiry: Expiry) -> Option<i64> {
    match expiry {
        Expiry::Never => None,
        Expiry::Days(days) => Some(now.saturating_add(i64::from(days).saturating_mul(DAY_MS))),
    }
}

/// Returns the id of a memory's row.
pub(crate) fn row_id(id: MemoryId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}

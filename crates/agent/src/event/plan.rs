//! The plan that clients display.

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The step's text.
    pub content: String,
    /// Its priority.
    pub priority: PlanPriority,
    /// Its status.
    pub status: PlanStatus,
}

/// The priority of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum PlanPriority {
    High,
    Medium,
    Low,
}

/// The status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

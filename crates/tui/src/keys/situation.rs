//! Where a key is pressed, and in which state of it.

/// The part of the interface that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The message that is being written.
    Composer,
    /// The search of older messages.
    Search,
    /// A permission request that has the focus.
    Permission,
    /// The reason for a rejection.
    Reason,
    /// A question that has the focus.
    Question,
    /// A list to choose from.
    Picker,
    /// The opened panel of plan and agents.
    Agents,
    /// The transcript.
    Transcript,
    /// The message while the last turn has failed. A letter is typed and acts with Enter behind it,
    /// as nothing else may be taken from what the user writes; any other key acts at once.
    Failure,
    /// Everywhere, after the actions of the place.
    Anywhere,
}

/// All places, in the order in which the keys are listed.
pub const PLACES: [Place; 10] = [
    Place::Composer,
    Place::Search,
    Place::Permission,
    Place::Reason,
    Place::Question,
    Place::Picker,
    Place::Agents,
    Place::Transcript,
    Place::Failure,
    Place::Anywhere,
];

impl Place {
    /// Returns its name for lists of keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Composer => "message",
            Self::Search => "search of older messages",
            Self::Permission => "permission request",
            Self::Reason => "reason for a rejection",
            Self::Question => "question",
            Self::Picker => "list",
            Self::Agents => "plan and agents",
            Self::Transcript => "transcript",
            Self::Failure => "failed turn",
            Self::Anywhere => "everywhere",
        }
    }
}

/// Where a key is pressed, and the facts that decide what it does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// The part that has the keys.
    pub place: Place,
    /// Whether the composer is empty.
    pub empty: bool,
    /// Whether a turn runs.
    pub running: bool,
    /// Whether completions are shown.
    pub completing: bool,
    /// Whether a permission request or a question waits without the focus.
    pub asked: bool,
    /// Whether a message waits for its turn.
    pub waiting: bool,
    /// Whether the session can only be read, because another process holds it.
    pub held: bool,
}

impl Situation {
    /// Returns the situation of an idle, empty composer, or of another place beside it.
    pub fn idle(place: Place) -> Self {
        Self {
            place,
            empty: true,
            running: false,
            completing: false,
            asked: false,
            waiting: false,
            held: false,
        }
    }
}

/// A condition on a [`Situation`]; `None` leaves a fact open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    empty: Option<bool>,
    running: Option<bool>,
    completing: Option<bool>,
    asked: Option<bool>,
    waiting: Option<bool>,
    held: Option<bool>,
}

impl When {
    /// Holds always.
    pub const ALWAYS: Self =
        Self { empty: None, running: None, completing: None, asked: None, waiting: None, held: None };
    /// Completions are shown.
    pub const COMPLETING: Self = Self { completing: Some(true), ..Self::ALWAYS };
    /// A permission request or a question waits.
    pub const ASKED: Self = Self { asked: Some(true), ..Self::ALWAYS };
    /// The composer is empty.
    pub const EMPTY: Self = Self { empty: Some(true), ..Self::ALWAYS };
    /// The composer is empty, and a message waits for its turn.
    pub const EMPTY_WITH_WAITING: Self = Self { waiting: Some(true), ..Self::EMPTY };
    /// The composer is empty, and the session can only be read.
    pub const HELD_AND_EMPTY: Self = Self { held: Some(true), ..Self::EMPTY };
    /// The composer is empty, and no turn runs.
    pub const IDLE_AND_EMPTY: Self = Self { running: Some(false), ..Self::EMPTY };
    /// A turn runs.
    pub const RUNNING: Self = Self { running: Some(true), ..Self::ALWAYS };
    /// A turn runs, and the composer is not empty.
    pub const RUNNING_WITH_TEXT: Self = Self { empty: Some(false), ..Self::RUNNING };

    /// Returns whether the condition holds.
    pub fn holds(&self, now: &Situation) -> bool {
        [
            (self.empty, now.empty),
            (self.running, now.running),
            (self.completing, now.completing),
            (self.asked, now.asked),
            (self.waiting, now.waiting),
            (self.held, now.held),
        ]
        .into_iter()
        .all(|(wanted, is)| wanted.is_none_or(|wanted| wanted == is))
    }

    /// Returns whether this condition holds wherever the other does.
    pub fn covers(&self, other: &Self) -> bool {
        [
            (self.empty, other.empty),
            (self.running, other.running),
            (self.completing, other.completing),
            (self.asked, other.asked),
            (self.waiting, other.waiting),
            (self.held, other.held),
        ]
        .into_iter()
        .all(|(own, others)| own.is_none() || own == others)
    }

    /// Returns the condition in words; empty if it holds always.
    pub fn in_words(&self) -> String {
        let facts = [
            (self.completing, "completions are shown", "no completions are shown"),
            (self.asked, "something is asked", "nothing is asked"),
            (self.empty, "the message is empty", "there is text"),
            (self.waiting, "a message waits", "no message waits"),
            (self.running, "a turn runs", "no turn runs"),
            (self.held, "the session is read-only", "the session is open"),
        ];
        let words = facts.into_iter().filter_map(|(fact, yes, no)| Some(if fact? { yes } else { no }));
        words.collect::<Vec<_>>().join(", ")
    }
}

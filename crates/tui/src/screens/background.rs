//! The question about the colour of the terminal's background.
//!
//! It is asked once. Behind it goes a question that every terminal answers: once that answer is
//! there, no other will come.

/// What is known of the colour of the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Background {
    state: State,
    /// The questions on their way that every terminal answers.
    fences: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It was not asked for.
    #[default]
    Unasked,
    /// The answer is awaited.
    Asked,
    /// The terminal answered, or does not know the question.
    Known(Option<[u8; 3]>),
}

impl Background {
    /// Takes that questions were asked of which every terminal answers the last one.
    pub(super) fn asked_otherwise(&mut self) {
        self.fences = self.fences.saturating_add(1);
    }

    /// Returns whether the colour is to be asked for now, and takes that it is.
    pub(super) fn ask(&mut self) -> bool {
        let asks = self.state == State::Unasked;
        if asks {
            self.state = State::Asked;
            self.fences = self.fences.saturating_add(1);
        }
        asks
    }

    /// Takes the answer.
    pub(super) fn answered(&mut self, colour: [u8; 3]) {
        self.state = State::Known(Some(colour));
    }

    /// Takes the answer that every terminal gives.
    pub(super) fn passed(&mut self) {
        self.fences = self.fences.saturating_sub(1);
        if self.fences == 0 && self.state == State::Asked {
            self.state = State::Known(None);
        }
    }

    /// Whether the answer is awaited.
    pub(super) fn is_awaited(self) -> bool {
        self.state == State::Asked
    }

    /// Returns the colour, if the terminal has answered.
    pub(super) fn colour(self) -> Option<[u8; 3]> {
        match self.state {
            State::Known(colour) => colour,
            State::Unasked | State::Asked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_once_and_no_longer_awaited_after_the_answer_to_what_follows_it() {
        let mut background = Background::default();
        background.asked_otherwise();
        assert!(background.ask() && !background.ask());
        background.passed();
        assert!(background.is_awaited(), "that was the answer to the questions before");
        background.passed();
        assert!(!background.is_awaited() && background.colour().is_none() && !background.ask());
    }

    #[test]
    fn an_answer_is_kept() {
        let mut background = Background::default();
        assert!(background.ask());
        background.answered([1, 2, 3]);
        background.passed();
        assert_eq!(background.colour(), Some([1, 2, 3]));
        assert!(!background.is_awaited());
    }
}

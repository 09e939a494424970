//! The directories that a session works in: as they are spelled, for display and for editors, and
//! with links resolved, because decisions are about real paths.

use crate::limits::ROOT_WAIT;
use std::collections::HashMap;
use system::{AbsPath, System};
use tokio::time::timeout;

/// The directories of a session.
#[derive(Debug)]
pub(super) struct Roots {
    /// The session's directory and the additional ones.
    spelled: Vec<AbsPath>,
    /// The same, followed by those that a link leads to.
    all: Vec<AbsPath>,
    /// Where each directory led when the session first worked in it.
    real: HashMap<AbsPath, AbsPath>,
}

impl Roots {
    pub(super) fn of(cwd: &AbsPath, additional: Vec<AbsPath>) -> Self {
        let spelled: Vec<_> = std::iter::once(cwd.clone()).chain(additional).collect();
        Self { all: spelled.clone(), spelled, real: HashMap::new() }
    }

    /// Returns the directories as they are spelled, the session's own first.
    pub(super) fn spelled(&self) -> &[AbsPath] {
        &self.spelled
    }

    /// Returns the directories in each of their spellings, the session's own first.
    pub(super) fn all(&self) -> &[AbsPath] {
        &self.all
    }

    /// Forgets where the directories lead, because the system is another one.
    pub(super) fn forget(&mut self) {
        self.real.clear();
        self.all.clone_from(&self.spelled);
    }

    /// Changes the directories. One that was not known is looked up; a link that is changed later
    /// does not lead the session elsewhere.
    pub(super) async fn change(&mut self, system: &dyn System, cwd: &AbsPath, additional: Vec<AbsPath>) {
        self.spelled = std::iter::once(cwd.clone()).chain(additional).collect();
        for root in &self.spelled {
            if self.real.contains_key(root) {
                continue;
            }
            if let Ok(Ok(real)) = timeout(ROOT_WAIT, system.resolve(root)).await {
                self.real.insert(root.clone(), real);
            }
        }
        self.all.clone_from(&self.spelled);
        for root in &self.spelled {
            if let Some(real) = self.real.get(root).filter(|real| !self.all.contains(real)) {
                self.all.push(real.clone());
            }
        }
    }
}

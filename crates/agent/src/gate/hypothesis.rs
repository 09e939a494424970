//! Hypothetical calls: the decision that a new session would make.

use super::{
    lookup::{confinement, resolved},
    roots::Roots,
};
use crate::{
    Access, Effect, RuntimeOptions,
    policy::{self, CommandConfinement, Decision, Grants, Policy, Resolved, Subject},
};
use system::{AbsPath, System};

/// A hypothetical call.
pub(crate) struct Question<'a> {
    pub(crate) tool: &'a str,
    pub(crate) effect: Effect,
    pub(crate) accesses: Vec<Access>,
}

/// Returns the outcome of each rule for a call in a new session, and the decision.
pub(crate) async fn explain(
    options: &RuntimeOptions,
    system: &dyn System,
    cwd: &AbsPath,
    question: Question<'_>,
) -> Vec<(&'static str, String)> {
    let in_question = Hypothesis::new(options, system, cwd, question).await;
    in_question.ask(policy::chain)
}

/// Returns the decision about a call in a new session.
pub(crate) async fn verdict(
    options: &RuntimeOptions,
    system: &dyn System,
    cwd: &AbsPath,
    question: Question<'_>,
) -> Decision {
    let in_question = Hypothesis::new(options, system, cwd, question).await;
    in_question.ask(policy::decide)
}

/// A hypothetical call in a hypothetical session.
struct Hypothesis<'a> {
    options: &'a RuntimeOptions,
    question: Question<'a>,
    roots: Roots,
    accesses: Vec<Resolved>,
    grants: Grants,
    confinement: CommandConfinement,
}

impl<'a> Hypothesis<'a> {
    async fn new(
        options: &'a RuntimeOptions,
        system: &dyn System,
        cwd: &AbsPath,
        question: Question<'a>,
    ) -> Self {
        let mut roots = Roots::of(cwd, Vec::new());
        roots.change(system, cwd, Vec::new()).await;
        let view = system::View { roots: roots.all().to_vec(), ..system::View::default() };
        let mut accesses = Vec::with_capacity(question.accesses.len());
        for access in &question.accesses {
            accesses.push(resolved(system, access.clone(), None, cwd, &view).await);
        }
        let bounds = options.bounds(options.start.mode, roots.spelled(), None);
        let (confinement, _) = confinement(system, &bounds, &accesses, None).await;
        Self { options, question, roots, accesses, grants: Grants::default(), confinement }
    }

    fn ask<T>(&self, ask: impl FnOnce(&Policy<'_>, &Subject<'_>) -> T) -> T {
        let options = self.options;
        let policy = Policy {
            mode: options.start.mode,
            permission_mode: options.start.permission_mode,
            settings: options.policy(),
            readable: Vec::new(),
            temp: None,
            grants: &self.grants,
            confinement: self.confinement,
            apart: false,
        };
        let Question { tool, effect, .. } = self.question;
        ask(&policy, &Subject { tool, effect, accesses: &self.accesses, roots: self.roots.all() })
    }
}

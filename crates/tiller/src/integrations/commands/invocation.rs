//! Calls a function from the command line.

use super::{
    CommandContext,
    rows::{CallRow, FunctionResult},
};
use crate::input::read_stdin;
use crate::{
    answer::{Answer, Failure, Kind},
    args::OneFunction,
    integrations::{
        AccountAdvice,
        call_line::{self, CallLine},
    },
};
use ::integrations::{Blocked, Call, CallError, Files};
use anyhow::Result;
use serde_json::Value;

impl CommandContext<'_> {
    pub(super) async fn call(&self, name: &str, words: &[String]) -> Result<Answer> {
        let (integration, function) = self.function(name).await?;
        let CallLine { given, account, force, dry_run, help, .. } =
            call_line::read(words, &function, &mut read_stdin)?;
        if help {
            return self.docs(&OneFunction { name: name.to_owned() }).await;
        }
        let advice = AccountAdvice::of(&self.integrations, &integration.name).await;
        let account = account.unwrap_or_else(|| advice.default_account().to_owned());
        let missing_credentials = advice.missing_credentials(&integration, &function, &account);
        let files = Some(Files { system: self.system.clone(), cwd: self.cwd.clone() });
        let call = Call { integration, function, account, raw_arguments: given, force, dry_run, files };
        // The user typed the file names, so they are already approved.
        let denial = self.integrations.denial(self.options, self.cwd, &call, false).await;
        let outcome = match self.integrations.caller.call(&call, &self.switches, denial).await {
            Ok(outcome) => outcome,
            Err(CallError::Blocked(blocked)) => match (&blocked, missing_credentials) {
                (Blocked::NotActive(name), _) => {
                    let next = format!("tiller integrations enable {name}");
                    return Err(Failure::new(Kind::Config, blocked.to_string()).next(next).into());
                }
                (Blocked::NoCredentials { .. }, Some(why)) => {
                    return Err(Failure::new(Kind::Auth, why).into());
                }
                _ => return Err(blocked.into()),
            },
            Err(error) => return Err(error.into()),
        };
        let text = match (&outcome.error, &outcome.data) {
            (Some(error), _) => failure_message(error, &call, self),
            (None, Value::String(text)) => format!("{}\n", text.trim_end()),
            (None, data) => format!("{data:#}\n"),
        };
        let success = outcome.success();
        let result = FunctionResult {
            function: outcome.function,
            data: outcome.data,
            error: outcome.error,
            meta: CallRow {
                dry_run: outcome.meta.dry_run,
                operation: outcome.meta.operation,
                permission_bypassed: outcome.meta.forced,
                account: outcome.meta.account,
                pages: outcome.meta.pages,
            },
            duration_ms: outcome.took.as_millis().try_into().unwrap_or(u64::MAX),
        };
        Ok(Answer::new(result, text).failed_if(!success, "the call failed"))
    }
}

/// Returns the text for a failed call: the error, and a hint if it needed permission.
fn failure_message(error: &str, call: &Call, context: &CommandContext<'_>) -> String {
    let permission = context.switches.permission(&call.integration.name, call.function.operation);
    let waits = permission == ::integrations::Permission::Ask && !call.force && !call.dry_run;
    let (name, operation) = (&call.integration.name, call.function.operation.id());
    let hint =
        format!("`tiller integrations configure {name} --{operation} allow`, or --force for this call\n");
    if waits { format!("{error}\n{hint}") } else { format!("{error}\n") }
}

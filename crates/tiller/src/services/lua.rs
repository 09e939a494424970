//! `lua/execute`: runs scripts of a client in the scope of its session.

use super::Services;
use crate::{
    integrations::IntegrationFunctions,
    scripts::{Callable, run_script},
};
use ::lua::{CPU_MAX, MEMORY_MAX, MEMORY_MIN, RunLimits, Script};
use acp::native::{ExecuteLua, LuaRuntime, LuaSource, RequestContext, ServiceError};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Runs a script and returns its report: a script that fails is not an error of the request.
pub(super) async fn execute(
    services: &Services,
    context: &RequestContext,
    run: ExecuteLua,
) -> Result<Value, ServiceError> {
    let ExecuteLua { runtime, source, cpu_limit, memory_limit, force } = run;
    let direct = services.direct(context, force).await?;
    let (name, code) = match source {
        LuaSource::Code(code) => ("lua".to_owned(), code),
        LuaSource::Path(path) => {
            let file = context.cwd.join(&path);
            let text = direct.outside().system.read_text(&file, None).await;
            let text = text
                .map_err(|_why| ServiceError::InvalidParams(format!("Lua file is not readable: {path}")))?;
            (file.file_name().unwrap_or("lua").to_owned(), text)
        }
    };
    let default = RunLimits::default();
    let memory = memory_limit.map_or(default.memory, |bytes| usize::try_from(bytes).unwrap_or(MEMORY_MAX));
    let cpu =
        cpu_limit.map_or(default.cpu, |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(CPU_MAX));
    let limits = RunLimits { memory: memory.clamp(MEMORY_MIN, MEMORY_MAX), cpu: cpu.min(CPU_MAX), ..default };
    let callable = match runtime {
        LuaRuntime::Integrations => Callable::AllFunctions,
        LuaRuntime::Mcp => Callable::Servers,
    };
    let script = Script { name, code, limits, ..Script::default() };
    let switches = Arc::new(services.current_options(context).await?.switches());
    let integrations = services.extensions.integrations.clone();
    let functions = IntegrationFunctions::new(integrations, Arc::new(move || switches.clone()));
    let report = run_script(&direct, callable, functions, script).await;
    direct.close().await;
    Ok(direct.without_secrets(json!({
        "success": report.error.is_none(),
        "output": report.output,
        "error": report.error,
        "result": report.value,
        "values": report.values,
        "execution_time_ms": milliseconds(report.took),
        "memory_usage": report.memory,
        "integration_calls": report.calls,
        "meta": { "permission_bypassed": force },
    })))
}

/// Converts to milliseconds, rounded to three decimals.
pub(super) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

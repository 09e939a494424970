//! Every script ends.

use crate::scripts::report;
use lua::{MEGABYTE, NoFunctions, NoHost, RunLimits, Script, run};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// An upper bound that is sufficient on a busy machine, and far below what these scripts would take
/// without limits.
const AT_MOST: Duration = Duration::from_secs(30);

fn short() -> RunLimits {
    RunLimits { cpu: Duration::from_millis(200), ..RunLimits::default() }
}

#[tokio::test]
async fn endless_loops_end() {
    let loops = [
        "while true do end",
        "repeat until false",
        "::again:: goto again",
        "local function f() return f() end f()",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() pcall(f) return f() end f()",
        "local f f = function() xpcall(function() while true do end end, f) return f() end f()",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.wrap(function() while true do pcall(function() while true do end end) end end)() end",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
        "setmetatable({}, {__index = function(t, k) return t[k + 1] end})[1] = nil while true do end",
        // Functions that run where no hook interrupts them.
        "xpcall(function() while true do end end, function() while true do end end)",
        "local m = {} local t = setmetatable({}, m) m.__gc = function() while true do end end t = nil while true do end",
        "for _ in function() return 1 end do end",
        "table.sort({1, 2, 3}, function() while true do end end)",
        "return ('x'):gsub('x', function() while true do end end)",
        "load(function() while true do end end)",
        // C code of the interpreter's own library, which no hook interrupts.
        "return ('a'):rep(40):find(('a*'):rep(40) .. 'b')",
        "return ('a'):rep(100000):find('.-.-.-b')",
        "return ('a'):rep(100000):gsub('.-b', '')",
        "for _ in ('a'):rep(100000):gmatch('a*a*a*b') do end",
        "return ('('):rep(100000):match(('%b()'):rep(3)) or ('('):rep(1000000):find('%b()')",
    ];
    for code in loops {
        let began = Instant::now();
        let report = report(code, short()).await;
        assert_eq!(report.error.as_deref(), Some("CPU limit of 0.2 s exceeded."), "{code}: {report:?}");
        assert!(began.elapsed() < AT_MOST, "{code}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn tables_with_a_len_metamethod_are_refused() {
    for (code, expected) in [
        ("table.move({}, 1, 1e15, 2)", "table.move: too many elements"),
        ("table.move({}, '1', '1000000000000000', 2)", "table.move: too many elements"),
        (
            "table.insert(setmetatable({}, {__len = function() return 1e15 end}), 1, 1)",
            "table.insert: a table with __len is not supported here",
        ),
        (
            "table.remove(setmetatable({}, {__len = function() return 1 << 50 end, __metatable = 1}), 1)",
            "table.remove: a table with __len is not supported here",
        ),
    ] {
        let report = report(code, short()).await;
        let error = report.error.unwrap_or_default();
        assert!(error.ends_with(expected), "{code}: {error}");
    }
}

#[tokio::test]
async fn memory_bombs_end_with_the_memory_limit() {
    let bombs = [
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "return ('x'):rep(1 << 40)",
        "return table.concat({('x'):rep(1 << 22), ('x'):rep(1 << 22)}, ('y'):rep(1 << 23))",
        "return (('x'):rep(1 << 20):gsub('x', ('y'):rep(1 << 20)))",
        "return (regex.gsub(('x'):rep(1 << 20), 'x', ('y'):rep(1 << 20)))",
        "local t = {} while true do t[#t + 1] = coroutine.create(print) end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
    ];
    for code in bombs {
        let limits = RunLimits { memory: 8 * MEGABYTE, ..RunLimits::default() };
        let began = Instant::now();
        let report = report(code, limits).await;
        let error = report.error.clone().unwrap_or_default();
        let ends = ["Memory limit of 8 MB exceeded.", "resulting string too large"];
        assert!(ends.iter().any(|end| error.ends_with(end)), "{code}: {error}");
        assert!(report.memory <= 9 * MEGABYTE, "{code}: {}", report.memory);
        assert!(began.elapsed() < AT_MOST, "{code}: {:?}", began.elapsed());
    }
    // A script that catches the memory error is ended by the CPU limit.
    let code = "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end";
    let report = report(code, short()).await;
    assert_eq!(report.error.as_deref(), Some("CPU limit of 0.2 s exceeded."));
}

#[tokio::test]
async fn deep_recursion_ends() {
    for (code, expected) in [
        ("local function f() return 1 + f() end return f()", "Memory limit of 32 MB exceeded."),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. 'x'] end return t.a",
            "overflow",
        ),
        ("local s = ('('):rep(1000) return load('return ' .. s)()", "attempt to call a nil value"),
        (
            "return json.encode((function() local t = {} for i = 1, 1000 do t = {t} end return t end)())",
            "too deeply",
        ),
        ("return ('x'):rep(1000):match(('(x'):rep(20) .. ('x?'):rep(1000))", "pattern too complex"),
        ("local function f(s) return (s:gsub('x', f)) end return f('x')", "overflow"),
        ("local function f() return tostring(setmetatable({}, {__tostring = f})) end return f()", "overflow"),
    ] {
        let error = report(code, RunLimits::default()).await.error.unwrap_or_default();
        assert!(error.contains(expected), "{code}: {error}");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_with_the_time_limit() {
    let limits = RunLimits { wall: Duration::from_millis(100), ..RunLimits::default() };
    let report = report("while true do end", limits).await;
    assert_eq!(report.error.as_deref(), Some("Time limit of 0.1 s exceeded."));
}

#[tokio::test]
async fn a_running_script_can_be_cancelled() {
    let cancel = CancellationToken::new();
    let script = Script { code: "while true do end".to_owned(), ..Script::default() };
    let running = run(script, Arc::new(NoFunctions), Arc::new(NoHost), &cancel);
    let (report, ()) = tokio::join!(running, async { cancel.cancel() });
    assert!(report.cancelled);
    assert_eq!(report.error.as_deref(), Some("The run was cancelled."));
}

//! What scripts can and cannot do.

use lua::{NoFunctions, NoHost, Report, RunLimits, Script, run};
use std::{collections::BTreeMap, sync::Arc};
use tokio_util::sync::CancellationToken;

pub(crate) async fn report(code: &str, limits: RunLimits) -> Report {
    let script = Script { name: "lua".to_owned(), code: code.to_owned(), limits, ..Script::default() };
    run(script, Arc::new(NoFunctions), Arc::new(NoHost), &CancellationToken::new()).await
}

/// Returns the value of a script, or `! ` and its error.
async fn outcome(code: &str) -> String {
    let report = report(code, RunLimits::default()).await;
    match report.error {
        Some(error) => format!("! {error}"),
        None => report.value.unwrap_or_default(),
    }
}

async fn check(rows: &[(&str, &str)]) {
    for (code, expected) in rows {
        assert_eq!(outcome(code).await, *expected, "{code}");
    }
}

#[tokio::test]
async fn returned_values_are_reported() {
    check(&[
        ("1 + 1", "2"),
        ("return 'a', nil, {1}", "a\tnil\t[\n  1\n]"),
        ("return", ""),
        ("return nil", ""),
        ("x = 3 return _G.x", "3"),
        ("return tostring({a = 1})", "{\n  a: 1\n}"),
        ("return json.encode({a = {1, 2}, b = json.null})", r#"{"a":[1,2],"b":null}"#),
        ("return json.decode('[1, {\"a\": null}]')[1]", "1"),
        ("return #json.decode('[null, null]')", "2"),
        (
            "return pcall(json.decode, '{')",
            "false\tjson.decode: EOF while parsing an object at line 1 column 1",
        ),
        ("return regex.match('a1b22', '[a-z](\\\\d+)')[2]", "1"),
        ("return #regex.match_all('a1b22', '\\\\d+')", "2"),
        ("return regex.gsub('a1b22', '(\\\\d)', '<$1>')", "a<1>b<2><2>\t3"),
        ("return regex.gsub('ab', '.', function(m) return m[1]:upper() end)", "AB\t2"),
    ])
    .await;
}

#[tokio::test]
async fn our_functions_behave_like_those_they_replace() {
    check(&[
        ("return xpcall(function(a) return a, 2 end, print, 1)", "true\t1\t2"),
        ("return xpcall(error, function(e) return e .. '!' end, 'no')", "false\tno!"),
        ("local next = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return next(1), next(4)", "2\t8"),
        ("local f = coroutine.wrap(function() error('no', 0) end) return pcall(f)", "false\tno"),
        ("return pcall(setmetatable({}, {__call = function() error('e', 0) end}))", "false\te"),
        ("local t = {} for w in ('a b'):gmatch('%a') do t[#t + 1] = w end return #t", "2"),
    ])
    .await;
}

#[tokio::test]
async fn errors_name_the_line() {
    check(&[
        ("error('no')", "! lua:1: no"),
        ("\nlocal x = nil\nreturn x.y", "! lua:3: attempt to index a nil value (local 'x')"),
        ("return (", "! lua:1: unexpected symbol near <eof>"),
        ("__x = 1", "! lua:1: Lua code may not assign __-prefixed bridge globals."),
        (
            "regex.match('a', '(')",
            "! invalid regular expression: regex parse error:\n    (\n    ^\nerror: unclosed group",
        ),
        ("app.tools.file_read{path = 'x'}", "! app.tools is available inside an agent turn only."),
        (
            "app.mcp.x.y{}",
            "! Unknown function: app.mcp.x.y. Use lua_list_docs to discover available functions.",
        ),
        ("app.tools = 1", "! lua:1: app is read-only"),
        ("return mcp.resources('srv')", "! MCP server 'srv' has neither resources nor prompts here."),
    ])
    .await;
}

#[tokio::test]
async fn a_script_cannot_leave_its_sandbox() {
    let names = ["io", "os", "debug", "package", "require", "dofile", "loadfile", "collectgarbage"];
    for name in names {
        assert_eq!(outcome(&format!("return type({name})")).await, "nil", "{name}");
    }
    check(&[
        ("return string.dump", ""),
        ("return load('return 1 + 1')()", "2"),
        ("return load('x = 1', 'c', 't', {})()", ""),
        // The first bytes of Lua bytecode.
        ("return load('\\27Lua', 'c', 'b')", "nil\tattempt to load a binary chunk (mode is 't')"),
        ("setmetatable({}, {__gc = function() end})", "! __gc is not supported here"),
        ("return getmetatable(_G), getmetatable(app)", "false\tfalse"),
    ])
    .await;
}

#[tokio::test]
async fn printed_text_stays_in_order_and_within_its_limit() {
    let report = report("print('a', {1}) local x = dump(2) return x", RunLimits::default()).await;
    assert_eq!((report.output.as_str(), report.value.as_deref()), ("a\t[\n  1\n]\n2\n", Some("2")));
    let report = self::report("for i = 1, 400 do print(('x'):rep(1000)) end", RunLimits::default()).await;
    assert!(report.output.len() < 300_000 && report.output.ends_with(" more bytes)\n"));
}

#[tokio::test]
async fn additional_globals_need_plain_names() {
    for (name, fails) in [("given", false), ("__given", true), ("a-b", true), ("1a", true), ("", true)] {
        let globals = BTreeMap::from([(name.to_owned(), serde_json::json!({ "a": [7] }))]);
        let script = Script { code: "return given.a[1]".to_owned(), globals, ..Script::default() };
        let report = run(script, Arc::new(NoFunctions), Arc::new(NoHost), &CancellationToken::new()).await;
        assert_eq!(report.error.is_some(), fails, "{name}: {report:?}");
        assert_eq!(report.value.as_deref(), (!fails).then_some("7"), "{name}");
    }
}

#[tokio::test]
async fn patterns_follow_lua() {
    check(&[
        ("return ('hello world'):find('o w')", "5\t7"),
        ("return ('hello'):find('l+')", "3\t4"),
        ("return ('hello'):find('(h)(.)')", "1\t2\th\te"),
        ("return ('hello'):find('xyz')", ""),
        ("return ('a.b'):find('.', 1, true)", "2\t2"),
        ("return ('a.b'):find('.', 2, false)", "2\t2"),
        ("return ('abc'):find('b', -1)", ""),
        ("return ('abc'):find('', 10)", ""),
        ("return ('abc'):find('', 4)", "4\t3"),
        ("return ('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key\tvalue"),
        ("return ('  x '):match('^%s*(.-)%s*$')", "x"),
        ("return ('THE (quick) fox'):find('%((%a+)%)')", "5\t11\tquick"),
        ("return ('f(a(b)c)d'):match('%b()')", "(a(b)c)"),
        ("return ('THE (quick) fox'):gsub('%f[%a]%a+', string.lower)", "the (quick) fox\t3"),
        ("return ('hello hello'):match('(%w+) %1')", "hello"),
        ("return ('abc'):match('()b()')", "2\t3"),
        ("return ('[]]'):match('[]]+')", "]]"),
        ("return ('a-z'):match('[a%-z]+')", "a-z"),
        ("return ('x^y'):match('[^x]')", "^"),
        ("return ('abc'):gsub('', '-')", "-a-b-c-\t4"),
        ("return ('abc'):gsub('%w', '%0%0', 2)", "aabbc\t2"),
        ("return ('$name is $age'):gsub('%$(%w+)', {name = 'Lua', age = 30})", "Lua is 30\t2"),
        ("return ('abc'):gsub('b', false)", "! bad argument #3 to 'gsub': string, function or table expected, not (a boolean)"),
        ("return ('abc'):gsub('b', function() return nil end)", "abc\t1"),
        ("local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[#t + 1] = k .. v end return table.concat(t, ' ')", "a1 b2"),
        ("local n = 0 for w in ('one two'):gmatch('%a*') do n = n + 1 end return n", "2"),
        ("return ('x'):match('[a')", "! malformed pattern (missing ']')"),
        ("return ('x'):match('%')", "! malformed pattern (ends with '%')"),
        ("return ('x'):match('(x')", "! unfinished capture"),
        ("return ('x'):match('x)')", "! invalid pattern capture"),
        ("return ('x'):match('%1')", "! invalid capture index %1 in pattern"),
        ("return ('x'):gsub('x', '%2')", "! invalid capture index %2 in replacement string"),
        ("return string.rep('ab', 3, '-')", "ab-ab-ab"),
        ("return #string.rep('', 1e15)", "0"),
        ("local t = {1, 3} table.insert(t, 2, 2) table.remove(t, 1) return table.concat(t, ',')", "2,3"),
        ("return table.concat(table.move({1, 2, 3}, 1, 3, 2, {0}), ',')", "0,1,2,3"),
    ])
    .await;
}

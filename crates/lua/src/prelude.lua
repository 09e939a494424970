-- The parts of the environment that are simpler to write in Lua. Runs before the script, under the
-- same limits.
local bridge = ...
local type, error, tonumber, tostring, rawget, rawset = type, error, tonumber, tostring, rawget, rawset
local concat = table.concat

-- Errors of the host are raised as plain strings, so that a script that catches one can read it.
local function or_raise(ok, value)
  if not ok then
    error(value, 0)
  end
  return value
end

-- Text only: bytecode can break the interpreter.
local original_load = load
function load(chunk, name, _, ...)
  return original_load(chunk, name, "t", ...)
end

-- No finalizers: they run where the limit hook cannot interrupt them.
local original_setmetatable = setmetatable
function setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("__gc is not supported here", 2)
  end
  return original_setmetatable(t, meta)
end

-- An exceeded limit is an error raised inside the hook. The original xpcall would run the handler
-- there, where no hook can interrupt it; this one runs the handler after the error.
local pcall, pack, unpack = pcall, table.pack, table.unpack
function xpcall(f, handler, ...)
  local result = pack(pcall(f, ...))
  if result[1] then
    return unpack(result, 1, result.n)
  end
  return false, handler(result[2])
end

-- These functions loop in C, where a length from a `__len` metamethod could make them run forever.
local function require_raw_length(name)
  local original = table[name]
  table[name] = function(t, ...)
    if bridge.has_length(t) then
      error("table." .. name .. ": a table with __len is not supported here", 2)
    end
    return original(t, ...)
  end
end
require_raw_length("insert")
require_raw_length("remove")

local original_move = table.move
function table.move(from, first, last, ...)
  local from_number, to_number = tonumber(first), tonumber(last)
  if from_number and to_number and to_number - from_number > bridge.most_moved then
    error("table.move: too many elements", 2)
  end
  return original_move(from, first, last, ...)
end

local original_rep = string.rep
function string.rep(s, n, separator)
  if s == "" and (separator == nil or separator == "") then
    return ""
  end
  return original_rep(s, n, separator)
end

-- app.tools.NAME, app.mcp.SERVER.TOOL, app.integrations.PROVIDER[.ACCOUNT].FUNCTION: each index
-- adds a name to the path, and a call calls it.
local function node(kind, path)
  return original_setmetatable({}, {
    __index = function(_, name)
      local extended = {}
      for i = 1, #path do extended[i] = path[i] end
      extended[#extended + 1] = tostring(name)
      return node(kind, extended)
    end,
    __newindex = function() error("app is read-only", 2) end,
    __call = function(_, ...) return or_raise(bridge.call(kind, path, ...)) end,
    __tostring = function() return "app." .. kind .. (#path > 0 and "." .. concat(path, ".") or "") end,
    __metatable = false,
  })
end
local namespaces = { tools = node("tools", {}), mcp = node("mcp", {}), integrations = node("integrations", {}) }
app = original_setmetatable({}, {
  __index = namespaces,
  __newindex = function() error("app is read-only", 2) end,
  __metatable = false,
})

json = {
  encode = function(value, pretty) return or_raise(bridge.encode(value, pretty)) end,
  decode = function(text) return or_raise(bridge.decode(text)) end,
  null = bridge.null,
}

docs = {
  list = function(namespace) return bridge.docs("list", namespace) end,
  search = function(query, limit) return bridge.docs("search", query, limit) end,
  read = function(page) return bridge.docs("read", page) end,
}

mcp = {
  call = function(server, tool, ...) return or_raise(bridge.call("mcp", { server, tool }, ...)) end,
}
for _, name in ipairs({ "servers", "tools", "schema", "resources", "read_resource", "prompts", "get_prompt" }) do
  mcp[name] = function(...) return or_raise(bridge.servers(name, ...)) end
end

original_setmetatable(_G, {
  __newindex = function(globals, name, value)
    if type(name) == "string" and name:sub(1, 2) == "__" then
      error("Lua code may not assign __-prefixed bridge globals.", 2)
    end
    rawset(globals, name, value)
  end,
  __metatable = false,
})

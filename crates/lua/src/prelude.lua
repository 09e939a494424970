-- What is easier said in Lua. Runs before the script, as every line of it does under the limits.
local bridge = ...
local type, error, tonumber, tostring, rawget, rawset = type, error, tonumber, tostring, rawget, rawset
local concat = table.concat

-- Errors from beyond are plain strings, so that a script that catches one can read it.
local function or_raise(well, value)
  if not well then
    error(value, 0)
  end
  return value
end

-- Text only: bytecode can break the interpreter.
local load_any = load
function load(chunk, name, _, ...)
  return load_any(chunk, name, "t", ...)
end

-- No finalizers: they run where nothing interrupts them.
local setmetatable_any = setmetatable
function setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("__gc is not supported here", 2)
  end
  return setmetatable_any(t, meta)
end

-- A limit is an error that is raised inside of a hook, where a handler would run and no other hook would interrupt it: here it runs after the error.
local pcall, pack, unpack = pcall, table.pack, table.unpack
function xpcall(f, handler, ...)
  local said = pack(pcall(f, ...))
  if said[1] then
    return unpack(said, 1, said.n)
  end
  return false, handler(said[2])
end

-- Loops in C that a made-up length would let run for ever.
local function real_length(name)
  local any = table[name]
  table[name] = function(t, ...)
    if bridge.has_length(t) then
      error("table." .. name .. ": a table with __len is not supported here", 2)
    end
    return any(t, ...)
  end
end
real_length("insert")
real_length("remove")

local move_any = table.move
function table.move(from, first, last, ...)
  local from_number, to_number = tonumber(first), tonumber(last)
  if from_number and to_number and to_number - from_number > bridge.most_moved then
    error("table.move: too many elements", 2)
  end
  return move_any(from, first, last, ...)
end

local rep_any = string.rep
function string.rep(s, n, separator)
  if s == "" and (separator == nil or separator == "") then
    return ""
  end
  return rep_any(s, n, separator)
end

-- app.tools.NAME, app.mcp.SERVER.TOOL, app.integrations.PROVIDER[.ACCOUNT].FUNCTION: a name after the other, then a call.
local function node(kind, path)
  return setmetatable_any({}, {
    __index = function(_, name)
      local longer = {}
      for i = 1, #path do longer[i] = path[i] end
      longer[#longer + 1] = tostring(name)
      return node(kind, longer)
    end,
    __newindex = function() error("app is read-only", 2) end,
    __call = function(_, ...) return or_raise(bridge.call(kind, path, ...)) end,
    __tostring = function() return "app." .. kind .. (#path > 0 and "." .. concat(path, ".") or "") end,
    __metatable = false,
  })
end
local parts = { tools = node("tools", {}), mcp = node("mcp", {}), integrations = node("integrations", {}) }
app = setmetatable_any({}, {
  __index = parts,
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

setmetatable_any(_G, {
  __newindex = function(globals, name, value)
    if type(name) == "string" and name:sub(1, 2) == "__" then
      error("Lua code may not assign __-prefixed bridge globals.", 2)
    end
    rawset(globals, name, value)
  end,
  __metatable = false,
})

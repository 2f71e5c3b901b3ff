-- graph.lua - who uses whom: the modules of lua/kernelband by their requires, the files of core
-- by their includes, and the layers both must keep. Printed by make graph, checked by
-- spec_layers.lua.
--
--   g = graph.lua(folder)    folder: of the records of make check (*.requires), or nil
--   g = graph.core()
--       { layers = { names, lowest first }, of = { [node] = layer }, uses = { [node] = { [node] =
--         where it was seen } } }
--   list = graph.faults(g, known)      sentences: references upwards, cycles, nodes in no layer
local core = require "kernelband.core"

local graph = {}
local system = core.system

-- Lowest first. A module belongs to the layer of its folder's name; the table below has the rest.
local lua_layers = { "base", "emit", "triton", "store", "task", "llm", "generator", "policy",
  "evaluate", "worker", "search", "trace", "bench", "report", "face", "cli" }

local homes = {
  search = "triton.task",      -- a whole search's task: with its worker, generator and strategies
  face = "kernelband",
}

-- Cycles that are there: these texts are about all verbs, their own too. One that is gone must
-- go from here too.
graph.known = {
  ["cli.doc.completion"] = "cli",
  ["cli.doc.man"] = "cli",
}

-- The same, by names put together as the program runs: seen only in the records of make check.
local lazy = { "cli.doc.completion cli.doc", "cli.doc.man cli.doc" }

local core_layers = { "core", "bandit", "measure", "system", "device", "cpu", "cuda/compile",
  "cuda/counters", "cuda", "cuda/inject", "net", "lua", "main" }

-- Files of core/ itself that are above its other files.
local core_homes = {
  ["core/device.c"] = "device", ["core/device.h"] = "device",
  ["core/device_types.h"] = "device", ["core/main.c"] = "main",
}

local function walk(folder, ext, found)
  for _, name in ipairs(assert(system.list(folder))) do
    local path = folder .. "/" .. name
    if system.exists(path) == "dir" then
      walk(path, ext, found)
    elseif name:match(ext) then
      found[#found + 1] = path
    end
  end
  return found
end

local function short(name) return (name:gsub("^kernelband%.", "")) end

local function module_of(path)
  local name = path:match "lua/(kernelband.*)%.lua$":gsub("/", "."):gsub("%.init$", "")
  return name, short(name)
end

local function layer_of_module()
  local of, known = {}, {}
  for layer, names in pairs(homes) do
    for name in names:gmatch "%S+" do of[name] = layer end
  end
  for _, layer in ipairs(lua_layers) do known[layer] = true end
  return setmetatable(of, { __index = function(_, name)
    local folder = name:match "^%w+"
    return known[folder] and folder or nil
  end })
end

function graph.lua(folder)
  local g = { layers = lua_layers, of = {}, uses = {}, gone = {} }
  local layer, full = layer_of_module(), {}
  local files = walk(system.lib_dir() .. "/lua/kernelband", "%.lua$", {})
  for _, path in ipairs(files) do
    local long, name = module_of(path)
    full[long], g.of[name], g.uses[name] = name, layer[name] or false, {}
  end
  for name in pairs(layer) do if not g.uses[name] then g.gone[#g.gone + 1] = name end end
  for _, path in ipairs(files) do
    local _, name = module_of(path)
    for line in assert(system.read_file(path)):gsub("%-%-[^\n]*", ""):gmatch "[^\n]+" do
      for word in line:gmatch '"(kernelband%.[%w_.]*)"' do
        if full[word] and full[word] ~= name then g.uses[name][full[word]] = "its text" end
      end
      if line:find 'require[ (]*"kernelband"' then g.uses[name].kernelband = "its text" end
    end
  end
  for _, file in ipairs(folder and system.exists(folder) and assert(system.list(folder)) or {}) do
    for line in (file:find "%.requires$" and assert(system.read_file(folder .. "/" .. file)) or "")
        :gmatch "[^\n]+" do
      local from, to = line:match "^(%S+) (%S+)$"
      from, to = full[from], full[to]
      if from and to and from ~= to and not g.uses[from][to] then g.uses[from][to] = file end
    end
  end
  return g
end

function graph.core()
  local g = { layers = core_layers, of = {}, uses = {}, gone = {} }
  local files, known = walk("core", "%.[ch]u?$", {}), {}
  for _, path in ipairs(files) do known[path] = true end
  for _, path in ipairs(files) do
    local folder = path:match "^core/(.*)/" or "core"
    g.of[path], g.uses[path] = core_homes[path] or folder, {}
    for name in assert(system.read_file(path)):gmatch '#%s*include "([^"]+)"' do
      local beside = path:match "^.*/" .. name
      g.uses[path][known[beside] and beside or "core/" .. name] = "its text"
    end
  end
  return g
end

function graph.sorted(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function ranks(g)
  local rank = {}
  for i, layer in ipairs(g.layers) do rank[layer] = i end
  return rank
end

-- The first cycle found from `node` over edges that are not in skip, as a list.
local function cycle(g, skip, node, state, trail)
  state[node], trail[#trail + 1] = "open", node
  for _, to in ipairs(graph.sorted(g.uses[node] or {})) do
    if not skip[node .. " " .. to] then
      if state[to] == "open" then
        trail[#trail + 1] = to
        return trail
      end
      local found = not state[to] and cycle(g, skip, to, state, trail)
      if found then return found end
    end
  end
  state[node], trail[#trail] = "done", nil
end

local function check_known(g, known, out)
  local skip = {}
  for from, words in pairs(known) do
    for to in words:gmatch "%S+" do skip[from .. " " .. to] = true end
  end
  for _, edge in ipairs(graph.sorted(skip)) do
    local from, to = edge:match "^(%S+) (%S+)$"
    if not (g.uses[from] and g.uses[from][to]) then
      out[#out + 1] = ("%s no longer uses %s: take it from graph.known"):format(from, to)
    end
  end
  for _, edge in ipairs(lazy) do skip[edge] = true end
  return skip
end

function graph.faults(g, known)
  local out, rank, up = {}, ranks(g), {}
  for _, name in ipairs(g.gone) do
    out[#out + 1] = name .. " is no module any more: take it from the table of tests/lib/graph.lua"
  end
  for _, from in ipairs(graph.sorted(g.uses)) do
    if not rank[g.of[from] or ""] then
      out[#out + 1] = from .. " is in no layer: put it into one in tests/lib/graph.lua"
    end
    for to in pairs(g.uses[from]) do
      local a, b = rank[g.of[from] or ""], rank[g.of[to] or ""]
      if not g.uses[to] then out[#out + 1] = ("%s uses %s, which is nowhere"):format(from, to) end
      if a and b and b > a then up[from .. " " .. to] = g.uses[from][to] end
    end
  end
  local skip = check_known(g, known, out)
  for _, edge in ipairs(graph.sorted(up)) do
    local from, to = edge:match "^(%S+) (%S+)$"
    if not skip[edge] then
      out[#out + 1] = ("%s (%s) uses %s (%s), a layer above it; seen in %s"):format(from,
        g.of[from], to, g.of[to], up[edge])
    end
  end
  local state = {}
  for _, node in ipairs(graph.sorted(g.uses)) do
    local found = not state[node] and cycle(g, skip, node, state, {})
    if found then
      out[#out + 1] = "a cycle: " .. table.concat(found, " -> ")
      break
    end
  end
  return out
end

-- Text: layers from the top, what each uses, then its nodes. And the layers for graphviz.
local function text(title, g)
  local between, members = {}, {}
  for _, layer in ipairs(g.layers) do between[layer], members[layer] = {}, {} end
  for _, from in ipairs(graph.sorted(g.uses)) do
    local layer = g.of[from] or g.layers[1]
    table.insert(members[layer], from)
    for to in pairs(g.uses[from]) do
      local other = g.of[to] or layer
      if other ~= layer then between[layer][other] = (between[layer][other] or 0) + 1 end
    end
  end
  local out, dot = { title }, { "digraph g {", "node [shape=box]" }
  for i = #g.layers, 1, -1 do
    local layer, words = g.layers[i], {}
    for _, to in ipairs(graph.sorted(between[layer])) do
      words[#words + 1] = ("%s %d"):format(to, between[layer][to])
      dot[#dot + 1] = ('"%s" -> "%s" [label=%d]'):format(layer, to, between[layer][to])
    end
    out[#out + 1] = ("%s (%d) uses %s"):format(layer, #members[layer], #words > 0
                    and table.concat(words, ", ") or "nothing below")
    for _, name in ipairs(members[layer]) do
      out[#out + 1] = ("  %-20s %s"):format(name, table.concat(graph.sorted(g.uses[name]), " "))
    end
  end
  dot[#dot + 1] = "}\n"
  return table.concat(out, "\n") .. "\n", table.concat(dot, "\n")
end

-- As a script: prints both; with graphviz, FOLDER/lua.svg and FOLDER/core.svg.
if arg and arg[0] and arg[0]:match "graph%.lua$" then
  local folder, records = arg[1], arg[2]
  local drawn = os.execute "command -v dot >/dev/null"
  assert(system.mkdir_p(folder))
  for _, one in ipairs { { "lua", graph.lua(records) }, { "core", graph.core() } } do
    local shown, dot = text(one[1] .. ":", one[2])
    print(shown)
    assert(system.write_file(("%s/%s.dot"):format(folder, one[1]), dot))
    if drawn then
      os.execute(("dot -Tsvg %s/%s.dot -o %s/%s.svg"):format(folder, one[1], folder, one[1]))
      print(("%s/%s.svg"):format(folder, one[1]))
    end
  end
  if not drawn then print "no SVG: graphviz is not installed (package graphviz)" end
end

return graph

-- count.lua - lines of code by folder, without blank lines and comments: make count.
-- Python's docstrings are comments.
local core = require "kernelband.core"
local system = core.system

-- Blanks out comments, keeps line ends. Strings are skipped, so that what looks like a
-- comment in one is none.
local function strip(text, rules)
  local out, at = {}, 1
  local function keep_lines(s) out[#out + 1] = s:gsub("[^\n]+", "") end
  while at <= #text do
    local hit
    for _, rule in ipairs(rules) do
      local _, last = text:find("^" .. rule[1], at)
      if last and rule.close then
        local _, far = text:find(rule.close(text:sub(at, last)), last + 1)
        last = far or #text
      end
      if last then
        hit = text:sub(at, last)
        if rule.comment then keep_lines(hit) else out[#out + 1] = hit end
        at = last + 1
        break
      end
    end
    if not hit then
      out[#out + 1] = text:match("^.[^-%[\"'/#]*", at)
      at = at + #out[#out]
    end
  end
  return table.concat(out)
end

local function long_close(open) return "%]" .. open:match "%[(=*)%[" .. "%]" end
local quoted = { '"[^"\\\n]*', close = function() return '"' end }

-- A string's body as one pattern: Lua has no alternation, so escapes go first.
local function without_escapes(text) return (text:gsub("\\\\", "xx"):gsub("\\['\"]", "xx")) end

local languages = {
  c = { { "/%*", comment = true, close = function() return "%*/" end },
        { "//[^\n]*", comment = true }, quoted, { "'[^'\n]*'" } },
  lua = { { "%-%-%[=*%[", comment = true, close = long_close }, { "%-%-[^\n]*", comment = true },
          { "%[=*%[", close = long_close }, quoted, { "'[^'\n]*'" } },
  py = { { '"""', comment = true, close = function() return '"""' end },
         { "#[^\n]*", comment = true }, quoted, { "'[^'\n]*'" } },
}
languages.h, languages.cu = languages.c, languages.c
languages["in"] = { { "%% %-%-[^\n]*", comment = true } }        -- of generated files

local function count(path, ext)
  local text = assert(system.read_file(path))
  local code, n, all = strip(without_escapes(text), languages[ext]), 0, 0
  for line in code:gmatch "[^\n]*" do if line:find "%S" then n = n + 1 end end
  for _ in text:gmatch "\n" do all = all + 1 end
  return n, all
end

local groups = {}

local function add(name, path, ext)
  local g = groups[name] or { files = 0, code = 0, all = 0 }
  local n, all = count(path, ext)
  g.files, g.code, g.all = g.files + 1, g.code + n, g.all + all
  groups[name] = g
end

local kinds = { c = "C", h = "C", cu = "CUDA", lua = "Lua", py = "Python",
                ["in"] = "templates" }

local function walk(folder, top)
  for _, name in ipairs(assert(system.list(folder))) do
    local path, ext = folder .. "/" .. name, name:match "%.(%l+)$"
    if system.exists(path) == "dir" then
      walk(path, top)
    elseif kinds[ext] then
      add(("%s %s"):format(folder, kinds[ext]), path, ext)
      add(("%s (all) %s"):format(top, kinds[ext]), path, ext)
    end
  end
end

for _, top in ipairs { "core", "lua", "policies", "strategies", "examples", "tests" } do
  walk(top, top)
end
local names = {}
for name in pairs(groups) do names[#names + 1] = name end
table.sort(names)
print(("%-46s %6s %8s %8s"):format("", "files", "code", "lines"))
for _, name in ipairs(names) do
  local g = groups[name]
  print(("%-46s %6d %8d %8d"):format(name, g.files, g.code, g.all))
end

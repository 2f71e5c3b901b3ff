-- cli/doc/changes.lua - what changed in this version. Old names are those that are still accepted:
-- from the tables that accept them.
local fence = require "kernelband.base.fence"
local kb    = require "kernelband"
local path  = require "kernelband.base.path"
local text  = require "kernelband.base.text"

local changes = {}

local head = [[
# KernelBand %s: what changed since 0.1

Runs made by 0.1 can be resumed, reported, exported and verified. An old name below still works in
this version and not in the next.

## New
- `kernelband lab POLICY.lua` compares a policy with the shipped ones.
- `kernelband doc api` prints the Lua interface, `kernelband doc changes` this text.
- `kernelband run` ends with a table of the shapes and what to do with the winner. Progress is one
  line on a terminal.
- Policies get `ctx.pool`, the verified kernels, fastest first, `ctx.pending`, the pulls under way,
  `ctx.open_strategies`, `ctx.fastest` and `ctx.draw`. Hooks `admit` and `learn` are optional.

## Changed
- `kernelband verify`, `eval` and every other verb name the argument that is missing.
- `kernelband list --json` prints its keys in order.
- Options of `core.gp`: `scale` is `signal`, `kin` is `correlation`; `keep` does nothing. Methods
  `excess` and `excesses` are `improvement` and `improvements`.

## Policy parameters without effect
A script may still set them; a message says what replaced each.
]]

-- What a policy file says of parameters it had.
local function removed(out)
  local folder = path.find "policies"
  for _, file in ipairs(folder and path.files(folder, ".lua") or {}) do
    local policy = fence.load(file)
    for _, name in ipairs(text.keys(policy.removed or {})) do
      out[#out + 1] = ("- `%s` of policies/%s: %s"):format(name, path.base(file),
                                                          policy.removed[name])
    end
  end
end

function changes.markdown()
  local out, old = { (head:format(kb.version):gsub("\n$", "")) }, getmetatable(kb).old_names
  removed(out)
  out[#out + 1] = "\n## Modules with a new name"
  for _, name in ipairs(text.keys(old)) do
    out[#out + 1] = ("- `kernelband.%s` is `kernelband.%s`"):format(name, old[name])
  end
  return table.concat(out, "\n") .. "\n"
end

return changes

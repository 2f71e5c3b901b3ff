-- spaces.lua - the recorded spaces of the benches: three public ones (benchmark_hub of the
-- AutoTuningAssociation, MIT) where KERNELBAND_SPACES names a folder that has them, with
-- their axes grouped as sensible strategies; else our own recordings.
local kb   = require "kernelband"
local path = require "kernelband.base.path"

local spaces = {}

local public = {
  { "ktt-convolution-rtx2080ti.json.gz", {
    block = { "BLOCK_SIZE_X", "BLOCK_SIZE_Y" },
    tile = { "TILE_SIZE_X", "TILE_SIZE_Y", target = "l2" },
    read_only = { "READ_ONLY", target = "dram" }, shared = { "PADDING", target = "l2" } } },
  { "ktt-pnpoly-rtx2080ti.json.gz", {
    block = { "BLOCK_SIZE_X" }, tile = { "TILE_SIZE", target = "l2" },
    between = { "BETWEEN_METHOD" }, use = { "USE_METHOD" } } },
  { "t4-convolution-a4000.json.gz", {
    block = { "block_size_x", "block_size_y" },
    tile = { "tile_size_x", "tile_size_y", target = "l2" },
    read_only = { "read_only", target = "dram" },
    shared = { "use_shmem", "use_padding", target = "l2" } } },
}

-- The three public spaces, or nil and why.
function spaces.public()
  local folder = os.getenv "KERNELBAND_SPACES"
  if not folder then return nil, "KERNELBAND_SPACES names no folder of recorded spaces" end
  local out = {}
  for i, space in ipairs(public) do
    local file = folder .. "/" .. space[1]
    if not kb.core.system.exists(file) then return nil, file .. " is not there" end
    out[i] = kb.trace(file, { strategies = space[2] })
  end
  return out
end

function spaces.own()
  local folder, out = path.find "examples/traces", {}
  for _, file in ipairs(folder and path.files(folder, ".jsonl.gz") or {}) do
    out[#out + 1] = kb.trace(file)
  end
  if #out == 0 then return nil, "there are no recordings in examples/traces" end
  return out
end

function spaces.all()
  local list, why = spaces.public()
  if list then return list end
  local own, also = spaces.own()
  return own, also and why .. ", and " .. also
end

return spaces

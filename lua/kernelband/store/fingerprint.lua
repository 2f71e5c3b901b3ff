-- store/fingerprint.lua - hashes of the files a search is made of, so that a run is gone on
-- with by what it was begun with.

local collect = require("kernelband.base.lists").collect
local core = require "kernelband.core"

local fingerprint = {}

local function hash_of_files(files)
  return core.system.hash(table.concat(collect(files, function(file)
    local text = core.system.exists(file) == "file" and core.system.read_file(file)
    return text and core.system.hash(text) or file
  end), " "))
end

local function task_files(task)
  local files = { task.file }
  local language = task.language
  for _, kind in ipairs { "reference", "baseline" } do
    files[#files + 1] = task[kind] and task[kind][language]
  end
  if task.schedule then files[#files + 1] = task.schedule.file end
  return files
end

-- { task, policy, strategies }. An environment may bring a hash of its own.
function fingerprint.of(task, policy_file, strategies)
  return {
    task = task.hash or task.file and hash_of_files(task_files(task))
           or core.system.hash(task.name),
    policy = hash_of_files { policy_file },
    strategies = hash_of_files(collect(strategies, "path")),
  }
end

return fingerprint

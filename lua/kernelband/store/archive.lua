-- store/archive.lua - a task inside a run: its files are kept in the journal, so that
-- the folder alone is enough to build, check and time its kernels again.
--
--   archive.keep_task(store, t)      task.lua, references and baselines go to the
--       table blobs; returns { name = hash }, which experiment.hashes has as task_files
--   archive.fingerprint(task, policy_file, strategies)   hashes of what a search is made of
--   archive.memory(reader) -> text | nil
--   archive.restore_task(reader, into, load)   -> the task, loaded in the fence by load
--       (task.load), without its schedule | nil, why
--
-- What comes out of a run folder was written by somebody else: names, sizes and
-- numbers are bounded, and its Lua can compute and nothing more.
local lists = require "kernelband.base.lists"
local core = require "kernelband.core"
local path = require "kernelband.base.path"

local archive = {}

local most_files, most_bytes, most_ups = 16, 4 << 20, 6

local function files_of(task, languages)
  local files = { task.file }
  for _, kind in ipairs { "reference", "baseline" } do
    for _, language in ipairs(languages) do
      files[#files + 1] = task[kind] and task[kind][language]
    end
  end
  return files
end

local function hash_of_files(files)
  return core.system.hash(table.concat(lists.collect(files, function(file)
    local text = core.system.read_file(file)
    return text and core.system.hash(text) or file
  end), " "))
end

-- Hashes of the files a search is made of, { task, policy, strategies }, so that a run is gone on
-- with by what it was begun with. An environment may bring a hash of its own.
function archive.fingerprint(task, policy_file, strategies)
  local files = files_of(task, { task.language })
  files[#files + 1] = task.schedule and task.schedule.file
  return {
    task = task.hash or task.file and hash_of_files(files) or core.system.hash(task.name),
    policy = hash_of_files { policy_file },
    strategies = hash_of_files(lists.collect(strategies, "path")),
  }
end

-- The hash under which db's table blobs has these bytes; they are put there when they are
-- not. Equal texts are kept once, and a hash that other bytes have already gets a number.
function archive.blob(db, bytes)
  local plain, value = core.system.hash(bytes), { blob = bytes }
  for n = 1, math.huge do
    local hash = n == 1 and plain or plain .. "-" .. n
    assert(db:exec("INSERT OR IGNORE INTO blobs VALUES (?, ?)", hash, value))
    local same = "SELECT 1 AS same FROM blobs WHERE hash = ? AND bytes = ?"
    if assert(db:rows(same, hash, value))[1] then return hash end
  end
end

-- A task that is no folder of files (an environment) is not kept.
function archive.keep_task(store, t)
  if not (t and t.file and t.dir and t.reference) then return nil end
  local hashes, dir = {}, t.dir .. "/"
  for _, file in ipairs(files_of(t, { "c", "cuda" })) do
    if file:sub(1, #dir) ~= dir then return nil end
    hashes[file:sub(#dir + 1)] = archive.blob(store, assert(core.system.read_file(file)))
  end
  return hashes
end

-- The memory of earlier searches that a policy was given (policy/init.lua); nil where there was
-- none.
function archive.memory(reader)
  local hash = reader:experiment().hashes.memory
  return type(hash) == "string" and reader:blob(hash) or nil
end

-- "../../examples/tasks/x/reference.c" is fine, six steps up at most.
local function safe_name(name)
  local _, ups = ("/" .. name):gsub("/%.%.%f[/\0]", "")
  return ups <= most_ups and #name <= 200 and name:find "^[%w_.%-/]+$" and not name:find "^/"
         and not name:find "/$"
end

function archive.restore_task(reader, into, load)
  local files = reader:experiment().hashes.task_files
  if type(files) ~= "table" or not files["task.lua"] then
    return nil, "this run was recorded without its task's files"
  end
  local names = lists.keys(files)
  if #names > most_files then return nil, "its task has too many files" end
  local dir = into .. ("/d"):rep(most_ups) .. "/task"
  assert(core.system.mkdir_p(dir))
  for _, name in ipairs(names) do
    if not safe_name(name) then return nil, ("a file of its task is named %q"):format(name) end
    local bytes = type(files[name]) == "string" and reader:blob(files[name])
    if not bytes or #bytes > most_bytes then
      return nil, ("the file %s of its task is missing or too large"):format(name)
    end
    if core.system.hash(bytes) ~= files[name]:match "^%x+" then
      return nil, ("the file %s of its task is not what was recorded"):format(name)
    end
    local file = dir .. "/" .. name
    assert(core.system.mkdir_p(path.dir(file)))
    assert(core.system.write_file(file, bytes))
  end
  return load(dir, { fenced = true })
end

return archive

-- llm/record.lua - exchanges with a model, kept so that a search runs again
-- without one. A recording is a folder:
--
--   index.jsonl   one line an exchange, in the order they ended: { "pull": 3, "kind":
--                 "propose", "repair" or "first", "attempt": 1, "request": FILE, "answer": FILE,
--                 and of the answer: model, finish, tokens, usd }
--   HASH.txt      the texts, named by their hash; a text is kept once
--
-- By hand it is easier: request may be absent and an answer may have any name; and a
-- folder without an index is its *.md files in the order of their names, those with
-- "repair" in their name being answers to repairs of the one before. A folder with a
-- run.db is the run it records.
--
--   r = record.load(folder)     -> { { pull, kind, attempt, request = hash, text =,
--                                      finish, tokens, usd, .. }, .. }, hash of all
--   add = record.open(folder); add(exchange)
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local path    = require "kernelband.base.path"
local reply   = require "kernelband.llm.reply"
local schema  = require "kernelband.base.schema"

local record = {}

local system = core.system

record.tokens = { "tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out",
                  "tokens_reasoning" }
local kept = { "pull", "kind", "attempt", "provider", "model", "model_returned", "finish",
               "usd", "usd_source", "recorded_usd", "error", table.unpack(record.tokens) }

local unreadable <const> = "not a recording that can be read"

-- What a call of the world gave, or the folder cannot be used.
local function must(folder, what, got, why)
  return schema.must(got, "%s: %s: %s", folder, what, why)
end

function record.open(folder)
  must(folder, "cannot be recorded to", system.mkdir_p(folder))

  local function keep(text)
    local name = system.hash(text) .. ".txt"
    local file = path.join(folder, name)
    if not system.exists(file) then
      must(folder, "cannot be recorded to", system.write_file(file, text))
    end
    return name
  end

  return function(exchange)
    local line = { request = keep(exchange.request), answer = keep(exchange.answer or "") }
    for _, name in ipairs(kept) do line[name] = exchange[name] end
    local file = assert(io.open(path.join(folder, "index.jsonl"), "a"))
    file:write(json.encode(line), "\n")
    file:close()
  end
end

-- Texts are looked for in the folder itself and nowhere else.
local function text_of(folder, name)
  must(folder, unreadable, type(name) == "string" and name:find "^[%w_][%w_.-]*$",
       schema.show(name) .. " is no name of a file")
  return must(folder, unreadable, system.read_file(path.join(folder, name)))
end

-- What the model asked for it; of a replay, what the recording says it did.
local function price(e)
  if e.usd_source ~= "recorded" then return e.usd end
  return e.recorded_usd or reply.at(reply.decode(reply.text(e.usage) or ""), "recorded_usd")
end

-- An exchange without a pull belongs to the next one; a repair to the one before.
local function number(entries)
  local pull = 0
  for _, e in ipairs(entries) do
    local repair = e.kind == "repair"
    e.kind = (repair or e.kind == "first") and e.kind or "propose"
    e.pull = reply.count(e.pull) or repair and math.max(pull, 1) or pull + 1
    pull = math.max(pull, e.pull)
    e.attempt = reply.count(e.attempt) or (repair and 2 or 1)
    e.usd, e.finish, e.model = reply.money(price(e)), reply.text(e.finish), reply.text(e.model)
    for _, name in ipairs(record.tokens) do e[name] = reply.count(e[name]) end
  end
  return entries
end

local function from_index(folder, index)
  return lists.collect(lists.words(index, "[^\r\n]+"), function(line, n)
    local e, why = reply.decode(line)
    must(folder, unreadable, e, ("index.jsonl, line %d: %s"):format(n, why))
    local request = reply.text(e.request)
    e.request, e.text = request and request:gsub("%.txt$", ""), text_of(folder, e.answer)
    return e
  end)
end

local function from_files(folder)
  return lists.collect(assert(path.files(folder, ".md")), function(file)
    local name = path.base(file)
    return name ~= "README.md" and { kind = name:find "repair" and "repair" or "propose",
                                     text = text_of(folder, name) }
  end)
end

local function from_run(folder)
  local db = must(folder, unreadable, core.store(folder .. "/run.db", "read"))
  local rows, why = db:rows [[SELECT c.*, b.bytes AS text FROM calls c
    JOIN blobs b ON b.hash = c.answer ORDER BY c.id]]
  db:close()
  return must(folder, unreadable, rows, why)
end

function record.load(given)
  local folder = path.found(given, "kb.generator.replay", "there is no folder %s")
  local function has(name) return system.exists(path.join(folder, name)) == "file" end
  local entries = has "run.db" and from_run(folder)
    or has "index.jsonl" and from_index(folder, text_of(folder, "index.jsonl"))
    or from_files(folder)
  schema.must_at_call(#entries > 0, "kb.generator.replay", "%s holds no recorded answer", folder)
  return entries, system.hash(table.concat(lists.collect(number(entries), function(e)
    return ("%d %s %d %s"):format(e.pull, e.kind, e.attempt, system.hash(e.text))
  end), "\n"))
end

return record

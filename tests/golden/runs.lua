-- Runs of every kind as the program wrote them once (tests/runs/*.sql): what resume, report,
-- export and verify make of them. Numbers of synthetic tasks are compared as they are, new times
-- of measured kernels are not.
local core = require "kernelband.core"
local json = require "kernelband.base.json"

local system = core.system
local kinds = {                         -- name, whether its kernels are measured, new budget
  { "c", true, 7 }, { "replay", true, 4 }, { "killed", false, 20 }, { "steered", false, 12 },
  { "imported", false },
}

local function restore(golden, kind)
  local out = golden.folder()
  local places = { OUT = out, ROOT = golden.root }
  local db <close> = assert(core.store(out .. "/run.db"))
  assert(db:exec "PRAGMA foreign_keys = OFF")
  assert(db:exec((golden.text_of("tests/runs/" .. kind .. ".sql"):gsub("@(%u+)@", places))))
  return out
end

-- Which of the checks of timed outputs comes first is a matter of secret draws.
local function in_order(list)
  local items = {}
  for item in (list .. "; "):gmatch "(.-); " do items[#items + 1] = item end
  table.sort(items)
  return table.concat(items, "; ")
end

local function said(golden, words, measured, folder)
  local code, out, err = golden.kernelband(words)
  local text = (out .. err):gsub("%f[^\n](checked +)([^\n]+)", function(a, list)
    return a .. in_order(list)
  end)
  -- What is said only where the machine is another, or faster, than the recorded one.
  text = text:gsub("warning: the machine is another:[^\n]*\n", ""):gsub("fp32 %b()", "fp32 (ISA)")
             :gsub("note%s+recorded on another machine[^\n]*\n", "")
             :gsub("%f[^\n]twice +[^\n]*\n", "")
  if folder then text = text:gsub((folder:gsub("%p", "%%%0")), "RUN") end
  return ("[%d]\n%s"):format(code, measured and golden.measures(text) or golden.paths(text))
end

-- What a reader of the page reads, and how many of which elements draw it.
local function page_text(html)
  local count, lines = {}, {}
  html = html:gsub("<style.-</style>", ""):gsub("<script.-</script>", "")
  for tag in html:gmatch "<(%l%w*)" do count[tag] = (count[tag] or 0) + 1 end
  local block = { p = true, tr = true, h1 = true, h2 = true, h3 = true, section = true, li = true,
                  text = true, div = true, summary = true, pre = true, title = true, figure = true }
  html = html:gsub("</?(%l%w*)[^>]*>", function(tag) return block[tag] and "\n" or " " end)
  for line in html:gmatch "[^\n]+" do
    line = line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
    if line ~= "" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n"), count
end

local function report(golden, folders)
  local file = golden.folder() .. "/r.html"
  local text = said(golden, ("report %s -o %s"):format(table.concat(folders, " "), file))
  local read, count = page_text(golden.text_of(file))
  local tags = {}
  for _, tag in ipairs(golden.sorted(count)) do tags[#tags + 1] = tag .. " " .. count[tag] end
  for _, folder in ipairs(folders) do read = read:gsub((folder:gsub("%p", "%%%0")), "RUN") end
  return text .. golden.paths(read) .. "\n" .. table.concat(tags, ", ") .. "\n"
end

-- A line of JSON: what kind it is, its keys, and a hash of what it says.
local function lines_of_json(golden, text)
  local out, known = {}, {}
  for line in text:gmatch "[^\n]+" do
    local ok, value = pcall(json.decode, line)
    if not ok then
      out[#out + 1] = golden.paths(line)
    else
      out[#out + 1] = ("%s %s"):format(value.event or value.kind or value.type or "object",
                                       system.hash(golden.paths(json.encode(value))):sub(1, 12))
      for key in golden.tree(value):gmatch "[^\n]+" do
        if not known[key] then out[#out + 1] = "    " .. key end
        known[key] = true
      end
    end
  end
  return table.concat(out, "\n") .. "\n"
end

local function exports(golden, folder)
  local _, csv, why = golden.kernelband(("export %s --csv"):format(folder))
  local out = { "$ export --csv\n" .. golden.paths(csv .. why) }
  for _, format in ipairs { "jsonl", "t4", "sft" } do
    local code, text, err = golden.kernelband(("export %s --%s"):format(folder, format))
    out[#out + 1] = ("$ export --%s   [%d]\n%s"):format(format, code,
                                                      lines_of_json(golden, text .. err))
  end
  return (table.concat(out, "\n"):gsub((folder:gsub("%p", "%%%0")), "RUN"))
end

-- All pulls, those of before and the new ones.
local function pulls(folder, measured)
  local db <close> = assert(core.store(folder .. "/run.db", "read"))
  local out = {}
  for _, p in ipairs(assert(db:rows "SELECT * FROM pulls ORDER BY n")) do
    out[#out + 1] = ("%3d landed %-3d kernel %-3d %-14s %-13s child %-4s %s"):format(p.n, p.landed,
      p.parent, p.strategy, p.verdict, p.child or "-",
      measured and "" or ("%.15g"):format(p.reward))
  end
  local state = assert(db:rows "SELECT state FROM experiment")[1].state
  return table.concat(out, "\n"):gsub(" +\n", "\n"):gsub(" +$", "") .. "\n" .. state .. "\n"
end

return function(golden)
  local folders = {}
  for i, k in ipairs(kinds) do
    local kind, measured, steps = table.unpack(k)
    local folder = restore(golden, kind)
    folders[i] = folder
    golden.file(("runs/%s.report.txt"):format(kind), report(golden, { folder }))
    golden.file(("runs/%s.export.txt"):format(kind), exports(golden, folder))
    local out = { "$ verify " .. said(golden, "verify " .. folder, measured, folder) }
    local again = restore(golden, kind)
    out[#out + 1] = "$ resume " .. said(golden, ("resume %s%s --progress never"):format(again,
      steps and " --steps " .. steps or ""), measured, again) .. pulls(again, measured)
    golden.file(("runs/%s.txt"):format(kind), table.concat(out, "\n"))
  end
  golden.file("runs/many.report.txt", report(golden, { folders[3], folders[4] }))
end

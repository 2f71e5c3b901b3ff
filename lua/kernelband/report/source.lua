-- report/source.lua - the winner's source, whole and as a diff to its parent and
-- to the baseline.
local diff  = require "kernelband.base.diff"
local html  = require "kernelband.report.html"
local lists = require "kernelband.base.lists"
local text  = require "kernelband.base.text"

local source = {}

local SHOWN_BYTES, CONTEXT = 400000, 3
local escape, tag, words = html.escape, html.tag, html.words

local keywords = lists.places(lists.words [[
  auto break case char const continue default do double else enum extern float for
  goto if inline int long register restrict return short signed sizeof static struct switch
  typedef union unsigned void volatile while bool int8_t int16_t int32_t int64_t uint8_t
  uint16_t uint32_t uint64_t size_t __global__ __device__ __shared__ __restrict__ __launch_bounds__
  template typename constexpr using namespace half __half]])

-- One line of C, coloured a little; a line that is odd is only escaped.
local function colour(line)
  if #line > 400 or line:find "[%z\1-\8\11-\31\127-\255]" then return escape(line) end
  if line:find "^%s*#" then return words("i", line) end
  local at, comment = line:find("//", 1, true), nil
  if at and not line:sub(1, at):find '"' then line, comment = line:sub(1, at - 1), line:sub(at) end
  return escape(line):gsub("[%w_&#]+", function(word)
    return keywords[word] and "<b>" .. word .. "</b>" or nil
  end) .. (comment and words("i", comment) or "")
end

-- A row of a listing: the HTML of what stands before the line, and of the line.
local function row(class, before, line)
  return tag("tr", { class = class }, before .. tag("td", nil, line))
end

local function cell(n) return tag("td", { class = "n" }, n and ("%d"):format(n) or "") end

local function code(rows)
  return tag("div", { class = "scroll code" }, tag("table", { class = "src" }, table.concat(rows)))
end

local class = { ["+"] = "plus", ["-"] = "minus", [" "] = "same" }

-- The lines that changed with those around them.
local function changes(list)
  local near = {}
  for i, e in ipairs(list) do
    for j = i - CONTEXT, e[1] == " " and -CONTEXT or i + CONTEXT do near[j] = true end
  end
  return code(lists.collect(list, function(e, i)
    if near[i] then
      return row(class[e[1]], cell(e[3]) .. cell(e[4]), e[1] .. " " .. colour(e[2]))
    end
    return (i == 1 or near[i - 1])
           and row("gap", tag("td", { class = "n", colspan = "2" }, ""), "\u{22EF}")
  end))
end

local function compared(title, old, new)
  local list = diff.lines(old.source, new.source)
  local plus, minus = diff.count(list)
  return html.details(("%s: %d lines added, %d removed"):format(title, plus, minus),
                      plus + minus == 0 and html.p "The two are the same." or changes(list))
end

function source.section(m)
  local w, parent = m.winner, m.path[#m.path - 1]
  local values = { KERNEL = w.id, ROWS = ("%d%s"):format(w.id,
                   parent and (", %d"):format(parent.id) or "") }
  if #w.source > SHOWN_BYTES or #m.baseline.source > SHOWN_BYTES then
    return html.p(("The source has %s bytes; it is in best.* of the run's folder.")
                  :format(html.count(#w.source))), values
  end
  return html.details(("Kernel #%d, %s"):format(w.id, html.maker(w)),
      code(lists.collect(text.lines(w.source), function(line, i)
        return row(nil, cell(i), colour(line))
      end)), true)
    .. (parent and compared(("Against its parent #%d"):format(parent.id), parent, w) or "")
    .. (w.id ~= 1 and not (parent and parent.id == 1)
        and compared("Against the baseline", m.baseline, w) or "")
    .. (w.params and html.details("Parameters of the generator", words("pre", w.params)) or ""),
    values
end

return source

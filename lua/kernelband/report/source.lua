-- report/source.lua - the winner's source, whole and as a diff to its parent and
-- to the baseline.
local diff = require "kernelband.base.diff"
local html = require "kernelband.report.html"

local source = {}

local SHOWN_BYTES, CONTEXT = 400000, 3
local escape, tag = html.escape, html.tag

local keywords = {}
for word in ([[auto break case char const continue default do double else enum extern float for
  goto if inline int long register restrict return short signed sizeof static struct switch
  typedef union unsigned void volatile while bool int8_t int16_t int32_t int64_t uint8_t
  uint16_t uint32_t uint64_t size_t __global__ __device__ __shared__ __restrict__ __launch_bounds__
  template typename constexpr using namespace half __half]]):gmatch "%S+" do
  keywords[word] = true
end

-- One line of C, coloured a little; a line that is odd is only escaped.
local function colour(line)
  if #line > 400 or line:find "[%z\1-\8\11-\31\127-\255]" then return escape(line) end
  if line:find "^%s*#" then return tag("i", nil, escape(line)) end
  local at, comment = line:find("//", 1, true), nil
  if at and not line:sub(1, at):find '"' then line, comment = line:sub(1, at - 1), line:sub(at) end
  local text = escape(line):gsub("[%w_&#]+", function(word)
    return keywords[word] and "<b>" .. word .. "</b>" or nil
  end)
  return text .. (comment and tag("i", nil, escape(comment)) or "")
end

-- Rows of cells: the numbers, then the line.
local function code(rows)
  return tag("div", { class = "scroll code" }, tag("table", { class = "src" }, table.concat(rows)))
end

local function cell(n) return tag("td", { class = "n" }, n and ("%d"):format(n) or "") end

local function listing(text)
  local out = {}
  for line in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch "([^\n]*)\n" do
    out[#out + 1] = tag("tr", nil, cell(#out + 1) .. tag("td", nil, colour(line)))
  end
  return code(out)
end

local class = { ["+"] = "plus", ["-"] = "minus", [" "] = "same" }

-- The lines that changed with those around them.
local function changes(list)
  local near = {}
  for i, e in ipairs(list) do
    for j = e[1] == " " and 1 or i - CONTEXT, e[1] == " " and 0 or i + CONTEXT do near[j] = true end
  end
  local out = {}
  for i, e in ipairs(list) do
    if near[i] then
      out[#out + 1] = tag("tr", { class = class[e[1]] }, cell(e[3]) .. cell(e[4])
                          .. tag("td", nil, e[1] .. " " .. colour(e[2])))
    elseif i == 1 or near[i - 1] then
      out[#out + 1] = tag("tr", { class = "gap" }, tag("td", { class = "n", colspan = "2" }, "")
                          .. tag("td", nil, "\u{22EF}"))
    end
  end
  return code(out)
end

local function compared(title, old, new)
  local list = diff.lines(old.source, new.source)
  local plus, minus = diff.count(list)
  return html.details(("%s: %d lines added, %d removed"):format(title, plus, minus),
                      plus + minus == 0 and html.p "The two are the same." or changes(list))
end

function source.section(m)
  local w = m.winner
  if not w then return nil end
  if #w.source > SHOWN_BYTES or #m.baseline.source > SHOWN_BYTES then
    return html.p(("The source has %s bytes; it is in best.* of the run's folder.")
                  :format(html.count(#w.source)))
  end
  local parent = m.path[#m.path - 1]
  return html.details(("Kernel #%d, %s"):format(w.id, w.strategy and "by " .. w.strategy
                      or "the baseline"), listing(w.source), true)
    .. (parent and compared(("Against its parent #%d"):format(parent.id), parent, w) or "")
    .. (w.id ~= 1 and not (parent and parent.id == 1)
        and compared("Against the baseline", m.baseline, w) or "")
    .. (w.params and html.details("Parameters of the generator", tag("pre", nil,
                                                                    escape(w.params))) or "")
    .. html.origin("source", { KERNEL = w.id,
      ROWS = ("%d%s"):format(w.id, parent and (", %d"):format(parent.id) or "") })
end

return source

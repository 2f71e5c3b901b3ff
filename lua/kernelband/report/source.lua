-- report/source.lua - the winner's source, whole and as a diff to its parent and
-- to the baseline.
local chart  = require "kernelband.report.chart"
local diff   = require "kernelband.base.diff"
local format = require "kernelband.report.format"

local source = {}

local SHOWN_BYTES, CONTEXT = 400000, 3
local escape = chart.escape

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
  local comment
  local at = line:find("//", 1, true)
  if at and not line:sub(1, at):find '"' then line, comment = line:sub(1, at - 1), line:sub(at) end
  local text = escape(line):gsub("([%w_&#]+)(;?)", function(word, semicolon)
    if keywords[word] then return "<b>" .. word .. "</b>" .. semicolon end
    return word .. semicolon
  end)
  if line:match "^%s*#" then text = "<i>" .. escape(line) .. "</i>" end
  return comment and text .. "<i>" .. escape(comment) .. "</i>" or text
end

local function listing(text)
  local out, n = { '<div class="scroll code"><table class="src">' }, 0
  if text:sub(-1) ~= "\n" then text = text .. "\n" end
  for line in text:gmatch "([^\n]*)\n" do
    n = n + 1
    out[#out + 1] = ('<tr><td class="n">%d</td><td>%s</td></tr>'):format(n, colour(line))
  end
  out[#out + 1] = "</table></div>"
  return table.concat(out)
end

local class = { ["+"] = "plus", ["-"] = "minus", [" "] = "same" }

local function changes(old, new)
  local list = diff.lines(old, new)
  local near, last = {}, -math.huge
  for i, e in ipairs(list) do
    if e[1] ~= " " then last = i end
    near[i] = i - last <= CONTEXT
  end
  last = math.huge
  for i = #list, 1, -1 do
    if list[i][1] ~= " " then last = i end
    near[i] = near[i] or last - i <= CONTEXT
  end
  local out, gap = { '<div class="scroll code"><table class="src">' }, false
  for i, e in ipairs(list) do
    if near[i] then
      out[#out + 1] = ('<tr class="%s"><td class="n">%s</td><td class="n">%s</td><td>%s %s</td>'
        .. "</tr>"):format(class[e[1]], e[3] or "", e[4] or "", e[1], colour(e[2]))
      gap = false
    elseif not gap then
      out[#out + 1] = '<tr class="gap"><td class="n" colspan="2"></td><td>\u{22EF}</td></tr>'
      gap = true
    end
  end
  out[#out + 1] = "</table></div>"
  return table.concat(out), diff.count(list)
end

local function block(title, html, open)
  return ("<details%s><summary>%s</summary>%s</details>"):format(open and " open" or "",
                                                                escape(title), html)
end

local function compared(title, old, new, open)
  local html, plus, minus = changes(old.source, new.source)
  if plus + minus == 0 then html = format.p "The two are the same." end
  return block(("%s: %d lines added, %d removed"):format(title, plus, minus), html, open)
end

function source.section(m)
  local w = m.winner
  if not w then return nil end
  if #w.source > SHOWN_BYTES or #m.baseline.source > SHOWN_BYTES then
    return format.p(("The source has %s bytes; it is in best.* of the run's folder.")
                    :format(format.count(#w.source)))
  end
  local out, parent = {}, m.path[#m.path - 1]
  out[1] = block(("Kernel #%d, %s"):format(w.id, w.strategy and "by " .. w.strategy
                 or "the baseline"), listing(w.source), true)
  if parent then
    out[#out + 1] = compared(("Against its parent #%d"):format(parent.id), parent, w)
  end
  if w.id ~= 1 and not (parent and parent.id == 1) then
    out[#out + 1] = compared("Against the baseline", m.baseline, w)
  end
  if w.params then
    out[#out + 1] = block("Parameters of the generator",
                          "<pre>" .. escape(w.params) .. "</pre>")
  end
  out[#out + 1] = format.origin(("Table kernels, rows %d%s and 1. Characters that would reorder "
    .. "the text are shown by their code."):format(w.id, parent
    and (", %d"):format(parent.id) or ""),
    { ("SELECT source FROM kernels WHERE id = %d"):format(w.id) })
  return table.concat(out)
end

return source

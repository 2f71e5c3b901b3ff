-- llm/markdown.lua - the fenced code blocks of a text by the rules of CommonMark (libcmark): fences
-- in lists and quotes, fences longer than those they hold, a fence that is never closed.
--
--   markdown.blocks(text) -> { { info =, text =, line =, closed = }, .. }
--                          | nil, why, "EINVAL"      more than 1 MiB
--
-- line is that of the opening fence, from 1; closed is false when the text ends before the fence
-- does.
--
-- The text may be anybody's. Only the block structure is wanted, and libcmark reads inlines in time
-- that some texts make quadratic, so it is given a shadow: as many lines of as many bytes, in which
-- whatever cannot begin a container or a fence is an 'x'. What a block holds is then taken from the
-- text by line.
local core = require "kernelband.core"

local markdown = {}

local most_bytes <const> = 1 << 20
local most_lead <const> = 64            -- bytes of a line that may open containers

-- Where the marker of a quote or a list item at i ends, nil: there is none.
local function marker_end(line, i)
  if line:find("^>", i) then return i + 1 end
  local stop = line:match("^[-+*]()", i) or line:match("^%d+[.)]()", i)
  return stop and stop - i <= 10 and (stop > #line or line:find("^[ \t]", stop)) and stop or nil
end

-- Where what follows a line's blanks and markers begins.
local function lead_end(line)
  local stop, i = 1
  repeat
    i = line:find("[^ \t]", stop) or #line + 1
    stop = marker_end(line, i)
  until not stop or stop > most_lead
  return i
end

-- The text's lines, their shadow, and where the fence of those begins that have one.
local function read(text)
  local lines, shadow, fence, n = {}, {}, {}, 0
  for line in text:gsub("\r\n?", "\n"):gsub("[^\n]$", "%0\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    lines[n], shadow[n] = line, line
    if line ~= "" then                  -- a text may be a million blank lines
      local i = lead_end(line)
      local rest = line:sub(i)
      fence[n] = (rest:find "^```" or rest:find "^~~~") and i
      shadow[n] = line:sub(1, i - 1) .. rest:gsub(fence[n] and "[^ \t`~]" or "[^ \t]", "x")
    end
  end
  return lines, shadow, fence
end

-- A code block that fences make. One made by its indent holds its first line.
local function is_fenced(found, shadow, fence)
  local first, at = found.text:match "^[ \t]*([^\n]*)", found.first
  local function begins_with(n) return fence[n] and first == shadow[n]:sub(fence[n]) end
  return fence[at] and (not begins_with(at) or begins_with(at + 1))
end

-- The line that libcmark shows as s: it ends as s does, but for spaces that stand for a part of a
-- tab.
local function line_of(s, line)
  local pad = #s - math.min(#s, #line)
  while pad < #s and line:byte(#line - #s + pad + 1) == 9 and s:byte(pad + 1) == 32 do
    pad = pad + 1
  end
  return (" "):rep(pad) .. line:sub(#line - #s + pad + 1) .. "\n"
end

function markdown.blocks(text)
  if #text > most_bytes then return nil, "the text is larger than 1 MiB", "EINVAL" end
  local lines, shadow, fence = read((text:gsub("^\xEF\xBB\xBF", "")))
  local blocks = {}
  for _, f in ipairs(core.code_blocks(table.concat(shadow, "\n") .. "\n")) do
    if is_fenced(f, shadow, fence) then
      local out, at = {}, f.first
      for s in f.text:gmatch "([^\n]*)\n" do
        if at == #lines then break end
        at = at + 1
        out[#out + 1] = line_of(s, lines[at])
      end
      local rest = lines[f.first]:sub(fence[f.first])
      local info = rest:match "^`+[ \t]*(.-)[ \t]*$" or rest:match "^~+[ \t]*(.-)[ \t]*$"
      blocks[#blocks + 1] = { info = info, text = table.concat(out), line = f.first,
                              closed = f.last > at }
    end
  end
  return blocks
end

return markdown

-- llm/answer.lua - the candidate in a model's answer. An answer is text from a
-- stranger: it is read, never run.
--
--   source, why, code = answer.read(text, { language = "c", entry = "matmul",
--                                           finish = "stop", base = shown source })
--       code EDECLINED: the answer is NOT APPLICABLE, and why says why
local markdown = require "kernelband.llm.markdown"
local patch = require "kernelband.llm.patch"
local reply = require "kernelband.llm.reply"
local normal = require "kernelband.base.source".normal

local answer = {}

local most_bytes <const> = 1 << 20      -- of an answer
local most_depth <const> = 3            -- Markdown within fenced Markdown

-- What a fence says it holds, in the languages candidates are written in.
local ours = { c = true, h = true, cpp = true, ["c++"] = true, cc = true, cxx = true, cu = true,
               cuda = true, ["cuda-c"] = true, ["cuda-cpp"] = true, cuh = true, c99 = true,
               c11 = true, [""] = true }
local python = { python = true, py = true, python3 = true, triton = true, [""] = true }
local wrappers = { md = true, markdown = true, mdx = true, text = true, txt = true,
                   [""] = true }

-- Thinking ends with its last closing tag; one never closed is all there is.
local function without_thinking(text)
  local start = 1
  for _, tag in ipairs { "think", "thinking", "reasoning" } do
    local at = 1
    while true do
      local _, stop = text:find("</" .. tag .. ">", at, true)
      if not stop then break end
      at = stop + 1
    end
    start = math.max(start, at)
  end
  text = text:sub(start)
  local opened = text:match "^%s*<(%a+)>"
  if opened == "think" or opened == "thinking" or opened == "reasoning" then return nil end
  return text
end

-- All fenced blocks, those within fenced Markdown too, in the order they stand.
local function collect(text, depth, out)
  for _, b in ipairs(markdown.blocks(text) or {}) do
    local tag = (b.info:match "^%S+" or ""):lower():gsub("^{?%.?", ""):gsub("[},].*$", "")
    if depth < most_depth and wrappers[tag] and b.text:find("```", 1, true) then
      collect(b.text, depth + 1, out)
    else
      out[#out + 1] = { tag = tag, text = b.text, closed = b.closed or depth > 1 }
    end
  end
  return out
end

-- Does it define what the task asks for?
local function defines(source, spec)
  if spec.language == "triton" then return source:find("@triton.jit", 1, true) ~= nil end
  local code = normal(source)      -- has no comments but those for the engine
  if code:find("//", 1, true) then code = ("\n" .. code):gsub("\n//[^\n]*", "") end
  if spec.language == "cuda" then return code:find("__global__", 1, true) ~= nil end
  local at = 1
  while true do                         -- a prototype or a call is no definition
    local first, last = code:find(spec.entry, at, true)
    if not first then return false end
    local open = code:match("^%s*()%(", last + 1)
    at = last + 1
    if open and code:sub(math.max(1, first - 99), first - 1):find "%f[%w_]void%s+$" then
      local stop = code:find("[;{}]", open)     -- the same for all names before it
      if not stop then return false end
      if code:sub(open, stop):find "%)%s*{$" then return true end
      at = stop + 1
    end
  end
end

local function tidy(source)
  if source:find("\r", 1, true) then source = source:gsub("\r\n?", "\n") end
  local n = #source
  while n > 0 and source:find("^%s", n) do n = n - 1 end
  return source:sub(1, n) .. "\n"
end

-- Python without a fence, from its first import to what is a fence all the same.
local function bare_python(text, spec)
  local from = ("\n" .. text):match "\n()import%s" or math.huge
  from = math.min(from, ("\n" .. text):match "\n()from%s+[%w_.]+%s+import%s" or math.huge,
                  ("\n" .. text):match "\n()@triton%." or math.huge)
  if from == math.huge then return nil end
  local code = text:sub(from - 1)
  code = code:sub(1, (("\n" .. code):find("\n```", 1, true) or #code + 1) - 1)
  return defines(code, spec) and code or nil
end

-- Text that is code from its first line, without a fence: agents answer so.
local function bare_code(text, spec)
  if spec.language == "triton" then return bare_python(text, spec) end
  local first = text:match "^%s*([^\n]*)" or ""
  local looks = first:find "^#%s*%a" or first:find "^//" or first:find "^/%*"
                or first:find "^extern%s" or first:find "^static%s" or first:find "^void%s"
                or first:find "^typedef%s"
  return looks and defines(text, spec) and not text:find("```", 1, true) and text or nil
end

local function cut_off(spec)
  return ("the answer was cut off%s: raise max_tokens, or ask for less thinking (effort)")
    :format(spec.finish == "length" and " at the limit of tokens" or "")
end

local function thing(spec)
  if spec.language == "triton" then return "a @triton.jit kernel" end
  return spec.language == "cuda" and "a __global__ kernel" or "void " .. spec.entry .. "(..)"
end

-- The last whole block that defines the kernel: models correct themselves further
-- down, and show fragments on the way. Where there is none, patches of the kernel shown.
local function choose(blocks, spec)
  local whole, cut
  local patches = {}
  for _, b in ipairs(blocks) do
    if (spec.language == "triton" and python or ours)[b.tag] and defines(b.text, spec) then
      if b.closed or spec.finish ~= "length" then whole = b else cut = b end
    elseif b.tag == "diff" or b.tag == "patch" then
      patches[#patches + 1] = b.text
    end
  end
  if cut and not whole then return nil, cut_off(spec) end
  if whole then return whole.text end
  local last = blocks[#blocks]
  if last and not last.closed and spec.finish == "length" then return nil, cut_off(spec) end
  if #patches > 0 and spec.base then return patch.apply(spec.base, patches) end
  return nil, #patches > 0 and "the answer is a diff; the whole kernel is wanted"
              or ("no code block of the answer defines %s"):format(thing(spec))
end

local function source_of(text, spec)
  local blocks = collect(text, 1, {})
  if #blocks == 0 then
    local code = bare_code(text, spec)
    if code then return code end
    if spec.finish == "length" then return nil, cut_off(spec) end
    return nil, "the answer holds no code block: " .. reply.excerpt(text, 80)
  end
  local source, why = choose(blocks, spec)
  if not source and spec.language == "triton" then source = bare_python(text, spec) end
  return source, why
end

local most_said <const> = 240

-- What follows NOT APPLICABLE where a line begins with it, as one line; nil: none does.
local function declined(text)
  local at = ("\n" .. text):match "\n[ \t>*_#`]*NOT APPLICABLE%f[^%u_]()"
  if not at then return nil end
  local why = text:sub(at - 1):gsub("^[%s*_:.,;`-]+", ""):gsub("^\u{2014}%s*", "")
  return why == "" and "no reason was given" or reply.excerpt(why, most_said)
end

-- spec: language "c" or "cuda", entry (the C function), finish ("length" when the
-- model was stopped by its limit), base: the source that the question shows. Code counts
-- more than words: an answer with both is judged by its code, if that is another kernel.
function answer.read(text, spec)
  if #text > most_bytes then return nil, "the answer is longer than 1 MiB" end
  text = without_thinking(reply.utf8(text))
  if not text then
    return nil, "the answer is nothing but thinking: raise max_tokens, or lower effort"
  end
  if not text:find "%S" then
    return nil, spec.finish == "length" and cut_off(spec) or "the answer is empty"
  end
  local source, why = source_of(text, spec)
  local words = declined(text)
  if words and (not source or spec.base and normal(source) == normal(spec.base)) then
    return nil, words, "EDECLINED"
  end
  if not source then return nil, why end
  return tidy(source)
end

return answer

-- llm/answer.lua - the candidate in a model's answer, or the first points. An answer is text from
-- a stranger: it is read, never run.
--
--   source, why, code = answer.read(text, { language = "c", entry = "matmul",
--                                           finish = "stop", base = shown source })
--       code EDECLINED: the answer is NOT APPLICABLE, and why says why
--   list = answer.points(text)     sets of a schedule's parameters, or whatever a model names
local lists    = require "kernelband.base.lists"
local markdown = require "kernelband.llm.markdown"
local normal   = require "kernelband.base.source".normal
local patch    = require "kernelband.llm.patch"
local reply    = require "kernelband.llm.reply"

local answer = {}

local most_bytes <const> = 1 << 20      -- of an answer
local most_depth <const> = 3            -- Markdown within fenced Markdown
local most_said <const> = 240           -- bytes of why a strategy does not apply

local cut_off <const> = "the answer was cut off at the limit of tokens: raise max_tokens, or ask "
  .. "for less thinking (effort)"

-- What a fence says it holds: one of these words, or nothing.
local function tags(words) return lists.with(lists.places(lists.words(words)), { [""] = 0 }) end

local wrappers = tags "md markdown mdx text txt"
local ours = tags "c h cpp c++ cc cxx cu cuda cuda-c cuda-cpp cuh c99 c11"
-- begins: where code without a fence does. Agents answer with nothing but C, or with words and
-- then Python.
local c_begins = { "^%s*()#%s*%a", "^%s*()//", "^%s*()/%*", "^%s*()extern%s", "^%s*()static%s",
                   "^%s*()void%s", "^%s*()typedef%s" }
local languages = {
  c = { tags = ours, wanted = "void %s(..)", begins = c_begins },
  cuda = { tags = ours, wanted = "a __global__ kernel", begins = c_begins },
  triton = { tags = tags "python py python3 triton", wanted = "a @triton.jit kernel",
             begins = { "\n()import%s", "\n()from%s+[%w_.]+%s+import%s", "\n()@triton%." } },
}

-- Thinking ends with its last closing tag; one never closed is all there is.
local thoughts = { think = true, thinking = true, reasoning = true }

local function without_thinking(text)
  local start = 1
  for tag in pairs(thoughts) do
    start = math.max(start, text:match("^.*</" .. tag .. ">()") or 1)
  end
  text = text:sub(start)
  return not thoughts[text:match "^%s*<(%a+)>"] and text or nil
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
  -- The normal form has no comments but those for the engine.
  local code = ("\n" .. normal(source)):gsub("\n//[^\n]*", "")
  if spec.language == "cuda" then return code:find("__global__", 1, true) ~= nil end
  local begins = "%f[%w_]void%s+" .. spec.entry .. "%s*%("
  for head, stop in code:gmatch "([^;{}]*)([;{}]?)" do  -- a prototype or a call is no definition
    if stop == "{" and head:find "%)%s*$" and head:find(begins) then return true end
  end
  return false
end

-- Code without a fence, from where it begins to what is a fence all the same.
local function bare_code(text, spec)
  local code, from = "\n" .. text, math.huge
  for _, sign in ipairs(languages[spec.language].begins) do
    from = math.min(from, code:match(sign) or math.huge)
  end
  if from == math.huge then return nil end
  code = code:sub(from, (code:find("\n```", from, true) or #code + 1) - 1)
  return defines(code, spec) and code or nil
end

-- The last whole block that defines the kernel: models correct themselves further
-- down, and show fragments on the way. Where there is none, patches of the kernel shown.
local function choose(blocks, spec)
  local language, patches, whole = languages[spec.language], {}, nil
  for _, b in ipairs(blocks) do
    if language.tags[b.tag] and defines(b.text, spec) then
      if b.closed or spec.finish ~= "length" then whole = b.text end
    elseif b.tag == "diff" or b.tag == "patch" then
      patches[#patches + 1] = b.text
    end
  end
  if whole then return whole end
  if spec.finish == "length" and not blocks[#blocks].closed then return nil, cut_off end
  if #patches > 0 and spec.base then return patch.apply(spec.base, patches) end
  return nil, #patches > 0 and "the answer is a diff; the whole kernel is wanted"
    or "no code block of the answer defines " .. language.wanted:format(spec.entry)
end

local function source_of(text, spec)
  local blocks, source, why = collect(text, 1, {}), nil, nil
  if #blocks > 0 then source, why = choose(blocks, spec) end
  source = source or bare_code(text, spec)
  return source, why or spec.finish == "length" and cut_off
                 or "the answer holds no code block: " .. reply.excerpt(text, 80)
end

-- What follows NOT APPLICABLE where a line begins with it, as one line; nil: none does.
local function declined(text)
  local why = ("\n" .. text):match "\n[ \t>*_#`]*NOT APPLICABLE%f[^%u_](.*)"
  why = why and why:gsub("^[%s*_:.,;`-]+", ""):gsub("^\u{2014}%s*", "")
  return why == "" and "no reason was given" or why and reply.excerpt(why, most_said)
end

-- spec: language "c", "cuda" or "triton", entry (the C function), finish ("length" when the
-- model was stopped by its limit), base: the source that the question shows. Code counts
-- more than words: an answer with both is judged by its code, if that is another kernel.
function answer.read(text, spec)
  if #text > most_bytes then return nil, "the answer is longer than 1 MiB" end
  text = without_thinking(reply.utf8(text))
  if not text then
    return nil, "the answer is nothing but thinking: raise max_tokens, or lower effort"
  elseif not text:find "%S" then
    return nil, spec.finish == "length" and cut_off or "the answer is empty"
  end
  local source, why = source_of(text, spec)
  local words = declined(text)
  if words and (not source or spec.base and normal(source) == normal(spec.base)) then
    return nil, words, "EDECLINED"
  end
  if not source then return nil, why end
  return (source:gsub("\r\n?", "\n"):match "^.*%S" or "") .. "\n"     -- a patch may leave nothing
end

-- First points ---------------------------------------------------------------------

-- The list that an answer holds: in its last block that is one, or bare; {} where there is none.
function answer.points(text)
  local found
  text = reply.utf8(text)
  for _, b in ipairs(markdown.blocks(text) or {}) do
    local list = b.text:find "^%s*%[" and reply.decode(b.text)
    if list and list[1] then found = list end
  end
  local bare = not found and text:match "^[^%[]*(%b[])"
  return reply.list(found or bare and reply.decode(bare))
end

return answer

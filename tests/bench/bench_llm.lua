-- What the engine itself computes for one proposal of a model: prompt, request, a
-- streamed answer of 1,000 events, candidate, normal form. No network.
local kb     = require "kernelband"
local core   = kb.core
local json   = require "kernelband.base.json"

local task = kb.task "examples/tasks/matmul"
local code = assert(core.system.read_file "examples/answers/02-tiles.md")
local source = assert(core.system.read_file "examples/tasks/matmul/baseline.c")
local step = #code / 1000

-- delta: an event with a piece of the answer, as a provider writes it.
local function stream_of(delta)
  local events = {}
  for i = 1, 1000 do
    local piece = code:sub(math.floor((i - 1) * step) + 1, math.floor(i * step))
    events[i] = "data: " .. delta(json.encode(piece), i) .. "\n\n"
  end
  events[1001] = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  return table.concat(events)
end

local streams = {
  { "the least", stream_of(function(piece)
    return '{"choices":[{"delta":{"content":' .. piece .. "}}]}"
  end) },
  { "OpenAI's", stream_of(function(piece, i)
    return ('{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk",'
      .. '"created":1741569952,"model":"gpt-4.1","service_tier":"default","system_fingerprint":'
      .. '"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,'
      .. '"finish_reason":null}],"usage":null,"obfuscation":"%s"}'):format(piece,
                                                                            ("x"):rep(i % 9))
  end) },
}
local stream

local L = { inside = function() return true end, sleep = function() return true end }
function L.http(_, request)
  for at = 1, #stream, 1400 do request.on_data(stream:sub(at, at + 1399)) end
  return { status = 200, headers = {}, body = "" }
end

local g = kb.generator.llm { model = "m", base_url = "http://127.0.0.1" }.start(task, { loop = L })
local strategy = kb.strategy "strategies/c/tiling.lua"
local parent = { id = 1, source = source, time_ns = 1e6, speedup = 1, phi = {}, phi_kind = {} }
local rng, n = core.rng(1), 300
for _, kind in ipairs(streams) do
  stream = kind[2]
  local began = os.clock()
  for i = 1, n do
    local c = assert(g.propose(parent, strategy, rng, { pull = i }))
    require "kernelband.base.source".normal(c.source)
  end
  print(("llm: %.2f ms of CPU a proposal (1,001 events as %s are, %d KiB)"):format(
    (os.clock() - began) / n * 1e3, kind[1], #stream // 1024))
end

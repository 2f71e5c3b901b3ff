-- What the judge says: the verdict on every candidate of tests/candidates/hostile* and
-- tests/candidates/honest* (CUDA as far as no GPU is needed), what is admitted of cubins and PTX,
-- and what workers answer.
local candidates = require "candidates"
local core = require "kernelband.core"
local json = require "kernelband.base.json"

local system = core.system

local function row(golden, name, verdict, text)
  text = text and golden.measures(text):gsub("\n.*", " ..") or ""
  return ("%-40s %-14s %s"):format(name, verdict, text):gsub("%s+$", "")
end

-- Where chance decides between two verdicts or reasons, the file says so: both stand here. What is
-- not as its file says is judged once more: a machine that was busy has made a timeout of it.
local function c_candidates(golden)
  local list, out, again = candidates.list("tests/candidates/hostile", "c"), {}, {}
  table.move(candidates.list("tests/candidates/honest", "c"), 1, 1000, #list + 1, list)
  for i = #list, 1, -1 do if list[i].slow then table.remove(list, i) end end
  local function note(c, e)
    local varies = #c.want > 1 and not candidates.differs(c, e)
    out[#out + 1] = row(golden, c.path:match "tests/candidates/(.*)",
                        varies and table.concat(c.want, "|") or e.verdict, not varies and e.reason)
  end
  candidates.judge("tests", list, "cpu", 1, function(_, c, e)
    if candidates.differs(c, e) then again[#again + 1] = c else note(c, e) end
  end)
  candidates.judge("tests", again, "cpu", 1, function(_, c, e) note(c, e) end)
  table.sort(out)
  golden.file("judge/c.txt", table.concat(out, "\n") .. "\n")
end

local function cuda_candidates(golden, compiler)
  local out = {}
  for _, folder in ipairs { "hostile_cuda", "honest_cuda" } do
    for _, c in ipairs(candidates.list("tests/candidates/" .. folder, "cuda")) do
      if not c.slow then
        local verdict, text = candidates.before_launch("tests", c, compiler)
        out[#out + 1] = row(golden, folder .. "/" .. c.name, verdict, text)
      end
    end
  end
  golden.file("judge/cuda.txt", table.concat(out, "\n") .. "\n")
end

-- A kernel with this line of PTX in it.
local ptx = [[
extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    asm volatile("{ .reg .b64 %%%%p; .reg .f32 %%%%f; %s }" :: "l"(x), "l"(y) : "memory");
}
]]
local lines = {
  "ld.global.cs.f32 %%f, [%0];", "ld.global.L1::evict_last.f32 %%f, [%0];",
  "prefetch.global.L2::evict_last [%0];",
  "createpolicy.fractional.L2::evict_last.b64 %%p, 1.0;",
  "createpolicy.fractional.L2::evict_first.b64 %%p, 1.0; "
    .. "ld.global.L2::cache_hint.f32 %%f, [%0], %%p;",
  "mov.b64 %%p, 0x14F0000000000000; ld.global.L2::cache_hint.f32 %%f, [%0], %%p;",
  "ld.global.L2::cache_hint.f32 %%f, [%0], %1;", "discard.global.L2 [%0], 128;",
  "mov.u64 %%p, %%globaltimer;", "mov.u64 %%p, %%clock64;",
}

local function admission(golden, compiler)
  local out = { "PTX:" }
  for _, line in ipairs(lines) do
    local made, text, code = compiler:make(ptx:format(line), "sm_90a")
    out[#out + 1] = ("  %-90s %s"):format(line, made and "ok" or code .. ": "
                                          .. golden.measures(text):gsub("\n.*", " .."))
  end
  local bytes = assert(system.read_file "tests/fuzz/corpus/fuzz_cubin/axpy_sm_80")
  local function cubin(name, text, sm)
    local entries, why, code = core.cubin(text, sm)
    out[#out + 1] = ("  %-26s %s"):format(name, entries and json.encode(entries)
                                          or code .. ": " .. why)
  end
  out[#out + 1] = "cubin:"
  cubin("whole, sm 80", bytes, 80)
  cubin("whole, sm 90", bytes, 90)
  cubin("whole, any sm", bytes)
  cubin("nothing", "")
  for at = 16, #bytes - 1, (#bytes // 24) do
    cubin(("cut at %d"):format(at), bytes:sub(1, at), 80)
    cubin(("byte %d turned over"):format(at), bytes:sub(1, at - 1)
          .. string.char(bytes:byte(at) ~ 255) .. bytes:sub(at + 1), 80)
  end
  golden.file("judge/admission.txt", table.concat(out, "\n") .. "\n")
end

local second_ns = 10 ^ 9 // 1

-- The next frame a worker sends, or what became of it.
local function receive(process)
  for _ = 1, 90 do
    core.wait({ process }, second_ns)
    local text, why = process:receive()
    if text then return text end
    if why then return nil, why end
  end
  return nil, "no answer"
end

-- Requests and what comes: verdicts and reasons as they are, the keys of what is new.
local function transcript(golden, title, argv, requests)
  local process, out, known = assert(core.command { argv = argv, worker = true }), { title }, {}
  for _, request in ipairs(requests) do
    local text = type(request) == "string" and request or json.encode(request)
    out[#out + 1] = "> " .. golden.paths(#text < 200 and text or text:sub(1, 197) .. "...")
    if not process:send(text) then out[#out + 1] = "  cannot be sent" end
    repeat
      local reply, why = receive(process)
      if not reply then
        out[#out + 1] = "< " .. why
        break
      end
      local value = json.decode(reply)
      local e = value.evaluation or value.ready
      if e then
        out[#out + 1] = "< " .. (value.ready and "ready" or "ticket " .. value.ticket) .. ": "
          .. e.verdict .. (e.reason and ", " .. golden.measures(e.reason) or "")
      else
        out[#out + 1] = "< " .. golden.paths(reply)
      end
      for key in golden.tree(value):gmatch "[^\n]+" do
        if e and not known[key] then out[#out + 1] = "    " .. key end
        known[key] = true
      end
    until not value.took
  end
  process:quit(second_ns)
  return table.concat(out, "\n")
end

local function evaluations(sources)
  local out = {}
  for i, source in ipairs(sources) do
    out[i] = { op = "evaluate", ticket = i, source = source, options = {} }
  end
  return out
end

-- The GPU's worker on the driver of tests/lib/stub.
local function stub_argv()
  local stub, cache = system.exe():match "^(.*)/" .. "/tests/lib/stub", assert(system.temp_dir())
  return { "/usr/bin/env", "LD_LIBRARY_PATH=" .. stub .. "/lib",
    "KERNELBAND_CUDA=" .. stub, "XDG_CACHE_HOME=" .. cache, "STUB_UUID=gold" .. system.now_ns()
    % 10 ^ 7 // 1, system.exe(), "worker", "--device", "cuda:0" }, cache
end

local function frames(golden)
  local function read(name) return assert(system.read_file(name)) end
  local list = { { op = "nosuch", ticket = 0 }, { op = "open", task = "nosuch" },
                 { op = "open", task = golden.root .. "/tests/lib/tasks/axpy" } }
  table.move(evaluations { read "tests/lib/tasks/axpy/baseline.c",
    read "tests/candidates/hostile/constant.c",
    read "tests/candidates/hostile/does_not_compile.c",
    read "tests/candidates/hostile/follows_null.c", "" }, 1, 5, 4,
    list)
  local out = { transcript(golden, "cpu", { system.exe(), "worker", "--device", "cpu" }, list),
    transcript(golden, "\ncpu, what is no JSON", { system.exe(), "worker", "--device", "cpu" },
               { "{" }) }
  local base = read "tests/lib/stub/scale/baseline.cu"
  local named = { { op = "warm" }, { op = "open", task = golden.root .. "/tests/lib/stub/scale" } }
  for _, name in ipairs { "scale", "scale_fast", "scale_wrong", "scale_beside", "scale_fault" } do
    named[#named + 1] = evaluations({ base:gsub("scale", name) .. "" })[1]
  end
  local argv, cache = stub_argv()
  out[#out + 1] = transcript(golden, "\ncuda, on the driver of tests/lib/stub", argv, named)
  os.execute(("rm -rf '%s' /tmp/kernelband-gpu-%s*"):format(cache, ("gold"):gsub(".", function(c)
    return ("%02x"):format(c:byte()) end)))
  golden.file("judge/frames.txt", table.concat(out, "\n") .. "\n")
end

return function(golden)
  local compiler = assert(core.nvrtc())
  cuda_candidates(golden, compiler)
  admission(golden, compiler)
  compiler:close()
  frames(golden)
  c_candidates(golden)
end

-- emit/cuda.lua - what several CUDA schedules write their source with; its text is in cuda.in.
local cuda = {}

local load_of = { plain = "*(%s)", readonly = "__ldg(%s)", stream = "__ldcs(%s)",
                  first = "hinted(%s)", wide = "hinted(%s)" }
local store_of = { plain = "*(%s) = %s", stream = "__stcs(%s, %s)" }

local hinted_types = { { "float", "", "q" }, { "float2", ".v2", "q.x", "q.y" },
                       { "float4", ".v4", "q.x", "q.y", "q.z", "q.w" } }

-- hinted(p): with the hint "first", a load of data that is read once: it is not kept in the
-- first-level cache and is evicted first from the second; with "wide" one that lets the
-- second-level cache fetch 256 bytes.
local function emit_hinted(w, hint, vector)
  local types = {}
  for i, t in ipairs(hinted_types) do
    local outs, to, n = {}, {}, #t - 2
    for k = 1, n do outs[k], to[k] = "%" .. k - 1, ('"=f"(%s)'):format(t[k + 2]) end
    local value = table.concat(outs, ", ")
    types[i] = n <= vector and { name = t[1], suffix = t[2], to = table.concat(to, ", "), n = n,
                                 value = n > 1 and "{" .. value .. "}" or value } or nil
  end
  w.fill("cuda.hinted", { hint = hint, types = types })
end

-- load<V>(p) and store<V>(p, v) with the hints of the point. Columns, which every
-- row reads again, are loaded plainly by column<V>.
function cuda.vectors(w, p, options)
  options = options or {}
  local function loader(name, hint)
    w.fill("cuda.load", { name = name, vector = p.vector,
                          load = function(from) return load_of[hint]:format(from) end })
  end
  w.fill "cuda.vec"
  if p.load_hint == "first" or p.load_hint == "wide" then
    emit_hinted(w, p.load_hint, p.vector)
  end
  loader("load", p.load_hint)
  if options.columns then loader("column", "readonly") end
  if options.again then loader("again", "plain") end
  if not options.stores then return end
  w.fill("cuda.store", { vector = p.vector, store = function(to, value)
    return store_of[p.store_hint]:format(to, value)
  end })
end

-- The partial result of a thread: its fields, their neutral values, and how two are merged.
function cuda.part(w, part) w.fill("cuda.part", part) end

-- across(part, rooms, turn): all threads of a row add up their parts, threads
-- being the most a block has. Rooms, of `room` floats each, alternate.
function cuda.across(w, p, room, threads)
  w.fill("cuda.across", { reduce = p.reduce, room = room, threads = threads })
end

return cuda

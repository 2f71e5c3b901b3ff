-- emit/cuda.lua - what several CUDA schedules write their source with; its text is in cuda.in.
local collect = require("kernelband.base.lists").collect

local cuda = {}

local load_of = { plain = "*(%s)", readonly = "__ldg(%s)", stream = "__ldcs(%s)",
                  first = "hinted(%s)", wide = "hinted(%s)" }
local store_of = { plain = "*(%s) = %s", stream = "__stcs(%s, %s)" }

-- What a load of n floats is called, and its results in assembler.
local hinted_types = {
  { n = 1, name = "float", suffix = "", value = "%0", to = '"=f"(q)' },
  { n = 2, name = "float2", suffix = ".v2", value = "{%0, %1}", to = '"=f"(q.x), "=f"(q.y)' },
  { n = 4, name = "float4", suffix = ".v4", value = "{%0, %1, %2, %3}",
    to = '"=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)' },
}

-- load<V>(p) and store<V>(p, v) with the hints of the point. Columns, which every
-- row reads again, are loaded plainly by column<V>. hinted(p): with the hint "first", a load of
-- data that is read once: it is not kept in the first-level cache and is evicted first from the
-- second; with "wide" one that lets the second-level cache fetch 256 bytes.
function cuda.vectors(w, p, options)
  options = options or {}
  local function loader(name, hint)
    w.fill("cuda.load", { name = name, vector = p.vector,
                          load = function(from) return load_of[hint]:format(from) end })
  end
  w.fill "cuda.vec"
  if p.load_hint == "first" or p.load_hint == "wide" then
    w.fill("cuda.hinted", { hint = p.load_hint, types = collect(hinted_types, function(t)
      return t.n <= p.vector and t
    end) })
  end
  loader("load", p.load_hint)
  if options.columns then loader("column", "readonly") end
  if options.again then loader("again", "plain") end
  if not options.stores then return end
  w.fill("cuda.store", { vector = p.vector, store = function(to, value)
    return store_of[p.store_hint]:format(to, value)
  end })
end

return cuda

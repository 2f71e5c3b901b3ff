-- emit/cuda.lua - what several CUDA schedules write their source with; its text is in cuda.in.
local cuda = {}

local load_of = { plain = "*(%s)", readonly = "__ldg(%s)", stream = "__ldcs(%s)",
                  first = "hinted(%s)", wide = "hinted(%s)" }
local store_of = { plain = "*(%s) = %s", stream = "__stcs(%s, %s)" }

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
  if p.load_hint == "first" or p.load_hint == "wide" then w.fill("cuda.hinted", p) end
  loader("load", p.load_hint)
  if options.columns then loader("column", "readonly") end
  if options.again then loader("again", "plain") end
  if not options.stores then return end
  w.fill("cuda.store", { vector = p.vector, store = function(to, value)
    return store_of[p.store_hint]:format(to, value)
  end })
end

return cuda

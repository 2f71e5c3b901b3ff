-- emit/cuda.lua - what several CUDA schedules write their source with.
local cuda = {}

local load_of = { plain = "*(%s)", readonly = "__ldg(%s)", stream = "__ldcs(%s)",
                  first = "hinted(%s)", wide = "hinted(%s)" }
local store_of = { plain = "*(%s) = %s", stream = "__stcs(%s, %s)" }

-- hinted(p): with the hint "first", a load of what is not needed again, neither in
-- the first-level cache nor, before anything else, in the second; with "wide" one
-- that lets the second-level cache fetch 256 bytes.
local function emit_hinted(w, hint, vector)
  if hint == "first" then
    w.line("__device__ inline unsigned long long evict_first()")
    w.line("{")
    w.line("unsigned long long policy;")
    w.line("")
    w.line('asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));')
    w.line("return policy;")
    w.line("}")
    w.line("")
  end
  local how = hint == "first" and "L1::no_allocate.L2::cache_hint" or "L2::256B"
  local function load(type, suffix, fields)
    local outs, to, n = {}, {}, #fields
    for i, field in ipairs(fields) do
      outs[i], to[i] = "%" .. i - 1, ('"=f"(%s)'):format(field)
    end
    local value = n > 1 and "{" .. table.concat(outs, ", ") .. "}" or outs[1]
    w.line("__device__ inline %s hinted(const %s *from)", type, type)
    w.line("{")
    w.line("%s q;", type)
    w.line("")
    w.line('asm("ld.global.nc.%s%s.f32 "', how, suffix)
    w.line(('    "%s, [%%%d]%s;"'):format(value, n, hint == "first" and ", %" .. n + 1 or ""))
    w.line("    : %s", table.concat(to, ", "))
    w.line('    : "l"(from)%s);', hint == "first" and ', "l"(evict_first())' or "")
    w.line("return q;")
    w.line("}")
    w.line("")
  end
  load("float", "", { "q" })
  if vector >= 2 then load("float2", ".v2", { "q.x", "q.y" }) end
  if vector >= 4 then load("float4", ".v4", { "q.x", "q.y", "q.z", "q.w" }) end
end

-- load<V>(p) and store<V>(p, v) with the hints of the point. Columns, which every
-- row reads again, are loaded plainly by column<V>.
function cuda.vectors(w, p, options)
  options = options or {}
  w.line("template <int V> struct alignas(4 * V) vec {")
  w.line("float e[V];")
  w.line("};")
  w.line("")
  local function loader(name, hint)
    w.line("template <int V> __device__ inline vec<V> %s(const float *from)", name)
    w.line("{")
    w.line("vec<V> v;")
    for _, part in ipairs { { 4, "float4", "xyzw" }, { 2, "float2", "xy" } } do
      if part[1] <= p.vector then
        w.line("if constexpr (V == %d) {", part[1])
        w.line("const %s q = %s;", part[2], load_of[hint]:format(
          ("reinterpret_cast<const %s *>(from)"):format(part[2])))
        for i = 1, part[1] do w.line("v.e[%d] = q.%s;", i - 1, part[3]:sub(i, i)) end
        w.line("}")
      end
    end
    w.line("if constexpr (V == 1)")
    w.line("    v.e[0] = %s;", load_of[hint]:format("from"))
    w.line("return v;")
    w.line("}")
    w.line("")
  end
  if p.load_hint == "first" or p.load_hint == "wide" then
    emit_hinted(w, p.load_hint, p.vector)
  end
  loader("load", p.load_hint)
  if options.columns then loader("column", "readonly") end
  if options.again then loader("again", "plain") end
  if not options.stores then return end
  w.line("template <int V> __device__ inline void store(float *to, vec<V> v)")
  w.line("{")
  local function put(n, to, value)
    w.line("if constexpr (V == %d)", n)
    w.line("    %s;", store_of[p.store_hint]:format(to, value))
  end
  if p.vector >= 4 then
    put(4, "reinterpret_cast<float4 *>(to)", "make_float4(v.e[0], v.e[1], v.e[2], v.e[3])")
  end
  if p.vector >= 2 then
    put(2, "reinterpret_cast<float2 *>(to)", "make_float2(v.e[0], v.e[1])")
  end
  put(1, "to", "v.e[0]")
  w.line("}")
  w.line("")
end

-- What a thread knows of a row: its fields, the values of nothing, and how two are
-- made one.
function cuda.part(w, part)
  local n = #part.none
  w.line("struct part_%s {", part.name)
  w.line("float v[%d];", n)
  w.line("static __device__ part_%s none() { return { { %s } }; }", part.name,
         table.concat(part.none, ", "))
  w.line("};")
  w.line("")
  w.line("__device__ inline void merge(part_%s &a, const part_%s &b)", part.name, part.name)
  w.line("{")
  for line in part.merge:gmatch "[^\n]+" do w.line((line:gsub("^%s+", ""))) end
  w.line("}")
  w.line("")
end

local function emit_shuffled(w)
  w.line("template <class P> __device__ inline P shuffled(P p, int step)")
  w.line("{")
  w.line("for (int i = 0; i < sizeof p.v / sizeof *p.v; i++)")
  w.line("    p.v[i] = __shfl_xor_sync(0xffffffffu, p.v[i], step);")
  w.line("return p;")
  w.line("}")
  w.line("")
end

-- across(part, rooms, turn): all threads of a row add up their parts, threads
-- being the most a block has. Rooms, of `room` floats each, alternate.
function cuda.across(w, p, room, threads)
  if p.reduce == "shuffle" then emit_shuffled(w) end
  w.line("/* Every thread of a row gets the part of the whole row. Rooms alternate, so")
  w.line(" * that one is written again only when all have read it. */")
  w.line("template <class P> __device__ inline P across(P p, float *rooms, int turn)")
  w.line("{")
  if p.reduce == "tree" then
    w.line("const int at = threadIdx.y * blockDim.x + threadIdx.x;")
    w.line("P *room = reinterpret_cast<P *>(rooms + (turn & 1) * %d);", room)
    w.line("")
    w.line("room[at] = p;")
    w.line("__syncthreads();")
    w.line("for (int half = %d; half > 0; half /= 2) {", threads // 2)
    w.line("if (threadIdx.x < half && threadIdx.x + half < blockDim.x)")
    w.line("    merge(room[at], room[at + half]);")
    w.line("__syncthreads();")
    w.line("}")
    w.line("return room[threadIdx.y * blockDim.x];")
  else
    w.line("const int lane = threadIdx.x % 32, warps = blockDim.x / 32;")
    w.line("P *room = reinterpret_cast<P *>(rooms + (turn & 1) * %d) + threadIdx.y * 32;",
           room)
    w.line("")
    w.line("for (int step = 16; step > 0; step /= 2)")
    w.line("    merge(p, shuffled(p, step));")
    w.line("if (warps == 1)")
    w.line("    return p;")
    w.line("if (lane == 0)")
    w.line("    room[threadIdx.x / 32] = p;")
    w.line("__syncthreads();")
    w.line("p = lane < warps ? room[lane] : P::none();")
    w.line("for (int step = 16; step > 0; step /= 2)")
    w.line("    merge(p, shuffled(p, step));")
    w.line("return p;")
  end
  w.line("}")
  w.line("")
end

return cuda

-- How softmax may be written.
--
-- fuse_passes says which passes a row takes: "none" finds the maximum, stores the
-- exponentials, sums them, scales them; "sum" adds up while it stores; "recompute"
-- adds up without storing and computes the exponentials again; "online" finds
-- maximum and sum in one pass. With tile_cols all but the last pass go block by
-- block, the sum rescaled as the maximum grows. sweep turns passes around so that
-- one begins where the one before ended.

local code = require "kernelband.emit"

local parameters = {
  { "tile_cols", { 0, 256, 1024, 4096 } },               -- 0: not blocked
  { "vector", { 1, 4, 8, 16 } },                         -- floats in a vector
  { "exp", { "libm", "poly" } },
  { "fuse_passes", { "none", "sum", "recompute", "online" } },
  { "unroll", { 1, 2, 4 } },                             -- vectors a loop turn
  { "prefetch", { 0, 128, 512 } },                       -- floats ahead
  { "sweep", { "forward", "backward", "zigzag" } },      -- backward: last pass
  { "pack", { 0, 1 } },                                  -- exponentials apart from y
  { "stream", { 0, 1 } },                                -- stores past the cache
}

local function valid() return true end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if p.fuse_passes == "online" then
    out.tile_cols = 0
    if p.sweep == "zigzag" then out.sweep = "backward" end
  end
  if p.fuse_passes == "online" or p.fuse_passes == "recompute" then
    out.pack = 0
  end
  return out
end

local function emit_most(w, p)
  if p.vector > 1 then
    w.line("/* The greater of two, lane by lane. */")
    w.open("static inline void most(vec *top, const vec *x)")
    w.line("const bits more = (bits)(*x > *top);")
    w.line("")
    w.line("*top = (vec)((more & (bits)*x) | (~more & (bits)*top));")
    w.close()
  end
end

-- A long sum of like terms in one float drifts, always the same way. So vectors
-- are summed in parts of this many, and floats in a double.
local PART = 64

local function vector_name(p) return p.vector > 1 and "vec" or "float" end

local function exp_call(p) return p.vector > 1 and "exp_all" or "exp_one" end

-- Lanes and unrolled steps have their own sums and maxima.
local function wide(p) return p.vector * p.unroll > 1 end

local function emit_accumulators(w, p, name, value)
  if not wide(p) then return end
  for u = 0, p.unroll - 1 do
    if p.vector > 1 and value ~= "0.0f" then
      w.line("vec %s%d = %s - (vec){ 0.0f };", name, u, value)
    elseif p.vector > 1 then
      w.line("vec %s%d = { 0.0f };", name, u)
    else
      w.line("%s %s%d = %s;", name == "sum" and "double" or "float", name, u,
             value)
    end
  end
end

-- Where terms of a sum go: to the part at hand, or straight to the sum.
local function addend(p) return p.vector > 1 and "part" or "sum" end

-- What surrounds a part; # in a text is each step of the unrolled loop.
local function parts(w, p, open, close)
  if p.vector == 1 then return nil end
  local function each(text)
    for u = 0, p.unroll - 1 do
      for line in text:gsub("#", u):gmatch "[^\n]+" do w.line(line) end
    end
  end
  return { floats = PART * p.unroll * p.vector,
           open = function()
             each "vec part# = { 0.0f };"
             each(open or "")
           end,
           close = function() each(close or "sum# += part#;") end }
end

-- Adds the accumulators to `name`, pairwise, lanes last.
local function emit_total(w, p, name)
  if not wide(p) then return end
  code.fold(w, p.unroll, name)
  code.lanes(w, p, name, name)
end

local function emit_top(w, p, backward)
  w.open("static inline float row_top(const float *restrict x, ptrdiff_t n)")
  w.line("float top = x[0];")
  emit_accumulators(w, p, "top", "x[0]")
  code.loop(w, p, 1, backward, "x", function(u, at)
    if p.vector > 1 then
      w.line("most(&top%d, (const vec *)(x + %s));", u, at)
    else
      w.line("top%d = x[%s] > top%d ? x[%s] : top%d;", u, at, u, at, u)
    end
  end, function(at)
    w.line("top = x[%s] > top ? x[%s] : top;", at, at)
  end)
  if wide(p) then
    for u = 0, p.unroll - 1 do
      if p.vector > 1 then
        w.line("for (int q = 0; q < %d; q++)", p.vector)
        w.line("    top = top%d[q] > top ? top%d[q] : top;", u, u)
      else
        w.line("top = top%d > top ? top%d : top;", u, u)
      end
    end
  end
  w.line("return top;")
  w.close()
end

local function emit_exps(w, p, backward)
  local stores = p.fuse_passes ~= "recompute"
  local sums = p.fuse_passes ~= "none"
  w.open("static inline %s row_exps(const float *restrict x, %sptrdiff_t n, "
         .. "float top)", sums and "float" or "void",
         stores and "float *restrict e, " or "")
  if sums then
    w.line("double sum = 0.0;")
    emit_accumulators(w, p, "sum", "0.0f")
  end
  code.loop(w, p, 1, backward, "x", function(u, at)
    w.line("%s e%d = %s - top;", vector_name(p), u, code.load(p, "x + " .. at))
    w.line("%s(&e%d);", exp_call(p), u)
    if sums then w.line("%s%d += e%d;", addend(p), u, u) end
    if stores then code.store(w, p, false, "e + " .. at, "e" .. u) end
  end, function(at)
    w.line("float one = x[%s] - top;", at)
    w.line("")
    w.line("exp_one(&one);")
    if sums then w.line("sum += one;") end
    if stores then w.line("e[%s] = one;", at) end
  end, sums and parts(w, p))
  if sums then
    emit_total(w, p, "sum")
    w.line("return (float)sum;")
  end
  w.close()
end

local function emit_sum(w, p, backward)
  w.open("static inline float row_sum(const float *restrict e, ptrdiff_t n)")
  w.line("double sum = 0.0;")
  emit_accumulators(w, p, "sum", "0.0f")
  code.loop(w, p, 1, backward, "e", function(u, at)
    w.line("%s%d += %s;", addend(p), u, code.load(p, "e + " .. at))
  end, function(at)
    w.line("sum += e[%s];", at)
  end, parts(w, p))
  emit_total(w, p, "sum")
  w.line("return (float)sum;")
  w.close()
end

local function emit_online(w, p, backward)
  w.line("/* Maximum and sum in one pass. */")
  w.open("static inline float row_online(const float *restrict x, ptrdiff_t n, "
         .. "float *at_top)")
  w.line("float top = x[0];")
  w.line("double sum = 0.0;")
  emit_accumulators(w, p, "top", "x[0]")
  emit_accumulators(w, p, "sum", "0.0f")
  code.loop(w, p, 1, backward, "x", function(u, at)
    w.line("%s e%d = %s;", vector_name(p), u, code.load(p, "x + " .. at))
    w.line("%s old%d = top%d;", vector_name(p), u, u)
    if p.vector > 1 then
      w.line("most(&top%d, &e%d);", u, u)
    else
      w.line("top%d = e%d > top%d ? e%d : top%d;", u, u, u, u, u)
    end
    w.line("e%d -= top%d;", u, u)
    w.line("old%d -= top%d;", u, u)
    w.line("%s(&e%d);", exp_call(p), u)
    w.line("%s(&old%d);", exp_call(p), u)
    local to = addend(p)
    w.line("%s%d = %s%d * old%d + e%d;", to, u, to, u, u, u)
  end, function(at)
    w.line("float one = x[%s] - top;", at)
    w.line("")
    w.line("if (one > 0.0f) {")
    w.line("float shrink = -one;")
    w.line("")
    w.line("exp_one(&shrink);")
    w.line("sum = sum * shrink + 1.0f;")
    w.line("top = x[%s];", at)
    w.line("} else {")
    w.line("exp_one(&one);")
    w.line("sum += one;")
    w.line("}")
  end, parts(w, p, "vec from# = top#;",
             "from# -= top#;\nexp_all(&from#);\nsum# = sum# * from# + part#;"))
  if wide(p) then
    w.line("")
    w.line("float most_of_all = top;")
    local q = p.vector > 1 and "[q]" or ""
    local function lanes(text)
      if p.vector > 1 then
        w.line("for (int q = 0; q < %d; q++)", p.vector)
        w.line("    " .. text)
      else
        w.line(text)
      end
    end
    for u = 0, p.unroll - 1 do
      lanes(("most_of_all = top%d%s > most_of_all ? top%d%s : most_of_all;")
        :format(u, q, u, q))
    end
    w.line("sum *= expf(top - most_of_all);")
    for u = 0, p.unroll - 1 do
      lanes(("sum += sum%d%s * expf(top%d%s - most_of_all);")
        :format(u, q, u, q))
    end
    w.line("top = most_of_all;")
  end
  w.line("*at_top = top;")
  w.line("return (float)sum;")
  w.close()
end

-- The last pass: from stored exponentials, or computing them again.
local function emit_last(w, p, backward, again)
  local from = again and "x" or "e"
  -- In place unless the exponentials have a buffer of their own.
  local apart = again or p.pack == 1
  local to = apart and "y" or "e"
  local streams = p.stream == 1 and p.vector == 1
  w.open("static inline void row_scale(%s%sptrdiff_t n, %sfloat scale)",
         apart and ("const float *restrict %s, "):format(from)
         or "float *restrict e, ",
         apart and "float *restrict y, " or "", again and "float top, " or "")
  code.loop(w, p, 1, backward, from, function(u, at)
    if again then
      w.line("%s e%d = %s - top;", vector_name(p), u, code.load(p, "x + " .. at))
      w.line("%s(&e%d);", exp_call(p), u)
      w.line("e%d *= scale;", u)
    else
      w.line("%s e%d = %s * scale;", vector_name(p), u, code.load(p, "e + " .. at))
    end
    code.store(w, p, p.stream == 1, to .. " + " .. at, "e" .. u)
  end, function(at)
    if again then
      w.line("float one = x[%s] - top;", at)
      w.line("")
      w.line("exp_one(&one);")
      if streams then
        w.line("one *= scale;")
      else
        w.line("y[%s] = one * scale;", at)
      end
    elseif streams then
      w.line("const float one = e[%s] * scale;", at)
      w.line("")
    else
      w.line("%s[%s] = e[%s] * scale;", to, at, at)
    end
    if streams then w.line("put(%s + %s, &one);", to, at) end
  end)
  w.close()
end

local function emit_rows(w, p)
  local again = p.fuse_passes == "recompute" or p.fuse_passes == "online"
  local e = p.pack == 1 and "exps" or "yr"
  local apart = again or p.pack == 1
  local function scale(at, n, factor)
    local from = again and "xr" or e
    w.line("row_scale(%s%s, %s%s, %s%s);", from, at,
           apart and ("yr%s, "):format(at) or "", n, again and "top, " or "",
           factor)
  end
  -- Exponentials of n columns, their sum added or assigned: to is what comes before it.
  local function sum_up(to, at, n)
    local call = ("row_exps(xr%s, %s%s, top)"):format(at, again and "" or e .. at .. ", ", n)
    if p.fuse_passes ~= "none" then return w.line("%s %s;", to, call) end
    if at == "" then w.line("") end
    w.line("%s;", call)
    if at == "" then w.line("") end
    w.line("%s row_sum(%s%s, %s);", to, e, at, n)
  end
  if p.fuse_passes == "online" then
    w.line("float top;")
    w.line("const float sum = row_online(xr, cols, &top);")
    w.line("")
    scale("", "cols", "1.0f / sum")
  elseif p.tile_cols == 0 then
    w.line("const float top = row_top(xr, cols);")
    sum_up("const float sum =", "", "cols")
    w.line("")
    scale("", "cols", "1.0f / sum")
  else
    w.line("float top = xr[0], sum = 0.0f;")
    w.line("")
    w.line("for (ptrdiff_t c = 0; c < cols; c += %d) {", p.tile_cols)
    w.line("const ptrdiff_t n = least(%d, cols - c);", p.tile_cols)
    w.line("const float block_top = row_top(xr + c, n);")
    w.line("")
    w.line("if (block_top > top) {")
    w.line("sum *= expf(top - block_top);")
    w.line("top = block_top;")
    w.line("}")
    if not again then w.line("used[c / %d] = top;", p.tile_cols) end
    sum_up("sum +=", " + c", "n")
    w.line("}")
    if again then
      scale("", "cols", "1.0f / sum")
    else
      if p.sweep == "forward" then
        w.line("for (ptrdiff_t c = 0; c < cols; c += %d)", p.tile_cols)
      else
        w.line("for (ptrdiff_t c = (cols - 1) / %d * %d; c >= 0; c -= %d)",
               p.tile_cols, p.tile_cols, p.tile_cols)
      end
      w.line("    row_scale(%s + c, %sleast(%d, cols - c),", e,
             apart and "yr + c, " or "", p.tile_cols)
      w.line("              expf(used[c / %d] - top) / sum);", p.tile_cols)
    end
  end
end

local function emit_entry(w, p)
  local stored = p.fuse_passes == "none" or p.fuse_passes == "sum"
  local used = stored and p.tile_cols > 0
  w.open("void softmax(const float *x, float *y, int32_t rows, int32_t cols)")
  if p.pack == 1 then w.line("float *exps = scratch(cols);") end
  if used then
    w.line("float *used = scratch((cols - 1) / %d + 1);", p.tile_cols)
  end
  if p.pack == 1 or used then w.line("") end
  w.line("for (ptrdiff_t r = 0; r < rows; r++) {")
  w.line("const float *xr = x + r * cols;")
  w.line("float *yr = y + r * cols;")
  emit_rows(w, p)
  w.line("}")
  if used then w.line("free(used);") end
  if p.pack == 1 then w.line("free(exps);") end
  if p.stream == 1 then code.stream_end(w) end
  w.line("}")
end

local function emit_helpers(w, p)
  local stored = p.fuse_passes == "none" or p.fuse_passes == "sum"
  if p.tile_cols > 0 then
    code.least(w)
  end
  if p.pack == 1 or (stored and p.tile_cols > 0) then
    code.scratch(w)
  end
end

local function emit(point)
  local p, w = settle(point), code.writer()
  code.describe(w, parameters, p)
  code.head(w, p.vector, {
    includes = { "math", "stddef", "stdint", "stdlib", "string" },
    stream = p.stream == 1, bits = p.vector > 1,
  })
  if p.stream == 1 then code.put(w, p.vector) end
  emit_helpers(w, p)
  code.exp(w, p)
  -- Which of the passes go backward, the last one first.
  local passes = ({ none = 4, sum = 3, recompute = 3, online = 2 })[p.fuse_passes]
  local function backward(n)
    if p.sweep == "zigzag" then return n % 2 == 0 end
    return p.sweep == "backward" and n == passes
  end
  if p.vector > 1 then emit_most(w, p) end
  if p.fuse_passes == "online" then
    emit_online(w, p, backward(1))
  else
    emit_top(w, p, backward(1))
    emit_exps(w, p, backward(2))
    if p.fuse_passes == "none" then emit_sum(w, p, backward(3)) end
  end
  emit_last(w, p, backward(passes), passes == 2 or p.fuse_passes == "recompute")
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }

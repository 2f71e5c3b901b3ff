-- emit.lua - what the schedule.lua of a C task writes its source with: a writer
-- that indents and wraps, and the helpers that several tasks' kernels share.
local emit = {}

-- Lines of C, indented by the braces they open and close, at most 80 wide: a
-- longer line breaks after an operator of a sum, or else after a comma.
function emit.writer()
  local lines, depth = {}, 0
  local w = {}
  local function put(text, column)
    local start = text:sub(1, 80)
    local sum = #text > 80 and start:match "= .*[+*]() "
    local cut = sum or #text > 80 and start:match ".*,() "
    if not cut then lines[#lines + 1] = text return end
    lines[#lines + 1] = text:sub(1, cut - 1)
    column = column or sum and text:find "= " + 1 or text:find "%(" or 0
    put((" "):rep(column) .. text:sub(cut + 1), column)
  end
  function w.line(text, ...)
    if select("#", ...) > 0 then text = text:format(...) end
    if text:find "^}" then depth = depth - 1 end
    local flat = text == "" or text:find "^#"
    put((flat and "" or ("    "):rep(depth)) .. text)
    if text:find "{$" then depth = depth + 1 end
  end
  function w.text() return table.concat(lines, "\n") .. "\n" end
  return w
end

function emit.copy(parameters, p)
  local out = {}
  for _, parameter in ipairs(parameters) do
    out[parameter[1]] = p[parameter[1]]
  end
  return out
end

-- A comment that names every parameter and its value.
function emit.describe(w, parameters, p)
  local text = "/*"
  for _, parameter in ipairs(parameters) do
    local said = (" %s=%s"):format(parameter[1], p[parameter[1]])
    if #text + #said > 76 then
      w.line(text)
      text = " *"
    end
    text = text .. said
  end
  w.line(text .. " */")
end

-- opts.includes: names of headers; opts.stream: stores past the cache are used.
function emit.head(w, vector, opts)
  local bytes = opts.stream and vector == 1    -- put copies the bits of a float
  for _, name in ipairs(opts.includes) do
    w.line("#include <%s.h>", name)
    if name == "string" then bytes = false end
  end
  if bytes then w.line("#include <string.h>") end
  if opts.stream then
    w.line("#if defined(__SSE2__)")
    w.line("#include <immintrin.h>")
    w.line("#endif")
  end
  w.line("")
  if vector > 1 then
    w.line("typedef float vec")
    w.line("    __attribute__((vector_size(%d), aligned(4), may_alias));",
           vector * 4)
    w.line("")
  end
end

function emit.least(w)
  w.line("static inline ptrdiff_t least(ptrdiff_t x, ptrdiff_t y)")
  w.line("{")
  w.line("return x < y ? x : y;")
  w.line("}")
  w.line("")
end

-- A kernel has no way to say that memory is short, so it dies visibly.
function emit.scratch(w)
  w.line("static float *scratch(ptrdiff_t floats)")
  w.line("{")
  w.line("void *at = aligned_alloc(64, ((size_t)floats * 4 + 63) / 64 * 64);")
  w.line("")
  w.line("if (!at)")
  w.line("    abort();")
  w.line("return at;")
  w.line("}")
  w.line("")
end

local intrinsics = {
  [4] = { "__SSE2__", "_mm_stream_ps", "__m128" },
  [8] = { "__AVX__", "_mm256_stream_ps", "__m256" },
  [16] = { "__AVX512F__", "_mm512_stream_ps", "__m512" },
}

-- put(to, from): a vector of 1, 4, 8 or 16 floats. Vectors go by address, so that
-- a machine without such registers has no calling convention to warn about.
function emit.put(w, vector)
  w.line("/* A store that bypasses the cache, where address and machine allow. */")
  w.line("static inline void put(float *to, const %s *from)",
         vector == 1 and "float" or "vec")
  w.line("{")
  if vector == 1 then
    w.line("#if defined(__SSE2__)")
    w.line("int bits;")
    w.line("")
    w.line("memcpy(&bits, from, sizeof bits);")
    w.line("_mm_stream_si32((int *)to, bits);")
    w.line("#else")
    w.line("*to = *from;")
    w.line("#endif")
  else
    local machine, call, type = table.unpack(intrinsics[vector])
    w.line("#if defined(%s)", machine)
    w.line("if (((uintptr_t)to & %d) == 0) {", vector * 4 - 1)
    w.line("%s(to, (%s)*from);", call, type)
    w.line("return;")
    w.line("}")
    w.line("#endif")
    w.line("*(vec *)to = *from;")
  end
  w.line("}")
  w.line("")
end

-- After the last put: later stores must not overtake it.
function emit.stream_end(w)
  w.line("#if defined(__SSE2__)")
  w.line("_mm_sfence();")
  w.line("#endif")
end

return emit

-- emit/tile.lua - what the schedules of CUDA tasks that work on tiles in shared
-- memory write their source with: plan lines, text with holes, the order of
-- blocks, asynchronous copies and matrix instructions. Its text is in tile.in.
local code    = require "kernelband.emit"
local collect = require("kernelband.base.lists").collect
local text_of = require("kernelband.base.template").piece

local tile = {}

-- "${name}" in text becomes values[name], which must be there.
function tile.fill(text, values)
  return (text:gsub("%${([%w_]+)}", function(name)
    return tostring(values[name] or error("no value for ${" .. name .. "}"))
  end))
end

-- A piece of tile.in, filled in.
local function piece(name, values) return tile.fill(text_of("emit/tile." .. name), values) end

-- plan: lines without their "// kb: "; pieces: texts with holes. Of both, false ones are
-- left out.
function tile.source(parameters, p, plan, pieces, values)
  local w = code.writer()
  code.describe(w, parameters, p)
  local lines = collect(plan, function(line) return line and "// kb: " .. line .. "\n" end)
  local texts = collect(pieces, function(text) return text end)
  return tile.fill(table.concat(lines), values) .. "\n" .. w.text()
         .. tile.fill(table.concat(texts), values)
end

-- "#pragma unroll 4\n", or nothing where nothing is unrolled.
function tile.unrolled(p) return p.unroll > 1 and "#pragma unroll " .. p.unroll .. "\n" or "" end

-- The loops of a copy into shared memory, as values walk, address and advance: elements i, j of
-- a tile whose longest rows have `columns`, `vector` at a time from `at`. A thread keeps to one
-- column where a row takes no more than all threads.
function tile.walk(values, columns)
  local by_column = values.threads >= columns // values.vector
  values.walk = piece(by_column and "walk_column" or "walk_any", values):sub(1, -2)
  values.address = by_column and "" or piece("address", values)
  values.advance = by_column and "        at += (size_t)STRIDE * n;\n" or ""
end

-- The loop over the tiles: fetch(step), then the code `multiply`. With stages the next tiles
-- are on their way meanwhile: commit and wait are the calls of asynchronous copies, or nothing.
function tile.loop(stages, multiply, commit, wait)
  return piece(stages > 1 and "loop_stages" or "loop_one",
               { multiply = multiply, commit = commit, wait = wait })
end

-- commit and wait, set in as in the loop; nothing unless copies are asynchronous.
function tile.turns(async)
  return async and "        commit();\n" or "", async and "        wait<STAGES - 2>();\n" or ""
end

-- The kernel that zeroes an array of rows x columns.
function tile.zero(element, out, rows, columns, zero)
  return piece("zero", { element = element, out = out, rows = rows, columns = columns,
                         zero = zero })
end

-- How the kernels of products begin, without tiles and with them.
tile.gemm_untiled, tile.gemm = text_of "emit/tile.untiled", text_of "emit/tile.gemm"

-- Values of the text of a product without tiles: a block of 16 x 16 threads, `vector` columns a
-- thread, whose blocks go along rows or columns of m x n.
function tile.untiled(p, element)
  local rows, across = p.order == "rows", 16 * p.vector
  local wide, high = ("cdiv(n,%d)"):format(across), "cdiv(m,16)"
  local j = (rows and "blockIdx.x" or "blockIdx.y") .. " * blockDim.x + threadIdx.x"
  local many = p.vector > 1
  return { element = element, vector = p.vector, bi = rows and "blockIdx.y" or "blockIdx.x",
           j = many and ("(%s) * %d"):format(j, p.vector) or j,
           sum = many and ("[%d] = { 0.0f }"):format(p.vector) or " = 0.0f",
           unrolled = tile.unrolled(p),
           grid = rows and wide .. "," .. high or high .. "," .. wide }
end

-- "enum { A = 1, B = 2 };" over as many lines as it takes.
function tile.constants(list)
  local words = collect(list, function(item) return (" %s = %s,"):format(item[1], item[2]) end)
  return "\nenum {\n" .. code.wrapped("   ", "   ", words) .. "\n};\n"
end

-- tile_of(block, across, down, &i, &j): which tile a block computes. "rows"
-- walks the tiles of a row one after the other, "columns" those of a column;
-- with a group the walk keeps to that many rows (or columns), so that the
-- blocks at work at one time share more of what they read.
function tile.block_order(order, group)
  local rows = order == "rows"
  local fast, slow = rows and "across" or "down", rows and "down" or "across"
  return piece(group > 1 and "order_grouped" or "order_plain",
    { fast = fast, slow = slow, f = rows and "j" or "i", s = rows and "i" or "j", group = group })
end

-- copy_async(to, from, bytes): from device to shared memory, `size` bytes of
-- which `bytes` are read and the rest become 0.
function tile.async(size)
  return piece("async", { size = size, mode = size == 16 and "cg" or "ca" })
end

-- The type bf16, `vector` of which are a vec of `bytes`.
tile.bf16, tile.bf16_vector = text_of "emit/tile.bf16", text_of "emit/tile.bf16_vector"

-- A vec from *at, or zeros unless inside, to element `to` of a tile in shared memory.
function tile.bf16_copy(async, to, bytes)
  return piece(async and "bf16_async" or "bf16_copy", { to = to, bytes = bytes }):sub(1, -2)
end

tile.shared_address = text_of "emit/tile.shared_address"

-- Four 8 x 8 matrices of 16-bit elements a warp, and d += a b on 16 x 8 x 16.
tile.matrix = text_of "emit/tile.matrix"

-- at(row, column): where an element of a tile in shared memory lies, its rows
-- `width` elements of 16 bits. Swizzled, the groups of 8 elements trade places
-- from row to row, so that a column of them meets every bank.
function tile.place(name, width, pad, swizzle)
  local chunks = width // 8
  local mask = chunks >= 8 and "row & 7" or chunks == 4 and "row >> 1 & 3" or "row >> 2 & 1"
  return piece(swizzle == 0 and "place_plain" or "place_swizzled",
               { name = name, row = width + pad, mask = mask })
end

return tile

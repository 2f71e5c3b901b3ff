-- emit/tile.lua - what the schedules of CUDA tasks that work on tiles in shared
-- memory write their source with: plan lines, text with holes, the order of
-- blocks, asynchronous copies and matrix instructions. Its text is in tile.in.
local code     = require "kernelband.emit"
local collect  = require("kernelband.base.lists").collect
local template = require "kernelband.base.template"

local fill, text_of = template.fill, template.piece

local tile = {}

-- "${name}" in text becomes values[name], which must be there.
function tile.fill(text, values)
  return (text:gsub("%${([%w_]+)}", function(name)
    return tostring(values[name] or error("no value for ${" .. name .. "}"))
  end))
end

-- What a piece of tile.in is filled with, as the arguments of the function that returns it:
--   loop         over the tiles: fetch(step), then the code `multiply`. With stages the next tiles
--                are on their way meanwhile: commit and wait are the calls of asynchronous copies,
--                or nothing
--   zero         the kernel that zeroes an array of rows x columns
--   block_order  tile_of(block, across, down, &i, &j): which tile a block computes. "rows" walks
--                the tiles of a row one after the other, "columns" those of a column; with a group
--                the walk keeps to that many rows (or columns), so that the blocks at work at one
--                time share more of what they read
--   async        copy_async(to, from, bytes): from device to shared memory, `size` bytes of which
--                `bytes` are read and the rest become 0
--   place        at(row, column): where an element of a tile in shared memory lies, its rows
--                `width` elements of 16 bits. Swizzled, the groups of 8 elements trade places from
--                row to row, so that a column of them meets every bank
local arguments = {
  loop = { "stages", "multiply", "commit", "wait" }, async = { "size" },
  zero = { "element", "out", "rows", "columns", "zero" }, block_order = { "order", "group" },
  place = { "name", "width", "pad", "swizzle" },
}

for piece, names in pairs(arguments) do
  tile[piece] = function(...)
    return fill("emit/tile." .. piece, code.named(names, ...)) .. "\n"
  end
end

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
  values.walk = fill(by_column and "emit/tile.walk_column" or "emit/tile.walk_any", values)
  values.address = by_column and "" or fill("emit/tile.address", values) .. "\n"
  values.advance = by_column and "        at += (size_t)STRIDE * n;\n" or ""
end

-- commit and wait, set in as in the loop; nothing unless copies are asynchronous.
function tile.turns(async)
  return async and "        commit();\n" or "", async and "        wait<STAGES - 2>();\n" or ""
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

-- The type bf16, `vector` of which are a vec of `bytes`.
tile.bf16, tile.bf16_vector = text_of "emit/tile.bf16", text_of "emit/tile.bf16_vector"

-- A vec from *at, or zeros unless inside, to element `to` of a tile in shared memory.
function tile.bf16_copy(async, to, bytes)
  return fill("emit/tile.bf16_copy", { async = async, to = to, bytes = bytes })
end

tile.shared_address = text_of "emit/tile.shared_address"

-- Four 8 x 8 matrices of 16-bit elements a warp, and d += a b on 16 x 8 x 16.
tile.matrix = text_of "emit/tile.matrix"

return tile

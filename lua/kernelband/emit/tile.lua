-- emit/tile.lua - what the schedules of CUDA tasks that work on tiles in shared
-- memory write their source with: plan lines, text with holes, the order of
-- blocks, asynchronous copies and matrix instructions.
local code = require "kernelband.emit"

local tile = {}

-- "${name}" in text becomes values[name], which must be there.
function tile.fill(text, values)
  return (text:gsub("%${([%w_]+)}", function(name)
    local v = values[name]
    if v == nil then error("no value for ${" .. name .. "}") end
    return tostring(v)
  end))
end

-- plan: lines without their "// kb: "; pieces: texts with holes, false ones
-- are left out.
function tile.source(parameters, p, plan, pieces, values)
  local out = {}
  for i, line in ipairs(plan) do
    out[i] = "// kb: " .. tile.fill(line, values) .. "\n"
  end
  out[#out + 1] = "\n"
  local w = code.writer()
  code.describe(w, parameters, p)
  out[#out + 1] = w.text()
  for _, piece in ipairs(pieces) do
    if piece then out[#out + 1] = tile.fill(piece, values) end
  end
  return table.concat(out)
end

-- "enum { A = 1, B = 2 };" over as many lines as it takes.
function tile.constants(list)
  local text, line = "\nenum {", nil
  for _, item in ipairs(list) do
    local word = (" %s = %s,"):format(item[1], item[2])
    if not line or #line + #word > 76 then
      text = text .. (line or "") .. "\n"
      line = "   "
    end
    line = line .. word
  end
  return text .. line .. "\n};\n"
end

-- tile_of(block, across, down, &i, &j): which tile a block computes. "rows"
-- walks the tiles of a row one after the other, "columns" those of a column;
-- with a group the walk keeps to that many rows (or columns), so that the
-- blocks at work at one time share more of what they read.
function tile.block_order(order, group)
  local rows = order == "rows"
  local fast, slow = rows and "across" or "down", rows and "down" or "across"
  local f, s = rows and "j" or "i", rows and "i" or "j"
  local v = { fast = fast, slow = slow, f = f, s = s, group = group }
  if group <= 1 then
    return tile.fill([[

static __device__ void tile_of(int block, int across, int down,
                               int *i, int *j)
{
    *${f} = block % ${fast};
    *${s} = block / ${fast};
}
]], v)
  end
  return tile.fill([[

static __device__ void tile_of(int block, int across, int down,
                               int *i, int *j)
{
    const int group = block / (${group} * ${fast});
    const int left = ${slow} - group * ${group};
    const int width = left < ${group} ? left : ${group};
    const int rest = block - group * ${group} * ${fast};

    *${s} = group * ${group} + rest % width;
    *${f} = rest / width;
}
]], v)
end

-- copy_async(to, from, bytes): from device to shared memory, `size` bytes of
-- which `bytes` are read and the rest become 0.
function tile.async(size)
  return tile.fill([[

static __device__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

static __device__ void copy_async(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.${mode}.shared.global [%0], [%1], ${size}, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ void commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until at most N groups are still on their way. */
template <int N> static __device__ void wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
]], { size = size, mode = size == 16 and "cg" or "ca" })
end

tile.shared_address = [[

static __device__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}
]]

-- Four 8 x 8 matrices of 16-bit elements a warp, and d += a b on 16 x 8 x 16.
tile.matrix = [[

static __device__ void load_matrix(unsigned (&r)[4], const void *at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(at)) : "memory");
}

static __device__ void load_transposed(unsigned (&r)[4], const void *at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(at)) : "memory");
}

static __device__ void multiply(float (&d)[4], const unsigned (&a)[4],
                                unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
]]

-- at(row, column): where an element of a tile in shared memory lies, its rows
-- `width` elements of 16 bits. Swizzled, the groups of 8 elements trade places
-- from row to row, so that a column of them meets every bank.
function tile.place(name, width, pad, swizzle)
  local v = { name = name, row = width + pad }
  if swizzle == 0 then
    return tile.fill([[

static __device__ int ${name}(int row, int column)
{
    return row * ${row} + column;
}
]], v)
  end
  local chunks = width // 8
  v.mask = chunks >= 8 and "row & 7" or chunks == 4 and "row >> 1 & 3"
           or "row >> 2 & 1"
  return tile.fill([[

static __device__ int ${name}(int row, int column)
{
    return row * ${row} + (column ^ (${mask}) << 3);
}
]], v)
end

return tile

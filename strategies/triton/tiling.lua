-- Tiling: how the work is cut into programs and blocks.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the Triton kernel below with another division of its work,
and change nothing else about it.

- Find what is read more than once, by one program or by several, and choose block
  shapes that keep it in registers or shared memory while it is needed.
- A matrix product wants BLOCK_M x BLOCK_N of 64 x 64 to 128 x 256 and BLOCK_K of 32 to
  64; tl.dot needs every side to be 16 at least. Traffic falls with the side of a tile.
- A row that is reduced is one block when it fits (some 16 Ki elements); else a loop
  over blocks. Several short rows make one two-dimensional block.
- Element-wise work wants 512 to 4096 elements a program.
- Block sizes are powers of two and tl.constexpr. A few programs a multiprocessor are
  enough, a last wave of few programs wastes it.
- Keep the names and arguments of the functions that are called from outside, and the
  result for every shape. Import nothing but torch, triton and math.
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "l2")
  if used then
    say[#say + 1] = ("Second-level cache traffic is at %.0f%% of its peak (%s)."):format(used, kind)
  end
  local phi, kinds = kernel.phi, kernel.phi_kind
  if type(phi) == "table" and type(phi[5]) == "number" and type(kinds) == "table"
     and kinds[5] ~= "missing" then
    say[#say + 1] = ("Occupancy is %.0f%% (%s).")
      :format(100 * phi[5], tostring(kinds[5]))
  end
  return table.concat(say, "\n")
end

return {
  name = "tiling",
  target = "l2",
  summary = "block sizes of programs: how the work is cut",
  prompt = prompt,
  moves = { "tile1", "tile2", "tile3", "tile4", "tile5", "tile6",
            "tile7", "tile8", "tile9", "tile10", "tile11", "tile12" },
}

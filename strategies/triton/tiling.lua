-- Tiling: how the work is cut into programs and blocks.

local prompt = [[
Rewrite the kernel with another division of its work.

- Find what is read more than once, by one program or by several, and choose block
  shapes that keep it in registers or shared memory while it is needed.
- A matrix product wants BLOCK_M x BLOCK_N of 64 x 64 to 128 x 256 and BLOCK_K of 32 to
  64; tl.dot needs every side to be 16 at least. Traffic falls with the side of a tile.
- A row that is reduced is one block when it fits (some 16 Ki elements); else a loop
  over blocks. Several short rows make one two-dimensional block.
- Element-wise work wants 512 to 4096 elements a program.
- Block sizes are powers of two and tl.constexpr. A few programs a multiprocessor are
  enough, a last wave of few programs wastes it.
]]

return {
  name = "tiling",
  target = "l2",
  summary = "block sizes of programs: how the work is cut",
  prompt = prompt,
  moves = { "tile1", "tile2", "tile3", "tile4", "tile5", "tile6",
            "tile7", "tile8", "tile9", "tile10", "tile11", "tile12" },
}

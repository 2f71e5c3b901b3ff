-- evaluate/room.lua - sources made into kernels, and rooms: the buffers and programs that
-- one shape of a task needs, kept for as long as a session lives.
local schema  = require "kernelband.base.schema"
local task    = require "kernelband.task"
local verdict = require "kernelband.evaluate.verdict"
local normal = require "kernelband.base.source".normal

local rooms = {}

-- What a call may take while nobody knows how long one takes. KERNELBAND_PATIENCE is set by tests
-- of calls that never end.
rooms.patience_s = math.tointeger(tonumber(os.getenv "KERNELBAND_PATIENCE")) or 10

local build_timeout_ns = 30 * 10 ^ 9 // 1
local slots_bytes      = 32 << 20       -- of arrays that rotate in a sample, about

-- A source as built: its object and, on a GPU, its launch plan. Returns nil,
-- text, code.
function rooms.build(s, source, entry, arguments, sanitized)
  local launches
  if s.language == "cuda" and source:find("# kb: triton", 1, true) then
    return require("kernelband.triton.compile").build(s, source)
  end
  if s.language == "cuda" then
    local why
    launches, why = s.planner.parse(source, s.task)
    if not launches then return nil, why, "EPLAN" end
  end
  local object, log, code = s.device:build { source = source, entry = entry, args = arguments,
                                             timeout_ns = build_timeout_ns, sanitized = sanitized }
  if not object then return nil, log, code end
  return { object = object, plan = launches }
end

-- The same of a candidate, or of the baseline.
function rooms.candidate(s, source, sanitized)
  local t = s.task
  return rooms.build(s, source, t.name, task.arguments(t, t.shapes.smoke[1]), sanitized)
end

function rooms.build_reference(s)
  local t = s.task
  local source = task.source(t, "reference")
  local shape = t.shapes.smoke[1]
  local kernel, why = rooms.build(s, source, t.name .. "_f64", task.arguments(t, shape, true))
  if kernel then return kernel, true end
  local plain = s.language == "c" and rooms.build(s, source, t.name, task.arguments(t, shape))
  if plain then return plain, false end
  schema.raise("%s does not build as %s_f64 (float64 outputs) nor as %s: %s",
               t.reference[s.language], t.name, t.name,
               verdict.first_error(why, t.name .. "_f64", t.reference[s.language]))
end

-- Does the text of a CUDA source, comments aside, hold an atomic addition? Not asked is of which
-- type. (Python's // would be taken for a comment.)
function rooms.has_atomics(s, source)
  if s.language ~= "cuda" then return false end
  local text = source:find("# kb: triton", 1, true) and source or normal(source)
  return text:find("atom", 1, true) ~= nil or text:find("reduce.async", 1, true) ~= nil
         or text:find "%f[%w_]red%." ~= nil
end

-- What a kernel of a GPU launches at a shape | nil, why.
function rooms.launches(s, kernel, shape)
  return s.planner.resolve(kernel.plan, s.task, shape, { sm_count = s.machine.sm_count })
end

-- A program of the kernel on the room's buffers, or on these | nil, why, code.
function rooms.load(s, kernel, room, buffers)
  local launches, why
  if kernel.plan then
    launches, why = rooms.launches(s, kernel, room.shape)
    if not launches then return nil, why, "EPLAN" end
  end
  return s.device:load(kernel.object, buffers or room.buffers, launches)
end

local bytes_of = { f64 = 8, i64 = 8, f32 = 4, i32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1 }

local function slots_for(arguments)
  local bytes = 0
  for _, a in ipairs(arguments) do
    if a.count then bytes = bytes + bytes_of[a.dtype] * a.count end
  end
  return math.max(1, math.min(1024, slots_bytes // bytes))
end

local function load_or_raise(s, kernel, room, buffers, what)
  local program, why = rooms.load(s, kernel, room, buffers)
  if not program then schema.raise("%s: %s cannot be loaded: %s", s.task.file, what, why) end
  return program
end

local function buffers_or_raise(s, arguments, slots)
  local b, why = s.device:buffers(arguments, slots)
  if not b then schema.raise("%s: no room for the arguments: %s", s.task.file, why) end
  return b
end

-- Buffers and a reference for the answers to inputs a rounding away, and a scale that holds
-- what those answers differ by; made when first asked for, nil where there is no memory.
function rooms.near(s, room)
  if room.near then return room.near end
  local wide = task.arguments(s.task, room.shape, s.reference_wide)
  local buffers, spread = s.device:buffers(wide, 1), s.device:buffers(wide, 1)
  local program = buffers and spread and rooms.load(s, s.reference, room, buffers)
  room.near = program and { buffers = buffers, spread = spread, reference = program }
  return room.near
end

-- The same room with other buffers: every array starts where a page does.
function rooms.front(s, room)
  local arguments = task.arguments(s.task, room.shape)
  for _, a in ipairs(arguments) do a.front = true end
  return setmetatable({ buffers = buffers_or_raise(s, arguments, 1), slots = 1 },
                      { __index = room })
end

function rooms.new(s, shape, role)
  local t = s.task
  local arguments = task.arguments(t, shape)
  local wide = task.arguments(t, shape, s.reference_wide)
  local room = { shape = shape, role = role, label = task.show_shape(t, shape), inputs = {},
                 outputs = {}, below = {}, absolute = {},
                 bound = task.bound(t, shape), bound_of_atomics = task.bound(t, shape, true) }
  local fresh = s.machine.fresh_outputs
  room.slots = role == "timed" and not fresh and slots_for(arguments) or 1
  -- No call finds an output that an earlier one of its sample has filled: it
  -- could see that it is right and leave it.
  room.most = fresh and 1024 or room.slots
  for i, a in ipairs(t.args) do
    if task.is_made(a) then room.outputs[#room.outputs + 1] = i end
    room.below[i] = arguments[i].below
    if task.is_given(a) and task.is_absolute(t, a.name) then
      room.absolute[#room.absolute + 1] = i
    end
    if a.mode == "in" then
      room.inputs[#room.inputs + 1] = { arg = i, count = arguments[i].count }
    end
  end
  room.buffers = buffers_or_raise(s, arguments, room.slots)
  room.expected = buffers_or_raise(s, wide, 1)
  room.reference = load_or_raise(s, s.reference, room, room.expected, "the reference")
  if task.needs_scale(t) then
    room.scale = buffers_or_raise(s, wide, 1)
    room.scale_reference = load_or_raise(s, s.reference, room, room.scale, "the reference")
  end
  room.baseline = load_or_raise(s, s.baseline_kernel, room, room.buffers, "the baseline")
  room.limit_ns = rooms.patience_s * 10 ^ 9 // 1
  return room
end

return rooms

-- evaluate/room.lua - sources made into kernels, and rooms: the buffers and programs that
-- one shape of a task needs, kept for as long as a session lives.
local lists   = require "kernelband.base.lists"
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

local function is_triton(s, source)
  return s.language == "cuda" and source:find("# kb: triton", 1, true) ~= nil
end

-- A source as built: its object and, on a GPU, its launch plan. wide: a reference's, in float64.
-- Returns nil, text, code.
function rooms.build(s, source, wide, sanitized)
  local t = s.task
  local launches, why
  if is_triton(s, source) then return require("kernelband.triton.compile").build(s, source) end
  if s.language == "cuda" then
    launches, why = s.planner.parse(source, t)
    if not launches then return nil, why, "EPLAN" end
  end
  local object, log, code = s.device:build { source = source, timeout_ns = build_timeout_ns,
    entry = wide and t.name .. "_f64" or t.name, sanitized = sanitized,
    args = task.arguments(t, t.shapes.smoke[1], wide) }
  return object and { object = object, plan = launches }, log, code
end

function rooms.build_reference(s)
  local t, source = s.task, task.source(s.task, "reference")
  local kernel, why = rooms.build(s, source, true)
  if kernel then return kernel, true end
  local plain = s.language == "c" and rooms.build(s, source)
  if plain then return plain, false end
  local file = t.reference[s.language]
  schema.raise("%s does not build as %s_f64 (float64 outputs) nor as %s: %s", file, t.name, t.name,
               verdict.first_error(why, t.name .. "_f64", file))
end

-- Does the text of a CUDA source, comments aside, hold an atomic addition? Not asked is of which
-- type. (Python's // would be taken for a comment.)
function rooms.has_atomics(s, source)
  if s.language ~= "cuda" then return false end
  local text = is_triton(s, source) and source or normal(source)
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

-- Of the arrays of one slot, and of those among them whose contents a kernel gets.
local function array_bytes(arguments)
  local all, given = 0, 0
  for _, a in ipairs(arguments) do
    local bytes = (a.count or 0) * task.bytes_of[a.dtype]
    all, given = all + bytes, given + (task.is_given(a) and bytes or 0)
  end
  return all, given
end

-- What a task cannot be judged without.
local function need(s, lack, value, why)
  return value or schema.raise("%s: %s: %s", s.task.file, lack, why)
end

local function need_buffers(s, arguments, slots)
  return need(s, "no room for the arguments", s.device:buffers(arguments, slots))
end

-- Buffers of a room's modes and types, `count` elements to each array.
function rooms.pool(s, room, slots, count)
  return need_buffers(s, lists.collect(room.arguments, function(a)
    return lists.with(a, { count = a.count and count })
  end), slots)
end

-- Two buffers, each with a reference, for answers to inputs a rounding away, and a scale, spread,
-- that holds what those answers differ by; made when first asked for. nil, why where it cannot be.
function rooms.near(s, room)
  if room.near then return room.near end
  local wide = task.arguments(s.task, room.shape, s.reference_wide)
  local spread, why = s.device:buffers(wide, 1)
  if not spread then return nil, why end
  local near = { spread = spread }
  for k = 1, 2 do
    local buffers, program
    buffers, why = s.device:buffers(wide, 1)
    if buffers then program, why = rooms.load(s, s.reference, room, buffers) end
    if not program then return nil, why end
    near[k] = { buffers = buffers, reference = program }
  end
  room.near = near
  return near
end

-- The same room with other buffers: every array starts where a page does.
function rooms.front(s, room)
  local arguments = task.arguments(s.task, room.shape)
  for _, a in ipairs(arguments) do a.front = true end
  return setmetatable({ buffers = need_buffers(s, arguments, 1), slots = 1 },
                      { __index = room })
end

function rooms.new(s, shape, role)
  local t, fresh, collect = s.task, s.machine.fresh_outputs, lists.collect
  local arguments = task.arguments(t, shape)
  local wide = task.arguments(t, shape, s.reference_wide)
  local bytes, input_bytes = array_bytes(arguments)
  local several = role == "timed" and not fresh
  local slots = several and math.max(1, math.min(1024, slots_bytes // bytes)) or 1
  local room = { input_bytes = input_bytes,
    shape = shape, role = role, label = task.show_shape(t, shape), arguments = arguments,
    bound = task.bound(t, shape), bound_of_atomics = task.bound(t, shape, true), slots = slots,
    -- No call finds an output that an earlier one of its sample has filled: it
    -- could see that it is right and leave it.
    most = fresh and 1024 or slots,
    -- What other workers of this run are told: ns, the baseline's time of a call; n, its calls in a
    -- sample; base_share, see check.share; limit_ns, what a call may take.
    base = { limit_ns = rooms.patience_s * 10 ^ 9 // 1 },
    outputs = collect(t.args, function(a, i) return task.is_made(a) and i end),
    inputs = collect(t.args, function(a, i) return task.is_given(a) and i end),
    -- What the error scale takes by its absolute value: all inputs, or those that the task lists.
    absolute = collect(t.args, function(a, i)
      return task.is_given(a) and (not t.absolute or lists.contains(t.absolute, a.name)) and i
    end),
    buffers = need_buffers(s, arguments, slots), expected = need_buffers(s, wide, 1),
  }
  local function program(kernel, buffers, name)
    return need(s, name .. " cannot be loaded", rooms.load(s, kernel, room, buffers))
  end
  room.reference = program(s.reference, room.expected, "the reference")
  if task.needs_scale(t) then
    room.scale = need_buffers(s, wide, 1)
    room.scale_reference = program(s.reference, room.scale, "the reference")
  end
  room.baseline = program(s.baseline_kernel, room.buffers, "the baseline")
  return room
end

return rooms

---@meta kernelband
-- The public Lua interface, for editors (LuaCATS). Written by: kernelband doc meta
-- luacheck: ignore

---@class kernelband.task
---@field name string
---@field summary? string

---@class kernelband.strategy
---@field name string
---@field target "sm"|"dram"|"l2"
---@field summary string
---@field path string

---@class kernelband.policy
---@field name string
---@field params table<string, any>

---@class kernelband.generator
---@field name string

---A kernel as policies, strategies and rewards see it.
---@class kernelband.kernel
---@field id integer
---@field parent? integer
---@field strategy? string
---@field depth integer
---@field source string
---@field params? table
---@field time_ns number
---@field speedup number
---@field speedup_low number
---@field speedup_high number
---@field phi number[]
---@field rho number[]
---@field signature number[]
---@field h { sm?: number, dram?: number, l2?: number }
---@field note table a policy's own

---@class kernelband.result
---@field task string
---@field id integer kernel that won; 1 is the baseline
---@field strategy? string
---@field speedup number
---@field speedup_low? number
---@field speedup_high? number
---@field time_ns number
---@field baseline_ns number
---@field shapes table[]
---@field params? table
---@field confirmed boolean
---@field pulls integer
---@field verdicts table<string, integer>
---@field arms table<string, integer>
---@field rows table[]
---@field source string
---@field source_path? string
---@field run? string
---@field interrupted boolean
---@field share_of_optimum? number
---@field usd? number

---What kb.core has for policies: see core/bandit.
---@class kernelband.core
---@field ucb fun(arms: integer, options?: table): table
---@field cluster fun(k: integer, dim: integer, options?: table): table
---@field logit fun(dim: integer, options?: table): table
---@field rng fun(seed: integer): table
---@field stats table

---@class (exact) kernelband.search_options
---@field task kernelband.task kb.task(DIR) or kb.synthetic{}
---@field device? string default "auto"
---@field strategies? string|(string|kernelband.strategy)[]
---@field policy? string|kernelband.policy default "policies/kernelband.lua"
---@field generator? kernelband.generator|kernelband.generator[]
---@field reward? fun(parent: kernelband.kernel, child?: kernelband.kernel, verdict: string): number
---@field budget kernelband.search_options_budget { steps =, minutes =, usd = }, at least one of them
---@field parallel? integer default 1; 1 to 64
---@field seed? integer default 1
---@field out? string
---@field quiet? boolean
---@field confirm? boolean default true
---@field on_pull? fun(pull: table)

---@class (exact) kernelband.search_options_budget
---@field steps? integer pulls; at least 1
---@field minutes? number at least 0
---@field usd? number at least 0

---@class (exact) kernelband.task_table
---@field name string
---@field summary string
---@field args table[] 1 to 32
---@field shapes kernelband.task_table_shapes
---@field shapes_cuda? kernelband.task_table_shapes_cuda
---@field accumulate? "f64"|"f32"|"f16"|"bf16"|"i8"|"u8"|"i32"|"i64"
---@field work fun(shape: table): { flops: number, bytes: number }
---@field tolerance? number at least 0
---@field reduction? fun(shape: table): number
---@field scale? "absolute"|"result"
---@field absolute? string[]
---@field distributions? string[] at least 1
---@field exact? boolean
---@field reference kernelband.task_table_reference
---@field baseline kernelband.task_table_baseline
---@field schedule? string|kernelband.task_table_schedule

---@class (exact) kernelband.task_table_shapes
---@field smoke table[] at least 1
---@field timed table[] at least 1
---@field held_out? table[]

---@class (exact) kernelband.task_table_shapes_cuda
---@field smoke table[] at least 1
---@field timed table[] at least 1
---@field held_out? table[]

---@class (exact) kernelband.task_table_reference
---@field c? string
---@field cuda? string

---@class (exact) kernelband.task_table_baseline
---@field c? string
---@field cuda? string

---@class (exact) kernelband.task_table_schedule
---@field c? string
---@field cuda? string

---@class (exact) kernelband.strategy_table
---@field name string a short name, unique in its set
---@field target "sm"|"dram"|"l2" the resource it relieves: 'sm', 'dram' or 'l2'
---@field summary string one line for people
---@field prompt string|fun(kernel: kernelband.kernel, profile: table): string text for a model, or function(kernel, profile) returning it
---@field applies? fun(kernel: kernelband.kernel): boolean
---@field moves? string[]

---@class (exact) kernelband.policy_table
---@field name string a short name
---@field summary? string
---@field defaults table every tunable with its default
---@field accepts? table types beyond the default's: name = list
---@field reward? "relative"|"improvement"
---@field new fun(params: table, ctx: table): table function(params, ctx) returning admit, choose, learn

---@class (exact) kernelband.synthetic_options
---@field seed? integer default 1
---@field strategies? integer default 6; 1 to 64
---@field noise? number default 0.01; 0 to 1
---@field fail? number default 0.25; 0 to 1

---@class (exact) kernelband.schedule_options
---@field limit? integer default 4096; 1 to 1048576

---@class kernelband
---@field version string
local kb = {}

---@type kernelband.core
kb.core = nil

---@param dir string
---@return kernelband.task
function kb.task(dir) end

---@param set string|(string|kernelband.strategy)[]
---@return kernelband.strategy[]
function kb.strategies(set) end

---@param file string
---@return kernelband.strategy
function kb.strategy(file) end

---@param file string
---@param params? table<string, any>
---@return kernelband.policy
function kb.policy(file, params) end

---@param options kernelband.search_options
---@return kernelband.result
function kb.search(options) end

---@type any
kb.reward = nil

---@return integer
function kb.gpus() end

---@param options? kernelband.synthetic_options
---@return kernelband.task
function kb.synthetic(options) end

kb.generator = {}

---@param options? kernelband.schedule_options
---@return kernelband.generator
function kb.generator.schedule(options) end

return kb

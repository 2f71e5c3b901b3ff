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
---@field gain boolean whether anything faster than the baseline was found
---@field confirmed boolean
---@field reason? string why it ended before its budget
---@field pulls integer
---@field verdicts table<string, integer>
---@field arms table<string, integer>
---@field rows table[]
---@field source string
---@field source_path? string
---@field run? string
---@field interrupted boolean
---@field checks? string[] what the winner went through
---@field weakened? string[] what makes its figure worth less
---@field quarantined? string why it was measured twice
---@field share_of_optimum? number
---@field usd? number spent; nil where a price is not known
---@field recorded? { answers: integer, usd: number? } of recorded answers, what they once cost

---What kb.core has for policies: see core/bandit.
---@class kernelband.core
---@field ucb fun(arms: integer, options?: table): table
---@field cluster fun(k: integer, dim: integer, options?: table): table
---@field logit fun(dim: integer, options?: table): table
---@field rng fun(seed: integer): table
---@field stats table

---What a strategy may have told of a kernel: see facts.lua.
---@alias kernelband.fact "sm"|"dram"|"l2"|"l2_hits"|"issue"|"lanes"|"occupancy"|"registers"|"bank_conflicts"|"coalesced"|"tensor"

---@class (exact) kernelband.search_options
---@field task kernelband.task kb.task(DIR) or kb.synthetic{}
---@field device? string default "auto"
---@field strategies? string|(string|kernelband.strategy)[]
---@field policy? string|kernelband.policy default "policies/kernelband.lua"
---@field generator? kernelband.generator|kernelband.generator[]
---@field reward? fun(parent: kernelband.kernel, child?: kernelband.kernel, verdict: string): number
---@field budget kernelband.search_options_budget { steps =, minutes =, usd =, tokens = }, at least one of them
---@field parallel? integer pulls under way at once; default 1; 1 to 1024
---@field workers? integer processes that evaluate; 1 to 64
---@field tune? integer evaluations a pull may spend on constants its source declares; default 12; 0 to 128
---@field patience? number minutes to wait for a generator that cannot be reached; default 5; at least 0
---@field seed? integer default 1
---@field out? string
---@field quiet? boolean
---@field retry? number seconds to the first new try of it; default 5; at least 0
---@field confirm? boolean default true
---@field on_pull? fun(pull: table)
---@field lane? integer of kb.search_all: a processor
---@field progress? "auto"|"always"|"never"|"json"

---@class (exact) kernelband.search_options_budget
---@field steps? integer pulls; at least 1
---@field minutes? number at least 0
---@field usd? number at least 0
---@field tokens? integer sent and received; at least 0

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
---@field underflow? fun(shape: table): number
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
---@field facts? (kernelband.fact|[kernelband.fact|integer, string])[] what is told below the prompt of the profile, when known
---@field applies? fun(kernel: kernelband.kernel): boolean
---@field moves? string[]

---@class (exact) kernelband.policy_table
---@field name string a short name
---@field summary? string
---@field defaults table every tunable with its default
---@field accepts? table types beyond the default's: name = list
---@field limits? table name = { least, most, "word", .. }: the numbers and texts it may be
---@field removed? table parameters of the version before: name = what replaced it
---@field reward? "relative"|"improvement"
---@field new fun(params: table, ctx: table): table function(params, ctx) returning admit, choose, learn

---@class (exact) kernelband.synthetic_options
---@field seed? integer default 1
---@field strategies? integer default 6; 1 to 64
---@field noise? number default 0.01; 0 to 1
---@field fail? number default 0.25; 0 to 1

---@class (exact) kernelband.trace_options
---@field strategies? table name = { axes }: groups of axes; else each axis is a strategy
---@field start? table|string { axis = value, ... } or "baseline"; else drawn by the search's seed
---@field name? string
---@field counters? boolean false: forget phi, rho, h and signature; default true
---@field noise? boolean draw measured times from recorded samples; default true
---@field draws? integer|string children drawn for a pull, of which the policy may prefer one; default 1
---@field anew? boolean a strategy more, which owns every axis; default false

---@class (exact) kernelband.schedule_options
---@field limit? integer default 4096; 1 to 1048576
---@field draws? integer 1 to 64
---@field first? table

---@class (exact) kernelband.llm_options
---@field provider? "openai"|"anthropic"|"responses"|"gemini"|"openrouter"|"deepseek"|"vllm"|"sglang"|"llamacpp"|"ollama" default "openai"
---@field model string the model's name, as its provider calls it
---@field base_url? string
---@field api_key_env? string
---@field temperature? number at least 0
---@field effort? string
---@field max_tokens? integer default 32000; at least 16
---@field extra? table
---@field stream? boolean default true
---@field n_parallel? integer default 16; 1 to 1024
---@field repair? integer default 1; 0 to 8
---@field prompt? kernelband.llm_options_prompt
---@field prices? table|string
---@field record? string
---@field attempts? integer default 8; 1 to 100
---@field retry_s? number default 1; at least 0
---@field patience_s? number default 900; at least 0
---@field connect_s? number default 15; at least 0.001
---@field idle_s? number default 180; at least 0.001
---@field timeout_s? number default 1200; at least 0.001
---@field ca_file? string

---@class (exact) kernelband.llm_options_prompt
---@field system? string|function|boolean
---@field hardware? string|function|boolean
---@field task? string|function|boolean
---@field judged? string|function|boolean
---@field contract? string|function|boolean
---@field parent? string|function|boolean
---@field profile? string|function|boolean
---@field history? string|function|boolean
---@field strategy? string|function|boolean
---@field hints? string|function|boolean
---@field ask? string|function|boolean
---@field repair? string|function|boolean

---@class (exact) kernelband.command_options
---@field timeout_s? number default 900; at least 0.001
---@field attempts? integer default 2; 1 to 20
---@field retry_s? number default 2; at least 0
---@field repair? integer default 1; 0 to 8
---@field prompt? kernelband.command_options_prompt
---@field record? string
---@field directory? string

---@class (exact) kernelband.command_options_prompt
---@field system? string|function|boolean
---@field hardware? string|function|boolean
---@field task? string|function|boolean
---@field judged? string|function|boolean
---@field contract? string|function|boolean
---@field parent? string|function|boolean
---@field profile? string|function|boolean
---@field history? string|function|boolean
---@field strategy? string|function|boolean
---@field hints? string|function|boolean
---@field ask? string|function|boolean
---@field repair? string|function|boolean

---@class (exact) kernelband.replay_options
---@field repair? integer default 1; 0 to 8
---@field prompt? kernelband.replay_options_prompt

---@class (exact) kernelband.replay_options_prompt
---@field system? string|function|boolean
---@field hardware? string|function|boolean
---@field task? string|function|boolean
---@field judged? string|function|boolean
---@field contract? string|function|boolean
---@field parent? string|function|boolean
---@field profile? string|function|boolean
---@field history? string|function|boolean
---@field strategy? string|function|boolean
---@field hints? string|function|boolean
---@field ask? string|function|boolean
---@field repair? string|function|boolean

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
kb.search_all = nil

---@type any
kb.reward = nil

---@return integer
function kb.gpus() end

---@param options? kernelband.synthetic_options
---@return kernelband.task
function kb.synthetic(options) end

---@param file string
---@param options? kernelband.trace_options
---@return kernelband.task
function kb.trace(file, options) end

---@type any
kb.sweep = nil

---@type any
kb.compare = nil

---@type any
kb.metrics = nil

kb.generator = {}

---@param options? kernelband.schedule_options
---@return kernelband.generator
function kb.generator.schedule(options) end

---@param options? kernelband.llm_options
---@return kernelband.generator
function kb.generator.llm(options) end

---@param options? kernelband.command_options
---@return kernelband.generator
function kb.generator.command(options) end

---@param options? kernelband.replay_options
---@return kernelband.generator
function kb.generator.replay(options) end

---@return kernelband.generator
function kb.generator.mixed(...) end

return kb

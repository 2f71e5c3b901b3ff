---@meta kernelband
-- The public Lua interface, for editors (LuaCATS). Written by: kernelband doc meta
-- luacheck: ignore

---What a strategy may have told of a kernel.
---@alias kernelband.fact "sm"|"dram"|"l2"|"l2_hits"|"issue"|"lanes"|"occupancy"|"registers"|"bank_conflicts"|"coalesced"|"tensor"

---@class (exact) kernelband.search_options
---@field task kernelband.task kb.task(DIR) or kb.synthetic{}
---@field device? string "cpu", "cpu:N", "cuda:N", or "auto": a GPU that the task has kernels for; default "auto"
---@field strategies? string|(string|kernelband.strategy)[] a folder, or a list of files and strategies; else strategies/c or strategies/cuda
---@field policy? string|kernelband.policy a policy file, or what kb.policy returns; default "policies/kernelband.lua"
---@field generator? kernelband.generator|kernelband.generator[] who writes candidates, or a list of such; else the task's schedule
---@field reward? fun(parent: kernelband.kernel, child?: kernelband.kernel, verdict: string): number function(parent, child, verdict) returning a number; else the policy's
---@field budget kernelband.search_options_budget { steps =, minutes =, usd =, tokens = }, at least one of them
---@field parallel? integer pulls under way at once; default 1; 1 to 1024
---@field workers? integer processes that evaluate; 1 to 64
---@field tune? integer evaluations a pull may spend on constants its source declares; default 12; 0 to 128
---@field patience? number minutes to wait for a generator that cannot be reached; default 5; at least 0
---@field seed? integer the same seed makes the same choices; default 1
---@field out? string the run folder to write; without it nothing is kept
---@field quiet? boolean true: print nothing
---@field retry? number seconds until an unreachable generator is tried again; default 5; at least 0
---@field confirm? boolean measure the best kernels again at the end, in a fresh process; default true
---@field on_pull? fun(pull: table) function(pull), called when a pull ends
---@field lane? integer the processor to time on; kb.search_all sets it
---@field progress? "auto"|"always"|"never"|"json" how progress is shown; else as kernelband run --progress says

---@class (exact) kernelband.search_options_budget
---@field steps? integer pulls; at least 1
---@field minutes? number wall-clock time, in minutes; at least 0
---@field usd? number US dollars paid for model calls; at least 0
---@field tokens? integer tokens sent and received; at least 0

---@class (exact) kernelband.search_all_options
---@field workers? integer searches that time kernels on the CPU at once; default 1; 1 to 64
---@field quiet? boolean true: print nothing
---@field progress? "auto"|"always"|"never"|"json" how progress is shown; else as kernelband run --progress says

---@class (exact) kernelband.synthetic_options
---@field seed? integer draws the landscape; default 1
---@field strategies? integer how many strategies there are; default 6; 1 to 64
---@field noise? number relative standard deviation of a measured time; default 0.01; 0 to 1
---@field fail? number share of candidates that fail; default 0.25; 0 to 1

---@class (exact) kernelband.trace_options
---@field strategies? table name = { axes }: groups of axes; else each axis is a strategy
---@field start? table|string { axis = value, ... } or "baseline"; else drawn by the search's seed
---@field name? string the task's name; else from the file
---@field counters? boolean false: forget phi, rho, h and signature; default true
---@field noise? boolean draw measured times from recorded samples; default true
---@field draws? integer|string children drawn for a pull, of which the policy may prefer one; default 1
---@field anew? boolean a strategy more, which owns every axis; default false

---@class (exact) kernelband.sweep_options
---@field stages? any[] options laid over these, one stage after the other; or function(rows) returning them
---@field jobs? integer processes; else one a processor; 1 to 256
---@field out? string the file of rows; what it holds is not run again
---@field quiet? boolean true: print nothing
---@field spaces? kernelband.task[] tasks: kb.trace(FILE), kb.synthetic {}; at least 1
---@field policies? any[] files, or { file =, params =, name =, reward = }
---@field grid? table parameter = { value, .. }: each policy with every combination
---@field baselines? string[] what policies are compared with
---@field seeds? integer|any[] how many seeds from 1 up, or a list of them; at least 1
---@field steps? integer pulls of a search; at least 1

---@class (exact) kernelband.schedule_options
---@field limit? integer the most children of a pair that are counted and listed; default 4096; 1 to 1048576
---@field draws? integer children drawn for a pull, of which the policy may prefer one; else all that fit; 1 to 64
---@field first? table a generator that asks a model for the points to start from

---@class (exact) kernelband.llm_options
---@field provider? "openai"|"anthropic"|"responses"|"gemini"|"openrouter"|"deepseek"|"vllm"|"sglang"|"llamacpp"|"ollama" whose interface the server speaks; default "openai"
---@field model string the model's name, as its provider calls it
---@field base_url? string the server's address; else the provider's
---@field api_key_env? string the environment variable that holds the key; else the provider's
---@field temperature? number sampling temperature; at least 0
---@field effort? string how much to reason, in the provider's words
---@field max_tokens? integer the longest answer, in tokens; default 32000; at least 16
---@field extra? table further fields of the request
---@field stream? boolean read the answer while it is written; default true
---@field n_parallel? integer calls under way at once; default 16; 1 to 1024
---@field repair? integer how often a candidate that failed is sent back to be mended; default 1; 0 to 8
---@field prompt? kernelband.llm_options_prompt parts of the prompt: a text, function(facts) returning one, or false
---@field prices? table|string US dollars per million tokens by model, or a JSON file of them
---@field record? string a folder that keeps every exchange, for replay
---@field attempts? integer tries of a call that fails; default 8; 1 to 100
---@field retry_s? number seconds until the first new try; they double; default 1; at least 0
---@field patience_s? number the longest a call may be retried, in seconds; default 900; at least 0
---@field connect_s? number seconds to connect; default 15; at least 0.001
---@field idle_s? number seconds without a byte; default 180; at least 0.001
---@field timeout_s? number seconds for a whole call; default 1200; at least 0.001
---@field ca_file? string certificates to trust, a PEM file

---@class (exact) kernelband.llm_options_prompt
---@field system? string|function|boolean the part 'system' of the prompt
---@field hardware? string|function|boolean the part 'hardware' of the prompt
---@field task? string|function|boolean the part 'task' of the prompt
---@field judged? string|function|boolean the part 'judged' of the prompt
---@field contract? string|function|boolean the part 'contract' of the prompt
---@field parent? string|function|boolean the part 'parent' of the prompt
---@field profile? string|function|boolean the part 'profile' of the prompt
---@field history? string|function|boolean the part 'history' of the prompt
---@field strategy? string|function|boolean the part 'strategy' of the prompt
---@field hints? string|function|boolean the part 'hints' of the prompt
---@field ask? string|function|boolean the part 'ask' of the prompt
---@field repair? string|function|boolean the part 'repair' of the prompt

---@class (exact) kernelband.command_options
---@field timeout_s? number seconds for one answer; default 900; at least 0.001
---@field attempts? integer tries of a command that fails; default 2; 1 to 20
---@field retry_s? number seconds until the next try; default 2; at least 0
---@field repair? integer how often a candidate that failed is sent back to be mended; default 1; 0 to 8
---@field prompt? kernelband.command_options_prompt parts of the prompt: a text, function(facts) returning one, or false
---@field record? string a folder that keeps every exchange, for replay
---@field directory? string where the command runs; else here

---@class (exact) kernelband.command_options_prompt
---@field system? string|function|boolean the part 'system' of the prompt
---@field hardware? string|function|boolean the part 'hardware' of the prompt
---@field task? string|function|boolean the part 'task' of the prompt
---@field judged? string|function|boolean the part 'judged' of the prompt
---@field contract? string|function|boolean the part 'contract' of the prompt
---@field parent? string|function|boolean the part 'parent' of the prompt
---@field profile? string|function|boolean the part 'profile' of the prompt
---@field history? string|function|boolean the part 'history' of the prompt
---@field strategy? string|function|boolean the part 'strategy' of the prompt
---@field hints? string|function|boolean the part 'hints' of the prompt
---@field ask? string|function|boolean the part 'ask' of the prompt
---@field repair? string|function|boolean the part 'repair' of the prompt

---@class (exact) kernelband.replay_options
---@field repair? integer how often a candidate that failed is sent back to be mended; default 1; 0 to 8
---@field prompt? kernelband.replay_options_prompt parts of the prompt: a text, function(facts) returning one, or false

---@class (exact) kernelband.replay_options_prompt
---@field system? string|function|boolean the part 'system' of the prompt
---@field hardware? string|function|boolean the part 'hardware' of the prompt
---@field task? string|function|boolean the part 'task' of the prompt
---@field judged? string|function|boolean the part 'judged' of the prompt
---@field contract? string|function|boolean the part 'contract' of the prompt
---@field parent? string|function|boolean the part 'parent' of the prompt
---@field profile? string|function|boolean the part 'profile' of the prompt
---@field history? string|function|boolean the part 'history' of the prompt
---@field strategy? string|function|boolean the part 'strategy' of the prompt
---@field hints? string|function|boolean the part 'hints' of the prompt
---@field ask? string|function|boolean the part 'ask' of the prompt
---@field repair? string|function|boolean the part 'repair' of the prompt

---@class (exact) kernelband.tritonbench_options
---@field only? string[] names of operators
---@field python? string an interpreter with torch and triton
---@field kernels? string the folder of operators
---@field perf? string the folder of perf scripts
---@field instructions? string a JSON file of instructions

---@class (exact) kernelband.kernelbench_options
---@field only? string[] names of problems
---@field python? string an interpreter with torch and triton

---A task that kb.task, kb.trace or kb.synthetic made.
---@class kernelband.task
---@field name string the kernel's name
---@field summary? string one line

---A strategy as kb.strategies loads it; read-only.
---@class kernelband.strategy
---@field name string unique in its set
---@field target "sm"|"dram"|"l2" the resource it relieves
---@field summary string one line
---@field prompt fun(kernel: kernelband.kernel, profile: table): string the text for a model
---@field moves string[] parameters of a schedule it may change
---@field path string its file

---A policy with its parameters.
---@class kernelband.policy
---@field name string as its file says
---@field params table<string, any> every parameter with its value

---Who writes candidates: one of kb.generator.
---@class kernelband.generator
---@field name string which one

---A verified candidate, as policies, strategies and rewards see it.
---@class kernelband.kernel
---@field id integer its number; 1 is the baseline
---@field parent? integer the number of the kernel it was made from
---@field strategy? string the strategy it was made under
---@field depth integer steps from the baseline
---@field source string its text
---@field hash string of its text
---@field params? table its point in the schedule
---@field time_ns number geometric mean over the timed shapes, in nanoseconds
---@field speedup number over the baseline
---@field speedup_low number low end of the 95 % interval
---@field speedup_high number high end of it
---@field phi number[] behaviour, nine shares from 0 to 1 (kernelband profile names them)
---@field phi_kind string[] of each whether it was measured, derived or is missing
---@field rho number[] phi with the missing shares filled in, for clustering
---@field rho_kind string[] as phi_kind
---@field signature number[] a longer description of the kernel
---@field signature_kind string[] as phi_kind
---@field h { sm?: number, dram?: number, l2?: number } percent of the peak of each resource
---@field h_kind table<string, string> as phi_kind
---@field note table the policy's own, kept with the kernel

---What came of one choice, as a policy learns it.
---@class kernelband.pull
---@field n integer its number
---@field parent kernelband.kernel the kernel that was chosen
---@field strategy integer the strategy that was chosen, by index
---@field verdict string ok, no_candidate, not_applicable, build_failed, launch_failed, wrong, cheated, crashed or timeout
---@field child? kernelband.kernel the new kernel, when the verdict is ok
---@field reward number what it was worth
---@field params? table the candidate's point in the schedule
---@field cost table what a model was paid: tokens and US dollars
---@field exhausted boolean the generator had nothing for the choice

---ctx of a policy's new(params, ctx).
---@class kernelband.policy_context
---@field strategies kernelband.strategy[] the set, in order
---@field pool kernelband.kernel[] the verified kernels, fastest first
---@field pending fun(kernel?: kernelband.kernel, strategy?: integer): integer pulls under way of a kernel, of a strategy, of the pair
---@field open fun(kernel: kernelband.kernel, strategy: integer): boolean whether there is anything new to try
---@field open_strategies fun(kernel: kernelband.kernel): integer[] the strategies that are open for a kernel
---@field fastest fun(strategy: integer): kernelband.kernel? the fastest kernel for which a strategy is open
---@field draw fun(weights: number[]): integer a position, drawn in proportion to the weights
---@field log fun(...) writes a line to the journal
---@field rng kernelband.rng randomness that replays
---@field core kernelband.core arithmetic
---@field device string the device of the search
---@field surrogate fun(options?: table): table a Gaussian process over candidates the generator can list; policy/surrogate.lua describes it

---What kb.search returns; result.json in the run folder holds most of it.
---@class kernelband.result
---@field task string the task's name
---@field id integer the kernel that won; 1 is the baseline
---@field strategy? string the strategy it was made under
---@field gain boolean whether anything faster than the baseline was found
---@field speedup number of the winner, confirmed where `confirmed` says so
---@field speedup_low? number low end of the 95 % interval
---@field speedup_high? number high end of it
---@field confirmed boolean whether it was measured again in a fresh process
---@field time_ns number of the winner, in nanoseconds
---@field baseline_ns number of the baseline, in nanoseconds
---@field shapes? table[] the same for each shape
---@field params? table the winner's point in the schedule
---@field source string its text
---@field source_path? string the file best.c or best.cu of the run folder
---@field run? string the run folder
---@field state string done, interrupted or paused
---@field reason? string why the search ended before its budget
---@field interrupted boolean whether it was stopped
---@field pulls integer how many were made
---@field verdicts table<string, integer> pulls by verdict
---@field arms table<string, integer> pulls by strategy
---@field rows table[] the pulls
---@field strategies string[] the set's names
---@field policy string the policy's name
---@field seed integer the seed
---@field machine? table the device and its measured peaks
---@field checks? string[] the checks the winner passed
---@field weakened? string[] checks that could not be made in full
---@field quarantined? string why it was measured twice
---@field trail? number[][] share of the optimum where it rose, of a simulated search
---@field share_of_optimum? number of a task whose optimum is known
---@field usd? number US dollars spent; nil where a price is not known
---@field tokens? integer tokens sent and received
---@field tokens_unknown? boolean whether some calls did not report theirs
---@field recorded? { answers: integer, usd: number? } recorded answers, and what they once cost

---@class (exact) kernelband.task_table
---@field name string the kernel's name, a C identifier
---@field summary string one line for people and models
---@field args table[] the kernel's parameters in order: { name, dtype, "in"|"out", { dimension, .. } }; 1 to 32
---@field shapes kernelband.task_table_shapes values of the dimensions: { n = 4096 }
---@field shapes_cuda? kernelband.task_table_shapes_cuda other shapes for a GPU
---@field accumulate? "f64"|"f32"|"f16"|"bf16"|"i8"|"u8"|"i32"|"i64" the least precise type a kernel may sum in; else by the outputs' types
---@field work fun(shape: table): { flops: number, bytes: number } function(shape) returning { flops =, bytes = }: the least a kernel must do
---@field tolerance? number relative error allowed; else it follows from dtypes and reduction; at least 0
---@field reduction? fun(shape: table): number function(shape) returning the terms summed into one output; else 1
---@field underflow? fun(shape: table): number function(shape) returning how many smallest normal numbers of error are allowed
---@field scale? "absolute"|"result" what errors are relative to: the terms' absolute sum, or the result
---@field absolute? string[] inputs whose absolute values give that sum; else all
---@field distributions? string[] what inputs are drawn from; else all; at least 1
---@field exact? boolean true: outputs must be equal bit for bit
---@field reference kernelband.task_table_reference trusted source, NAME_f64: slow, clear, in double
---@field baseline kernelband.task_table_baseline the kernel to be made faster; speed-ups are measured against it
---@field schedule? string|kernelband.task_table_schedule a file of what the built-in generator may do, see schedule.lua

---@class (exact) kernelband.task_table_shapes
---@field smoke table[] small shapes, checked first; at least 1
---@field timed table[] the shapes that are checked and timed; at least 1
---@field held_out? table[] checked, and never shown to a generator

---@class (exact) kernelband.task_table_shapes_cuda
---@field smoke table[] small shapes, checked first; at least 1
---@field timed table[] the shapes that are checked and timed; at least 1
---@field held_out? table[] checked, and never shown to a generator

---@class (exact) kernelband.task_table_reference
---@field c? string the file for the CPU
---@field cuda? string the file for a GPU

---@class (exact) kernelband.task_table_baseline
---@field c? string the file for the CPU
---@field cuda? string the file for a GPU

---@class (exact) kernelband.task_table_schedule
---@field c? string the file for the CPU
---@field cuda? string the file for a GPU

---@class (exact) kernelband.schedule_table
---@field parameters any[][] { name, { value, .. } }: the first value is the baseline's; at least 1
---@field valid fun(point: table): boolean function(point) returning whether it makes sense
---@field emit fun(point: table): string function(point) returning the source of the candidate
---@field first_points? fun(device: table): table[] function(device) returning points to try first

---@class (exact) kernelband.strategy_table
---@field name string a short name, unique in its set
---@field target "sm"|"dram"|"l2" the resource it relieves: 'sm', 'dram' or 'l2'
---@field summary string one line for people
---@field prompt string|fun(kernel: kernelband.kernel, profile: table): string text for a model, or function(kernel, profile) returning it
---@field facts? (kernelband.fact|[kernelband.fact|integer, string])[] metrics appended to the prompt, where they are known
---@field applies? fun(kernel: kernelband.kernel): boolean function(kernel) returning false where it makes no sense
---@field moves? string[] parameters of schedule.lua it may change; "*" for all

---@class (exact) kernelband.policy_table
---@field name string a short name
---@field summary? string one line for people
---@field defaults table every tunable with its default
---@field accepts? table types beyond the default's: name = list
---@field limits? table name = { least, most, "word", .. }: the numbers and texts it may be
---@field removed? table parameters of the version before: name = what replaced it
---@field reward? "relative"|"improvement" the reward it learns from unless kb.search names one; else relative
---@field new fun(params: table, ctx: kernelband.policy_context): kernelband.policy_hooks function(params, ctx) returning admit, choose, learn

---@class (exact) kernelband.policy_hooks
---@field admit? fun(kernel: kernelband.kernel) function(kernel): a verified kernel joins the pool
---@field choose fun(pending: integer, list: table[]): kernelband.kernel?, integer? function(pending, list) returning kernel, strategy index; nil ends the search
---@field learn? fun(pull: kernelband.pull) function(pull): what came of a choice
---@field prefer? fun(points: table[]): integer? function(points) returning the number of the child to propose, or nil
---@field remember? fun(): table[] function() returning measured points

---@class kernelband
local kb = { generator = {}, import = {}, reward = {}, compare = {}, metrics = {} }

---@class kernelband.core
local core = { stats = {} }
kb.core = core

---The task in a folder: its file task.lua and the sources that task.lua names.
---@param dir string
---@return kernelband.task
function kb.task(dir) end

---The strategies of a folder, in byte order of their file names, or of a list of folders, files and loaded strategies.
---@param set string|(string|kernelband.strategy)[]
---@return kernelband.strategy[]
function kb.strategies(set) end

---One strategy file.
---@param file string
---@return kernelband.strategy
function kb.strategy(file) end

---A policy file with its parameters. A parameter may be function(n) of the pull number. `kernelband list policies` names the shipped ones; each file says what its parameters do.
---@param file string
---@param params? table<string, any>
---@return kernelband.policy
function kb.policy(file, params) end

---Runs a search and returns its result. An error of the configuration raises; a model that cannot be reached pauses the search.
---@param options kernelband.search_options
---@return kernelband.result
function kb.search(options) end

---Runs several searches at once, so that one thinks while another measures. The list takes the options below beside its searches. A search that breaks off has { task =, error =, state = "failed" } as its result; the others go on.
---@param searches kernelband.search_options[]
---@return kernelband.result[]
function kb.search_all(searches) end

---How many GPUs kernels can run on.
---@return integer
function kb.gpus() end

---A landscape drawn from a seed, as a task that needs no machine: for testing policies.
---@param options? kernelband.synthetic_options
---@return kernelband.task
function kb.synthetic(options) end

---A recorded tuning space as a task that needs no machine. FILE is one of kernelband record, KTT, T4 or Kernel Tuner, or a run folder. Its kernels are recorded configurations.
---@param file string
---@param options? kernelband.trace_options
---@return kernelband.task
function kb.trace(file, options) end

---Runs every policy on every space with every seed, over all processors, a row each. `kernelband compare` and kb.compare read the rows.
---@param options kernelband.sweep_options
---@return { rows: table[], out: string? }
function kb.sweep(options) end

---@type string
kb.version = ""

---1 - T(child)/T(parent), clipped to [-clip, clip] (default 1); failure (default -1) without a child.
---@param options? { clip?: number, failure?: number }
---@return fun(parent: kernelband.kernel, child?: kernelband.kernel): number
function kb.reward.relative(options) end

---max(0, 1 - T(child)/T(parent)), at most clip (default 1); failure (default 0) without a child.
---@param options? { clip?: number, failure?: number }
---@return fun(parent: kernelband.kernel, child?: kernelband.kernel): number
function kb.reward.improvement(options) end

---The built-in generator: candidates of the task's schedule.lua. It needs no model.
---@param options? kernelband.schedule_options
---@return kernelband.generator
function kb.generator.schedule(options) end

---Candidates written by a model behind an HTTP interface.
---@param options kernelband.llm_options
---@return kernelband.generator
function kb.generator.llm(options) end

---Candidates written by a program: it reads the question on standard input and prints the answer. The list is the program and its arguments.
---@param options kernelband.command_options
---@return kernelband.generator
function kb.generator.command(options) end

---Recorded answers of a model, from a run folder or a recording: no key, no network.
---@param source string|kernelband.replay_options
---@return kernelband.generator
function kb.generator.replay(source) end

---Several generators in one search. Each pull goes to one that has a child for it, drawn by shares (1 unless given).
---@param members (kernelband.generator|{ share: number })[]
---@return kernelband.generator
function kb.generator.mixed(members) end

---The operators of a TritonBench-G checkout as tasks; `skipped` lists the others with reasons.
---@param dir string
---@param options? kernelband.tritonbench_options
---@return kernelband.task[]
function kb.import.tritonbench(dir, options) end

---The problems of a level of a KernelBench checkout as tasks; `skipped` lists the others with reasons.
---@param dir string
---@param level integer
---@param options? kernelband.kernelbench_options
---@return kernelband.task[]
function kb.import.kernelbench(dir, level, options) end

---The rows in files of kb.sweep and of run folders.
---@param names string[]
---@return table[]
function kb.compare.load(names) end

---Shares of the optimum after so many pulls, with 95 % intervals over seeds, for every policy.
---@param rows table[]
---@param options? { at?: integer[], against?: string }
---@return table
function kb.compare.table(rows, options) end

---The summary as text; more = true adds a table by space and the pulls of each strategy.
---@param summary table
---@param more? boolean
---@return string
function kb.compare.text(summary, more) end

---The summary as rows of cells, the header first.
---@param summary table
---@return string[][]
function kb.compare.words(summary) end

---What each space gave after the last number of pulls, as rows of cells.
---@param summary table
---@return string[][]
function kb.compare.by_space(summary) end

---{ pull, share } of a policy after every pull.
---@param summary table
---@param rows table[]
---@param name string
---@return number[][]
function kb.compare.curve(summary, rows, name) end

---What papers report of rows { task =, verdict =, speedup =, shapes = }: correct_pct, fast1_pct, geomean, geomean_best_of, fast, sums.
---@param rows table[]
---@return table
function kb.metrics.of(rows) end

---Sets { name =, rows = } of runs, by generator and policy.
---@param folders string[]
---@return table[]
function kb.metrics.of_runs(folders) end

---The best verified kernel of a run, as a row.
---@param folder string
---@return table
function kb.metrics.row(folder) end

---The best row of each task over several runs.
---@param runs table[][]
---@return table[]
function kb.metrics.best_of(runs) end

---The baseline's times over the kernel's times, each summed over the shapes.
---@param shapes table[]
---@return number?
function kb.metrics.sums(shapes) end

---The papers' table as rows of cells, the header first.
---@param sets table[]
---@return string[][]
function kb.metrics.words(sets) end

---The papers' table as text.
---@param sets table[]
---@return string
function kb.metrics.text(sets) end

---@class kernelband.ucb
local ucb = {}

---Upper confidence bounds over arms: score = mean + c sqrt(ln max(t, 1) / pulls). c is the weight of the bound (default sqrt 2); each arm starts with prior_pulls (default 0) of prior_mean (default 0). `#u` is the number of arms.
---@param arms integer
---@param options? { c?: number, prior_mean?: number, prior_pulls?: number }
---@return kernelband.ucb
function core.ucb(arms, options) end

---The position of the best of the listed arms, each with its own added bias. An arm without pulls comes first, then by bias. pending[arm] pulls of an arm are under way, of total in all.
---@param arms integer[]
---@param bias? number[]
---@param pending? table<integer, integer>
---@param total? integer
---@return integer
function ucb:select(arms, bias, pending, total) end

---Counts a pull of an arm.
---@param arm integer
---@param reward number
function ucb:update(arm, reward) end

---The mean reward of an arm, the prior included.
---@param arm integer
---@return number
function ucb:mean(arm) end

---The pulls of an arm, the prior included.
---@param arm integer
---@return number
function ucb:pulls(arm) end

---The score of an arm.
---@param arm integer
---@return number
function ucb:score(arm) end

---Updates so far, the prior not included.
---@return integer
function ucb:t() end

---Frees its memory now instead of when it is collected.
function ucb:close() end

---@class kernelband.cluster
local cluster = {}

---At most k clusters of points of dim numbers, by incremental k-means++; ids stay the same. `#c` is the number of clusters that have a point.
---@param k integer
---@param dim integer
---@param options? { seed?: integer }
---@return kernelband.cluster
function core.cluster(k, dim, options) end

---Takes a point in and returns its cluster.
---@param x number[]
---@return integer
function cluster:assign(x) end

---The nearest cluster; changes nothing.
---@param x number[]
---@return integer
function cluster:nearest(x) end

---The centre of a cluster.
---@param id integer
---@return number[]
function cluster:centre(id) end

---How many points a cluster has.
---@param id integer
---@return integer
function cluster:count(id) end

---Clusters all points anew and returns their clusters.
---@param points number[][]
---@return integer[]
function cluster:fit(points) end

---Frees its memory now instead of when it is collected.
function cluster:close() end

---@class kernelband.logit
local logit = {}

---Logistic regression on the latest samples: l2 is the shrinkage (default 1), buffer how many samples are kept (default 500). `#h` is the number of samples held.
---@param dim integer
---@param options? { l2?: number, buffer?: integer }
---@return kernelband.logit
function core.logit(dim, options) end

---The probability by the last fit; 0.5 before any.
---@param x number[]
---@return number
function logit:p(x) end

---Adds a sample.
---@param x number[]
---@param yes boolean
function logit:learn(x, yes) end

---Fits the samples and returns the Newton steps taken.
---@return integer
function logit:fit() end

---The intercept, then the weights.
---@return number[]
function logit:weights() end

---Frees its memory now instead of when it is collected.
function logit:close() end

---@class kernelband.gp
local gp = {}

---A Gaussian process. rates are the inverse length scales, one a dimension; signal and noise are standard deviations (defaults 1 and 0.1), mean the prior mean (0) with standard deviation level (1), correlation that of other groups with group 0 (0.5), capacity the most points (256). `#g` is the number of points learnt.
---@param rates number[]
---@param options? { signal?: number, mean?: number, level?: number, noise?: number, correlation?: number, capacity?: integer }
---@return kernelband.gp
function core.gp(rates, options) end

---Adds a measured point of a group (default 0); nil, text, "EEMPTY" when it is full.
---@param x number[]
---@param y number
---@param group? integer
---@return boolean
function gp:learn(x, y, group) end

---Moves the rates to where the points are likeliest, within a factor that spread bounds.
---@param spread number
---@param group? integer
---@return boolean
function gp:fit(spread, group) end

---Sets the correlation of one group, 1 to 63, with group 0.
---@param group integer
---@param correlation number
function gp:correlate(group, correlation) end

---The log density of all points but the first n.
---@param n integer
---@return number
function gp:density(n) end

---A place: a point whose forecast is wanted again and again.
---@param x number[]
---@return integer
function gp:track(x) end

---Mean and standard deviation there.
---@param place integer
---@return number, number
function gp:at(place) end

---The expected improvement over best there.
---@param place integer
---@param best number
---@return number
function gp:improvement(place, best) end

---The mean at every place.
---@param places integer[]
---@return number[]
function gp:means(places) end

---The expected improvement at every place.
---@param best number
---@param places integer[]
---@return number[]
function gp:improvements(best, places) end

---The old name of gp:improvement, in this version only.
---@param place integer
---@param best number
---@return number
function gp:excess(place, best) end

---The old name of gp:improvements, in this version only.
---@param best number
---@param places integer[]
---@return number[]
function gp:excesses(best, places) end

---Forgets all points learnt but the first n.
---@param n integer
function gp:forget(n) end

---Frees its memory now instead of when it is collected.
function gp:close() end

---@class kernelband.rng
local rng = {}

---Random numbers that are the same everywhere.
---@param seed integer
---@return kernelband.rng
function core.rng(seed) end

---A number from 0 up to, not including, 1.
---@return number
function rng:uniform() end

---An integer from 0 to n - 1.
---@param n integer
---@return integer
function rng:below(n) end

---A standard normal number.
---@return number
function rng:normal() end

---The stream of that name; it depends on the seed and the names alone.
---@param name string
---@return kernelband.rng
function rng:split(name) end

---Frees its memory now instead of when it is collected.
function rng:close() end

---The median.
---@param list number[]
---@return number
function core.stats.median(list) end

---The arithmetic mean.
---@param list number[]
---@return number
function core.stats.mean(list) end

---The median absolute deviation, not scaled.
---@param list number[]
---@return number
function core.stats.mad(list) end

---The geometric mean; every number is above 0.
---@param list number[]
---@return number
function core.stats.geomean(list) end

---The quantile q from 0 to 1, interpolated (type 7).
---@param list number[]
---@param q number
---@return number
function core.stats.quantile(list, q) end

---The Hodges-Lehmann estimate of paired differences and its exact Wilcoxon interval (default 0.95).
---@param log_ratios number[]
---@param confidence? number
---@return { estimate: number, low: number, high: number, confidence: number, n: integer, method: string }
function core.stats.paired(log_ratios, confidence) end

return kb

-- generator/init.lua - kb.generator: who writes the candidates. A generator
-- is { name, start = function(task) -> instance }; an instance is
--   open(parent, strategy)  -> true when something new could come of it
--   propose(parent, strategy, rng, about) -> { source, params, origin }
--                              or nil, reason
--   seen(candidate)            it is known already: never propose it again
--   first                      params of the baseline, or nil

return { schedule = require("kernelband.generator.schedule").new }

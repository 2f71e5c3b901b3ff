-- cli/doc/completion.lua - completion for bash and zsh, from the verbs' own tables.
local cli     = require "kernelband.cli"
local collect = require("kernelband.base.lists").collect
local fill    = require("kernelband.base.template").fill

-- What completion.in refers to.
local holes = {}

function holes.join(words, between) return table.concat(words, between or " ") end

-- The words of an option, and of all options of a verb.
function holes.words(o) return { "--" .. o[1], o.short and "-" .. o.short } end

function holes.all_words(verb)
  return { "--help", table.unpack(collect(verb.options, function(o)
    return holes.join(holes.words(o))
  end)) }
end

-- What bash offers: words, or where there are none what compgen finds another way.
function holes.compgen(words, way)
  way = words and '-W "' .. holes.join(words) .. '"' or way
  return way and ('$(compgen %s -- "$word")'):format(way) or ""
end

-- The same for zsh.
function holes.choice(words, way)
  return words and "(" .. holes.join(words):gsub(":", "\\:") .. ")" or way or ""
end

-- A text within single quotes and brackets of _arguments.
function holes.quoted(text) return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0")) end

local function script(shell)
  holes.names, holes.verbs = cli.verbs, collect(cli.verbs, cli.verb)
  return fill("cli/doc/completion." .. shell, holes) .. "\n"
end

return { bash = function() return script "bash" end, zsh = function() return script "zsh" end }

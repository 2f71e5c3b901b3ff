-- cli/doc/completion.lua - completion for bash and zsh, from the verbs' own tables.
local cli     = require "kernelband.cli"
local collect = require("kernelband.base.lists").collect
local path    = require "kernelband.base.path"

local completion = {}

-- The words of an option.
local function words_of(o) return { "--" .. o[1], o.short and "-" .. o.short } end

-- The file of a shell, of what of(name, verb) gives for each verb.
local function script(shell, names, of)
  return path.own("cli/doc/completion." .. shell .. ".in", { NAMES = names,
    CASES = table.concat(collect(cli.verbs, function(name) return of(name, cli.verb(name)) end),
                         "\n") })
end

local function reply(how) return ('COMPREPLY=($(compgen %s -- "$word"))'):format(how) end
local function reply_words(words) return reply(('-W "%s"'):format(table.concat(words, " "))) end

local function bash_case(name, verb)
  local out, all = { "    " .. name .. ")" }, { "--help" }
  for _, o in ipairs(verb.options) do
    local words = words_of(o)
    table.move(words, 1, #words, #all + 1, all)
    if o[2] then
      out[#out + 1] = ("      case $before in %s) %s; return ;; esac"):format(
        table.concat(words, "|"),
        o.one_of and reply_words(o.one_of) or o.file and reply "-f" or "COMPREPLY=()")
    end
  end
  out[#out + 1] = ("      case $word in -*) %s; return ;; esac"):format(reply_words(all))
  out[#out + 1] = ("      %s ;;"):format(verb.words and reply_words(verb.words)
                                         or reply(verb.folders and "-d" or "-f"))
  return table.concat(out, "\n")
end

function completion.bash() return script("bash", table.concat(cli.verbs, " "), bash_case) end

-- A text within single quotes and brackets of _arguments.
local function quoted(text) return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0")) end

local function choice(words) return "(" .. table.concat(words, " ") .. ")" end

local function zsh_case(name, verb)
  local lines = { ("    %s) _arguments '--help[say more]'"):format(name) }
  for _, o in ipairs(verb.options) do
    local values = o.one_of and choice(o.one_of):gsub(":", "\\:") or o.file and "_files" or ""
    local action = o[2] and (":%s:%s"):format(o[2], values) or ""
    for _, word in ipairs(words_of(o)) do
      lines[#lines + 1] = ("      '%s[%s]%s'"):format(word, quoted(o.doc or ""), action)
    end
  end
  lines[#lines + 1] = ("      '*: :%s'"):format(verb.words and choice(verb.words)
                                                or verb.folders and "_files -/" or "_files")
  return table.concat(lines, " \\\n") .. " ;;"
end

function completion.zsh()
  return script("zsh", table.concat(collect(cli.verbs, function(name)
    return ("    '%s:%s'"):format(name, quoted(cli.verb(name).summary))
  end), "\n"), zsh_case)
end

return completion

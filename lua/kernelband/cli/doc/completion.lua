-- cli/doc/completion.lua - completion for bash and zsh, from the verbs' own tables.
local cli  = require "kernelband.cli"
local path = require "kernelband.base.path"

local completion = {}

local function option_words(verb)
  local out = { "--help" }
  for _, o in ipairs(verb.options or {}) do
    out[#out + 1] = "--" .. o[1]
    if o.short then out[#out + 1] = "-" .. o.short end
  end
  return table.concat(out, " ")
end

-- What may follow an option that takes a value, as a case of the word before.
local function values(verb, out)
  for _, o in ipairs(verb.options or {}) do
    if o[2] then
      local names = "--" .. o[1] .. (o.short and "|-" .. o.short or "")
      local reply = o.one_of and ('-W "%s"'):format(table.concat(o.one_of, " "))
                    or o.file and "-f" or nil
      out[#out + 1] = ("      case $before in %s) %s return ;; esac"):format(names, reply
        and ('COMPREPLY=($(compgen %s -- "$word"));'):format(reply) or "COMPREPLY=();")
    end
  end
end

function completion.bash()
  local cases = {}
  for _, name in ipairs(cli.verbs) do
    local verb = cli.verb(name)
    cases[#cases + 1] = "    " .. name .. ")"
    values(verb, cases)
    cases[#cases + 1] = ('      case $word in -*) COMPREPLY=($(compgen -W "%s" -- "$word")); '
                         .. "return ;; esac"):format(option_words(verb))
    local rest = verb.words and ('-W "%s"'):format(table.concat(verb.words, " "))
                 or verb.folders and "-d" or "-f"
    cases[#cases + 1] = ('      COMPREPLY=($(compgen %s -- "$word")) ;;'):format(rest)
  end
  return path.own("cli/doc/completion.bash.in", { NAMES = table.concat(cli.verbs, " "),
                                                 CASES = table.concat(cases, "\n") })
end

-- A text within single quotes and brackets of _arguments.
local function quoted(text)
  return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0"))
end

function completion.zsh()
  local list, cases = {}, {}
  for _, name in ipairs(cli.verbs) do
    local verb = cli.verb(name)
    list[#list + 1] = ("    '%s:%s'"):format(name, quoted(verb.summary))
    local lines = { ("    %s) _arguments '--help[say more]'"):format(name) }
    for _, o in ipairs(verb.options or {}) do
      local known = o.one_of and "(" .. table.concat(o.one_of, " ") .. ")"
      local action = o[2] and (":%s:%s"):format(o[2], known or o.file and "_files" or "") or ""
      action = action:gsub("cuda:", "cuda\\:")
      for _, word in ipairs { "--" .. o[1], o.short and "-" .. o.short } do
        lines[#lines + 1] = ("      '%s[%s]%s'"):format(word, quoted(o.doc or ""), action)
      end
    end
    lines[#lines + 1] = ("      '*: :%s'"):format(verb.words
      and "(" .. table.concat(verb.words, " ") .. ")" or verb.folders and "_files -/" or "_files")
    cases[#cases + 1] = table.concat(lines, " \\\n") .. " ;;"
  end
  return path.own("cli/doc/completion.zsh.in", { VERBS = table.concat(list, "\n"),
                                                CASES = table.concat(cases, "\n") })
end

return completion

#compdef kernelband
# zsh completion for kernelband; written by kernelband doc zsh
_kernelband() {
  local -a verbs
  verbs=(
    'run:runs an experiment script'
    'resume:goes on with a run that was stopped'
    'steer:says something to a running search'
    'report:writes a self-contained page about a run, or several'
    'serve:shows a run in the browser while it goes on'
    'export:writes a run as JSON lines, CSV, T4 or training pairs'
    'import:makes a run folder of T4 results, for report and export'
    'eval:judge one source\: build, check, time, profile'
    'profile:counters, bottleneck and limits of one source'
    'verify:build, check and time a run'\''s winner once more'
    'record:record a task'\''s schedule as a space that kb.trace searches'
    'compare:compare policies by the rows of kb.sweep, or by runs'
    'lab:compares a policy with the shipped ones'
    'list:lists tasks, strategies or policies'
    'new:writes a first task, strategy or policy to edit'
    'doctor:says what this machine can do and what to install'
    'doc:prints the manual page, shell completion or editor definitions'
    'worker:judge candidates for an engine, frames on stdin and stdout'
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
    run) _arguments '--help[say more]' \
      '--resume[searches whose `out` holds a run go on with it]' \
      '--force[with --resume\: though task, policy or strategies changed]' \
      '--progress[auto, always, never or json]:HOW:(auto always never json)' \
      '*: :_files' ;;
    resume) _arguments '--help[say more]' \
      '--steps[a new budget of pulls]:N:' \
      '--minutes[a new budget of time]:M:' \
      '--usd[a new budget of money]:X:' \
      '--tokens[a new budget of tokens]:N:' \
      '--force[go on though task, policy or strategies changed]' \
      '--script[the script, where it is elsewhere now]:FILE:_files' \
      '--progress[auto, always, never or json]:HOW:(auto always never json)' \
      '*: :_files -/' ;;
    steer) _arguments '--help[say more]' \
      '*: :_files -/' ;;
    report) _arguments '--help[say more]' \
      '--out[the page; RUN/report.html, or report.html for several runs, unless given]:FILE:_files' \
      '-o[the page; RUN/report.html, or report.html for several runs, unless given]:FILE:_files' \
      '*: :_files -/' ;;
    serve) _arguments '--help[say more]' \
      '--port[the port on 127.0.0.1; any free one unless given]:N:' \
      '*: :_files -/' ;;
    export) _arguments '--help[say more]' \
      '--jsonl[JSON lines\: experiment, baseline, then everything a pull]' \
      '--csv[one row a pull]' \
      '--t4[T4, the exchange format of auto-tuning results]' \
      '--sft[JSON lines of prompt, answer, verdict and reward, for training]' \
      '--out[where to write; standard output unless given]:FILE:_files' \
      '-o[where to write; standard output unless given]:FILE:_files' \
      '*: :_files -/' ;;
    import) _arguments '--help[say more]' \
      '--out[the run folder to make]:RUN:_files' \
      '-o[the run folder to make]:RUN:_files' \
      '*: :_files' ;;
    eval) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--confirm[time in more blocks, for a narrower interval]' \
      '--strict[slow checks too]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
    profile) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
    verify) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--strict[the slow checks as well]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files -/' ;;
    record) _arguments '--help[say more]' \
      '--limit[configurations at most]:N:' \
      '--minutes[time it may take]:M:' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '--strategies[whose moves are groups of axes]:SET:_files' \
      '--seed[draws which configurations, where not all are taken]:N:' \
      '--out[where to write]:FILE:_files' \
      '-o[where to write]:FILE:_files' \
      '*: :_files' ;;
    compare) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--tsv[print tab-separated values]' \
      '--at[the numbers of pulls to compare at]:N,N..:' \
      '--against[the policy the others are compared with]:CELL:' \
      '--html[write the same as a page, with curves]:FILE:' \
      '--paper[the papers'\'' metrics over tasks instead]' \
      '*: :_files' ;;
    lab) _arguments '--help[say more]' \
      '--seeds[searches a policy and space, from 6 up; default 8]:N:' \
      '--steps[pulls of a search; default 60]:T:' \
      '*: :_files' ;;
    list) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '*: :(tasks strategies policies)' ;;
    new) _arguments '--help[say more]' \
      '*: :(task strategy policy)' ;;
    doctor) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '*: :_files' ;;
    doc) _arguments '--help[say more]' \
      '--out[where to write; standard output unless given]:FILE:_files' \
      '-o[where to write; standard output unless given]:FILE:_files' \
      '*: :(man bash zsh meta)' ;;
    worker) _arguments '--help[say more]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
  esac
}
_kernelband "$@"

#compdef kernelband
# zsh completion for kernelband; written by kernelband doc zsh
_kernelband() {
  local -a verbs
  verbs=(
    'run:run an experiment script'
    'resume:go on with a run that was stopped'
    'steer:give a running search a command'
    'report:write a page about a run, or one that compares several'
    'serve:show a run in the browser while it goes on'
    'export:write a run as JSON lines, CSV, T4 or training pairs'
    'import:make a run folder of T4 results, for report and export'
    'eval:judge one source\: build, check, time, profile'
    'profile:show counters, bottleneck and limits of one source'
    'verify:build, check and time a run'\''s winner once more'
    'record:record a task'\''s schedule as a space that kb.trace searches'
    'compare:compare policies by the rows of kb.sweep, or by runs'
    'lab:compare a policy with the shipped ones'
    'list:list tasks, strategies or policies'
    'new:write a first task, strategy or policy to edit'
    'doctor:report what this machine can do and what to install'
    'doc:print a manual, a shell'\''s completion or editor definitions'
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
      '--force[go on though task, policy or strategies changed; the journal says so]' \
      '--script[in place of the script that started the run]:FILE:_files' \
      '--progress[auto, always, never or json]:HOW:(auto always never json)' \
      '*: :_files -/' ;;
    steer) _arguments '--help[say more]' \
      '*: :_files -/' ;;
    report) _arguments '--help[say more]' \
      '--out[where to write; else RUN/report.html, or report.html for several]:FILE:_files' \
      '-o[where to write; else RUN/report.html, or report.html for several]:FILE:_files' \
      '*: :_files -/' ;;
    serve) _arguments '--help[say more]' \
      '--port[the port on 127.0.0.1; any free one unless given]:N:' \
      '*: :_files -/' ;;
    export) _arguments '--help[say more]' \
      '--jsonl[JSON lines\: the experiment, the baseline, then one object a pull]' \
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
      '--strict[run the slow checks too]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
    profile) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
    verify) _arguments '--help[say more]' \
      '--json[print one JSON object]' \
      '--strict[run the slow checks too]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files -/' ;;
    record) _arguments '--help[say more]' \
      '--limit[the most configurations to record]:N:' \
      '--minutes[the most time to take]:M:' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '--strategies[the set whose moves group the axes]:SET:_files' \
      '--seed[draws the configurations, where not all are taken]:N:' \
      '--out[the run to write or to go on with; else TASK-DEVICE]:FOLDER:_files' \
      '-o[the run to write or to go on with; else TASK-DEVICE]:FOLDER:_files' \
      '*: :_files' ;;
    compare) _arguments '--help[say more]' \
      '--at[the numbers of pulls to compare at]:N,N..:' \
      '--against[the policy the others are compared with; else the first]:CELL:' \
      '--json[print one JSON object]' \
      '--tsv[print tab-separated values]' \
      '--html[write the same as a page, with curves]:FILE:_files' \
      '--paper[print the papers'\'' metrics over tasks instead]' \
      '*: :_files' ;;
    lab) _arguments '--help[say more]' \
      '--seeds[searches of each policy on each space, at least 6; default 8]:N:' \
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
      '--man[with api\: a manual page (roff) instead of Markdown]' \
      '*: :(api man bash zsh meta changes)' ;;
    worker) _arguments '--help[say more]' \
      '--device[cpu, cpu\:N or cuda\:N]:D:(cpu cuda\:0)' \
      '*: :_files' ;;
  esac
}
_kernelband "$@"

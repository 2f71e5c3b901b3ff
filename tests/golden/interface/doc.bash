# bash completion for kernelband; written by kernelband doc bash
_kernelband() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "run resume steer report serve export import eval profile verify record compare lab list new doctor doc worker --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run)
      case $before in --progress) COMPREPLY=($(compgen -W "auto always never json" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --resume --force --progress" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    resume)
      case $before in --steps) COMPREPLY=(); return ;; esac
      case $before in --minutes) COMPREPLY=(); return ;; esac
      case $before in --usd) COMPREPLY=(); return ;; esac
      case $before in --tokens) COMPREPLY=(); return ;; esac
      case $before in --script) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $before in --progress) COMPREPLY=($(compgen -W "auto always never json" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --steps --minutes --usd --tokens --force --script --progress" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    steer)
      case $word in -*) COMPREPLY=($(compgen -W "--help" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    report)
      case $before in --out|-o) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --out -o" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    serve)
      case $before in --port) COMPREPLY=(); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --port" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    export)
      case $before in --out|-o) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --jsonl --csv --t4 --sft --out -o" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    import)
      case $before in --out|-o) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --out -o" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    eval)
      case $before in --device) COMPREPLY=($(compgen -W "cpu cuda:0" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --json --confirm --strict --device" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    profile)
      case $before in --device) COMPREPLY=($(compgen -W "cpu cuda:0" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --json --device" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    verify)
      case $before in --device) COMPREPLY=($(compgen -W "cpu cuda:0" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --json --strict --device" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -d -- "$word")) ;;
    record)
      case $before in --limit) COMPREPLY=(); return ;; esac
      case $before in --minutes) COMPREPLY=(); return ;; esac
      case $before in --device) COMPREPLY=($(compgen -W "cpu cuda:0" -- "$word")); return ;; esac
      case $before in --strategies) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $before in --seed) COMPREPLY=(); return ;; esac
      case $before in --out|-o) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --limit --minutes --device --strategies --seed --out -o" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    compare)
      case $before in --at) COMPREPLY=(); return ;; esac
      case $before in --against) COMPREPLY=(); return ;; esac
      case $before in --html) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --at --against --json --tsv --html --paper" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    lab)
      case $before in --seeds) COMPREPLY=(); return ;; esac
      case $before in --steps) COMPREPLY=(); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --seeds --steps" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    list)
      case $word in -*) COMPREPLY=($(compgen -W "--help --json" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -W "tasks strategies policies" -- "$word")) ;;
    new)
      case $word in -*) COMPREPLY=($(compgen -W "--help" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -W "task strategy policy" -- "$word")) ;;
    doctor)
      case $word in -*) COMPREPLY=($(compgen -W "--help --json" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
    doc)
      case $before in --out|-o) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --out -o --man" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -W "api man bash zsh meta changes" -- "$word")) ;;
    worker)
      case $before in --device) COMPREPLY=($(compgen -W "cpu cuda:0" -- "$word")); return ;; esac
      case $word in -*) COMPREPLY=($(compgen -W "--help --device" -- "$word")); return ;; esac
      COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _kernelband kernelband

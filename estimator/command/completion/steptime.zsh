#compdef steptime
# zsh completion for steptime, written by 'steptime completion zsh'
_steptime_files() {
    if [[ ${words[CURRENT]} == --*=* ]]; then compset -P '*='; fi
    _files "$@"
}

_steptime() {
    local line
    local -a lines names shown suffix
    lines=("${(@f)$(steptime completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        case $line in
            '') ;;
            :files) _steptime_files ;;
            :yaml) _steptime_files -g '*.yaml' ;;
            :folders) _steptime_files -/ ;;
            :nospace) suffix=(-S '') ;;
            *)
                names+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
                ;;
        esac
    done
    if ((${#names})); then compadd "${suffix[@]}" -l -d shown -- "${names[@]}"; fi
}

if [[ ${funcstack[1]} == _steptime ]]; then _steptime "$@"; else compdef _steptime steptime; fi

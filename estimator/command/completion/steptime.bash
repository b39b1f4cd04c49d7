# bash completion for steptime, written by 'steptime completion bash'
_steptime_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@")
}

_steptime() {
    local line word=${COMP_WORDS[COMP_CWORD]}
    if [[ $word == '=' ]]; then word=; fi
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) _steptime_files -f -- "$word" ;;
            :yaml) _steptime_files -f -X '!*.yaml' -- "$word" ;;
            :folders) _steptime_files -d -- "$word" ;;
            :nospace) compopt -o nospace 2>/dev/null ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <(steptime completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _steptime steptime

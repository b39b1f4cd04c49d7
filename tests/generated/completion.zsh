# SPDX-License-Identifier: Apache-2.0
#
# What the completion offers in zsh: zsh -f completion.zsh SCRIPT, with steptime in PATH. What zsh
# would do with an offer is put down instead.
typeset -a offered words
integer CURRENT failed=0
compdef() { : }
compset() { : }
_files() { offered+=("files:$*") }
compadd() {
    while [[ $1 != -- ]]; do shift; done
    shift
    offered+=("$@")
}
source $1 || exit 1

# offers WANTED WORD...: the words of a command line, the last one being completed
offers() {
    local wanted=$1
    shift
    words=("$@")
    CURRENT=$#
    offered=()
    _steptime
    if [[ $wanted == - && ${#offered} -gt 0 ]] ||
        [[ $wanted != - && " ${offered[*]} " != *" $wanted "* ]]; then
        print -r -- "'$*': offered '${offered[*]}', expected '$wanted'"
        failed=1
    fi
}

offers estimate steptime ''
offers 'check show list export' steptime sheet ''
offers gpt-3b-32x3090 steptime estimate gpt-3b
offers 'files:-g *.yaml' steptime estimate ''
offers li2024 steptime estimate gpt-3b-32x3090 --sheet ''
offers T_iter steptime explain --set parallel.tp=4 gpt-3b-32x3090 --depth 2 T_i
offers parallel.tp= steptime estimate gpt-3b-32x3090 --set parallel
offers recompute=full steptime estimate gpt-3b-32x3090 --set recompute=
offers '--color=always' steptime estimate gpt-3b-32x3090 --color=al
offers 'files:-/' steptime estimate gpt-3b-32x3090 --path ''
offers llama3-70b steptime estimate --model llama3-7
offers - steptime unknown ''
exit $failed

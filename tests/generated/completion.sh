#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the completion offers for some command lines: completion.sh SCRIPT, with steptime in PATH.
set -u

# shellcheck disable=SC1090 # the script under test
source "$1" || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder" || exit 1
mkdir sub && touch mine.yaml other.txt
failed=0

# offers WANTED WORD...: the words of a command line, the last one being completed
offers() {
    local wanted=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _steptime
    local offered=" ${COMPREPLY[*]} "
    if [[ $wanted == - && ${#COMPREPLY[@]} -gt 0 ]] ||
        [[ $wanted != - && $offered != *" $wanted "* ]]; then
        echo "'$*': offered '$offered', expected '$wanted'"
        failed=1
    fi
}

offers estimate steptime ''
offers estimate steptime es
offers 'check show list export' steptime sheet ''
offers export steptime sheet ex
offers gpt-3b-32x3090 steptime estimate gpt-3b
offers mine.yaml steptime estimate ''
offers - steptime estimate oth
offers li2024 steptime estimate gpt-3b-32x3090 --sheet ''
offers mine.yaml steptime estimate gpt-3b-32x3090 --sheet mi
offers 'T_iter' steptime explain gpt-3b-32x3090 T_i
offers 'T_iter' steptime explain --set parallel.tp = 4 gpt-3b-32x3090 --depth 2 T_i
offers --sheet steptime estimate gpt-3b-32x3090 --sh
offers - steptime estimate gpt-3b-32x3090 --depth
offers --depth steptime explain gpt-3b-32x3090 T_iter --de
offers parallel.tp= steptime estimate gpt-3b-32x3090 --set parallel
offers 'auto always never' steptime estimate gpt-3b-32x3090 --color ''
offers always steptime estimate gpt-3b-32x3090 --color = al
offers sub steptime estimate gpt-3b-32x3090 --path ''
offers other.txt steptime estimate gpt-3b-32x3090 -o oth
offers 'md latex' steptime sheet export li2024 --format ''
offers li2024 steptime sheet show li
offers li2024 steptime validate ''
offers 'jobs models clusters gpus stacks constants sheets sources' steptime list ''
offers sheet steptime help she
offers bash steptime completion ''
offers - steptime estimate gpt-3b-32x3090 ''
offers - steptime unknown ''

# A name is never run.
mkdir -p 'formulas'
# shellcheck disable=SC2016 # nothing is to be expanded here
touch 'formulas/$(touch evil).yaml' 'formulas/`touch evil`.yaml'
STEPTIME_PATH=$folder offers li2024 steptime sheet show li
STEPTIME_PATH=$folder offers - steptime sheet show zz
if [[ -e evil ]]; then
    echo 'a name was run'
    failed=1
fi
exit "$failed"

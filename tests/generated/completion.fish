# SPDX-License-Identifier: Apache-2.0
#
# What the completion offers in fish: fish --no-config completion.fish SCRIPT, with steptime in PATH.
source $argv[1]; or exit 1
cd (mktemp -d); or exit 1
mkdir sub
touch mine.yaml other.txt
set failed 0

# offers WANTED LINE: a command line that is being completed at its end
function offers
    set -l offered (complete -C $argv[2] | string replace -r '\t.*' '')
    if test "$argv[1]" = -
        test (count $offered) -eq 0; and return
    else if contains -- $argv[1] $offered
        return
    end
    echo "'$argv[2]': offered '$offered', expected '$argv[1]'"
    set -g failed 1
end

offers estimate 'steptime es'
offers export 'steptime sheet '
offers gpt-3b-32x3090 'steptime estimate gpt-3b'
offers mine.yaml 'steptime estimate '
offers li2024 'steptime estimate gpt-3b-32x3090 --sheet '
offers T_iter 'steptime explain --set parallel.tp=4 gpt-3b-32x3090 --depth 2 T_i'
offers parallel.tp= 'steptime estimate gpt-3b-32x3090 --set parallel'
offers recompute=full 'steptime estimate gpt-3b-32x3090 --set recompute='
offers --color=always 'steptime estimate gpt-3b-32x3090 --color=al'
offers sub/ 'steptime estimate gpt-3b-32x3090 --path '
offers other.txt 'steptime estimate gpt-3b-32x3090 -o oth'
offers - 'steptime estimate oth'
offers llama3-70b 'steptime estimate --model llama3-7'
offers - 'steptime unknown '
exit $failed

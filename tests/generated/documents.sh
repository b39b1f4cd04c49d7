#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the program writes for other programs is what those accept: LaTeX, the man page, bash.
#
#   documents.sh STEPTIME SOURCE_ROOT     prints the Test Anything Protocol; what is not installed
#                                         is skipped and said so
set -u

program=$(readlink -f "$1")
root=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work/none" STEPTIME_PATH='' LC_ALL=C.UTF-8 HOME="$work"
count=0
failed=0

# check NAME TOOL COMMAND...
check() {
    name=$1
    tool=$2
    shift 2
    count=$((count + 1))
    if ! command -v "$tool" >/dev/null; then
        echo "ok $count - $name # SKIP $tool is not installed"
    elif "$@" >"$work/log" 2>&1; then
        echo "ok $count - $name"
    else
        failed=$((failed + 1))
        echo "not ok $count - $name"
        tail -n 30 "$work/log" | sed 's/^/# /'
    fi
}

# latex SHEET OPTION...
latex() {
    (
        cd "$work" && "$program" sheet export "$@" --format latex -o sheet.tex &&
            pdflatex -interaction=nonstopmode -halt-on-error sheet.tex && test -s sheet.pdf
    )
}

# markdown SHEET: all that stands between dollars in Markdown is mathematics.
markdown() {
    "$program" sheet export "$@" --format md >"$work/sheet.md" || return 1
    {
        printf '%s\n' '\documentclass{article}\usepackage{amsmath}\begin{document}'
        grep '^\$\$' "$work/sheet.md" | sed 's/^\$\$\(.*\)\$\$$/$\1$\n\n/'
        sed -n 's/^| \(\$[^|]*\$\) | `.*/\1\n/p' "$work/sheet.md"
        printf '%s\n' '\end{document}'
    } >"$work/math.tex"
    grep -c '^\$' "$work/math.tex" && cd "$work" &&
        pdflatex -interaction=nonstopmode -halt-on-error math.tex && test -s math.pdf
}

man_lint() {
    "$program" docs man >"$work/steptime.1"
    test -z "$(mandoc -T lint -W all "$work/steptime.1" | tee "$work/man")" || {
        cat "$work/man"
        return 1
    }
}

man_groff() {
    "$program" docs man >"$work/steptime.1"
    test -z "$(groff -man -Tutf8 -ww "$work/steptime.1" 2>&1 >/dev/null)"
}

# Each verb has a page that is whole, and its own examples.
man_verbs() {
    python3 -B "$root/docs/man/verbs.py" "$root" "$work/man1" || return 1
    verbs=$(grep -c '^\.SS' "$root/docs/man/steptime.1")
    [ "$(find "$work/man1" -name '*.1' | wc -l)" -eq "$verbs" ] || return 1
    without=$(grep -L '^\.SH EXAMPLES' "$work"/man1/*)
    [ -z "$without" ] || { echo "no examples: $without" && return 1; }
    grep -q '^\.B steptime trace roofline traces/' "$work/man1/steptime-trace-roofline.1" &&
        grep -q '^\.B \\-\\-check' "$work/man1/steptime-estimate.1" || return 1
    mandoc -T lint -W all "$work"/man1/* >"$work/man"
    cat "$work/man"
    [ ! -s "$work/man" ]
}

completion() {
    ln -sf "$program" "$work/steptime"
    shell=$1
    shift
    "$program" completion "$shell" >"$work/completion.$shell"
    PATH=$work:$PATH "$@" "$work/completion.$shell"
}

# Everything in it that LaTeX would take for a command.
cat >"$work/odd.yaml" <<'END'
sheet: odd
title: "100% of $x & #1 {a} \\input{/etc/passwd} ~ ^ _ < > | \" ` ' -- --- ?` é ß ø Ð 中 α ≤ …"
doc: "\\end{document} _ ^ % # & $"
enums: {mode: [fast_x, slow]}
inputs:
  _x_: {from: constants.a_b, doc: "under_score & \\ backslash", cite: "p. 5 % %"}
  q: {from: constants.q, unit: mode, doc: d}
functions:
  f_1:
    args: {a_b_c: B, mu1: 1}
    unit: MiB
    is: a_b_c*2/1[B]*mu1*1[KiB] + 2.5e-3[KiB]
    doc: "a|b"
  none: {open: true, args: {z: 1}, unit: $, doc: money}
cells:
  long_name_of_a_cell:
    doc: "# not a heading"
    is: >-
      if(q == fast_x and not (_x_ > 2 or _x_ <= 1), max(sqrt(_x_), log2(_x_), floor(_x_^0.5),
      -_x_, exp(1)/log(2)), abs(_x_) + _x_ + _x_ + _x_ + _x_ + _x_ + _x_ + _x_ + _x_ + _x_ + _x_)
  cost: {unit: $, doc: $$$, is: "none(_x_)*min(ceil(_x_), round(_x_))"}
  size: {unit: GiB, doc: "%", is: "f_1(2.385[MB], _x_)"}
checks:
  - that: long_name_of_a_cell != 3 or true
    else: "{{brace {long_name_of_a_cell} 50% _ & #"
END

check 'LaTeX of li2024' pdflatex latex li2024
check 'LaTeX of megatron' pdflatex latex megatron
check 'LaTeX of ddp' pdflatex latex ddp
check 'mathematics in Markdown of li2024' pdflatex markdown li2024
check 'mathematics in Markdown of megatron' pdflatex markdown megatron
check 'mathematics in Markdown of a sheet full of commands' pdflatex markdown "$work/odd.yaml"
check 'LaTeX of a sheet full of commands' pdflatex latex "$work/odd.yaml"
check 'man page by mandoc' mandoc man_lint
check 'man page by groff' groff man_groff
check 'man pages of verbs by mandoc' mandoc man_verbs
tests=$root/tests/generated
check 'completion in bash' bash completion bash bash "$tests/completion.sh"
check 'completion in zsh' zsh completion zsh zsh -f "$tests/completion.zsh"
check 'completion in fish' fish completion fish fish --no-config "$tests/completion.fish"
echo "1..$count"
[ "$failed" -eq 0 ]

# fish completion for steptime, written by 'steptime completion fish'
function __steptime_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    test -n "$current"; or set current ''
    set -l value (string replace -r -- '^--[^=]*=' '' $current)
    set -l before (string sub -l (math (string length -- $current) - (string length -- $value)) -- $current)
    for line in (steptime completion words -- $words[2..] $current 2>/dev/null)
        switch $line
            case :files
                printf "$before%s\n" (__fish_complete_path $value)
            case :yaml
                printf "$before%s\n" (__fish_complete_path $value | string match -r -- '^.*(?:/|\.yaml)(?:\t.*)?$')
            case :folders
                printf "$before%s\n" (__fish_complete_directories $value)
            case :nospace
            case '*'
                echo $line
        end
    end
end

complete -c steptime -f -a '(__steptime_words)'

# Completion of perfset for fish. The candidates are from `perfset complete`.

function __perfset_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $words[1]
    test -x "$program"; or set program perfset
    set -e words[1]
    set -l lines ($program complete fish -- "$typed" $words 2>/dev/null)
    switch "$lines[1]"
        case words
            set -e lines[1]
            printf '%s\n' $lines
        case files
            __fish_complete_path "$typed"
    end
end

complete -c perfset -f -a '(__perfset_complete)'

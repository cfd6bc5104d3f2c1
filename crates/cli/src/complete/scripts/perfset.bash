# Completion of perfset for bash. The candidates are from `perfset complete`.

_perfset() {
    local program=${COMP_WORDS[0]} line
    local -a lines=()
    COMPREPLY=()
    [[ -x $program ]] || program=perfset
    while IFS= read -r line; do
        lines+=("$line")
    done < <("$program" complete bash -- \
        "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    case ${lines[0]-} in
        words) COMPREPLY=("${lines[@]:1}") ;;
        files) compopt -o bashdefault -o default ;;
    esac
}

complete -F _perfset perfset

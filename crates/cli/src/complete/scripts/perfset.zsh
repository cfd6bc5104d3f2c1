#compdef perfset
# Completion of perfset for zsh. The candidates are from `perfset complete`.

_perfset() {
    local program=${(Q)words[1]} line candidate tab=$'\t'
    local -a lines parts whole shown
    [[ -x $program ]] || program=perfset
    lines=("${(@f)$("$program" complete zsh -- "${compstate[quote]}" "$PREFIX" \
        "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
    case ${lines[1]-} in
        words)
            for line in "${(@)lines[2,-1]}"; do
                candidate=${line%%$tab*}
                # A part of a path continues behind a bracket or a slash.
                if [[ $candidate == *[\(\\/] ]]; then
                    parts+=("$candidate")
                else
                    whole+=("$candidate")
                    shown+=("${line/$tab/  -- }")
                fi
            done
            # Candidates replace the word, so that its case may differ.
            (( $#parts )) && compadd -U -S '' -a parts
            (( $#whole )) && compadd -U -l -d shown -a whole
            ;;
        files) _files ;;
    esac
}

if [[ ${funcstack[1]-} == _perfset ]]; then
    _perfset "$@"
else
    compdef _perfset perfset
fi

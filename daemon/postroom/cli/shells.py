"""The command line as a script of bash, zsh and fish.

All three know where they are by the verbs typed so far: a path such as " events lease", with a space before each verb.
What they offer there are verbs and options, or, behind an option with a value, what is known of that value. Mailboxes are
asked for of the daemon that the line itself names.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from postroom.cli.wordtree import Kind, Spot, Value


_BASH: Final = r"""# Completion of postroom for bash, made by `postroom completion bash`.
_postroom() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path="" i named
    local -a daemon=()
    COMPREPLY=()
    if [[ $cur == = ]]; then cur=""; elif [[ $prev == = ]]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi
    for (( i = 1; i < COMP_CWORD; i++ )); do
        case "$path ${COMP_WORDS[i]}" in
            @PATHS@) path="$path ${COMP_WORDS[i]}" ;;
        esac
        if [[ ${COMP_WORDS[i]} == --socket || ${COMP_WORDS[i]} == --config ]]; then
            named="${COMP_WORDS[i+1]}"
            if [[ $named == = ]]; then named="${COMP_WORDS[i+2]}"; fi
            named="${named//[\\\"\']/}"
            daemon=("${COMP_WORDS[i]}" "${named/#\~\//$HOME/}")
        fi
    done
    case "$path $prev" in
@VALUES@
    esac
    case "$path" in
@SPOTS@
    esac
}
complete -F _postroom postroom"""
_ZSH: Final = r"""#compdef postroom
# Completion of postroom for zsh, made by `postroom completion zsh`.
_postroom() {
    local prev="${words[CURRENT-1]}" at="" word named=""
    local -a offered daemon
    if [[ "${words[CURRENT]}" == --*=* ]]; then prev="${words[CURRENT]%%=*}"; compset -P '*='; fi
    for word in "${(@)words[2,CURRENT-1]}"; do
        case "$at $word" in
            @PATHS@) at="$at $word" ;;
        esac
        if [[ -n "$named" ]]; then daemon=("$named" "${${(Q)word}/#\~\//$HOME/}"); named=""; fi
        case "$word" in
            --socket|--config) named="$word" ;;
            --socket=*|--config=*) daemon=("${word%%=*}" "${${(Q)${word#*=}}/#\~\//$HOME/}") ;;
        esac
    done
    case "$at $prev" in
@VALUES@
    esac
    case "$at" in
@SPOTS@
    esac
}
if [[ "$funcstack[1]" == _postroom ]]; then _postroom "$@"; else compdef _postroom postroom; fi"""
_FISH: Final = r"""# Completion of postroom for fish, made by `postroom completion fish`.
function __postroom_at
    set -l at ""
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case @PATHS@
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
function __postroom_mailboxes
    set -l daemon
    set -l named ""
    for word in (commandline -opc)[2..-1]
        if test -n "$named"
            set daemon $named (string replace -r '^~/' "$HOME/" -- $word)
            set named ""
        end
        switch $word
            case --socket --config
                set named $word
            case '--socket=*' '--config=*'
                set daemon (string split -m 1 = -- $word)
        end
    end
    postroom $daemon completion mailboxes 2>/dev/null
end
complete -c postroom -f
@SPOTS@"""

Offers = Mapping[Kind, Callable[[Value], str]]

_ASK: Final = 'postroom "${daemon[@]}" completion mailboxes 2>/dev/null'


def bash(tree: Sequence[Spot]) -> str:
    """A script to source."""
    offers: Offers = {
        Kind.WORDS: lambda value: f'COMPREPLY=( $(compgen -W {_quoted(value)} -- "$cur") )',
        Kind.FILES: lambda value: (
            'mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames'
        ),
        Kind.MAILBOXES: lambda value: f'COMPREPLY=( $(compgen -W "$({_ASK})" -- "$cur") )',
        Kind.NOTHING: lambda value: ":",
    }
    spots = []
    for spot in tree:
        words = [name for name, _ in spot.verbs] + [flag.name for flag in spot.flags]
        listed = f'COMPREPLY=( $(compgen -W {shlex.quote(" ".join(words))} -- "$cur") )'
        for value in spot.arguments[:1]:
            if value.kind is not Kind.NOTHING:
                listed = f"if [[ $cur == -* ]]; then {listed}; else {offers[value.kind](value)}; fi"
        spots.append(f"        {shlex.quote(_path(spot))}) {listed} ;;")
    return _filled(_BASH, tree, _values(tree, offers), spots)


def zsh(tree: Sequence[Spot]) -> str:
    """A script for a folder of fpath, or to source."""
    offers: Offers = {
        Kind.WORDS: lambda value: f"compadd -- {_spread(value.words)}",
        Kind.FILES: lambda value: "_files",
        Kind.MAILBOXES: lambda value: f'compadd -- ${{(f)"$({_ASK})"}}',
        Kind.NOTHING: lambda value: ":",
    }
    spots = []
    for spot in tree:
        pairs = [*spot.verbs, *((flag.name, flag.says) for flag in spot.flags)]
        words = _spread(f"{name}:{says}" for name, says in pairs)
        lines = [f"        {shlex.quote(_path(spot))})", f"            offered=({words})"]
        first = [one for one in spot.arguments[:1] if one.kind is not Kind.NOTHING]
        lines += [f'            [[ "$PREFIX" == -* ]] || {offers[one.kind](one)}' for one in first]
        spots += [*lines, "            _describe word offered ;;"]
    return _filled(_ZSH, tree, _values(tree, offers), spots)


def fish(tree: Sequence[Spot]) -> str:
    """A script for a folder of completions."""
    offers: Offers = {
        Kind.WORDS: lambda value: f" -x -a {_fish(' '.join(value.words))}",
        Kind.FILES: lambda value: " -r -F",
        Kind.MAILBOXES: lambda value: f" -x -a {_fish('(__postroom_mailboxes)')}",
        Kind.NOTHING: lambda value: " -x",
    }
    lines = []
    for spot in tree:
        there = f"complete -c postroom -n {_fish(f'__postroom_at {_fish(_path(spot))}')}"
        lines += [f"{there} -a {name} -d {_fish(says)}" for name, says in spot.verbs]
        for flag in spot.flags:
            takes = "" if flag.value is None else offers[flag.value.kind](flag.value)
            lines.append(f"{there} -l {flag.name[2:]} -d {_fish(flag.says)}{takes}")
        lines += [
            f"{there}{offers[one.kind](one).replace(' -x', '').replace(' -r', '')}"
            for one in spot.arguments[:1]
            if one.kind is not Kind.NOTHING
        ]
    return _filled(_FISH, tree, [], lines, _fish, " ")


SHELLS: Final[Mapping[str, Callable[[Sequence[Spot]], str]]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}


def _values(tree: Sequence[Spot], offers: Offers) -> list[str]:
    """What is offered behind an option that takes a value."""
    return [
        f"        {shlex.quote(f'{_path(spot)} {flag.name}')}) {offers[flag.value.kind](flag.value)}; return ;;"
        for spot in tree
        for flag in spot.flags
        if flag.value is not None
    ]


def _filled(
    script: str,
    tree: Sequence[Spot],
    values: Sequence[str],
    spots: Sequence[str],
    quote: Callable[[str], str] = shlex.quote,
    between: str = "|",
) -> str:
    paths = between.join(quote(_path(spot)) for spot in tree if spot.words)
    filled = script.replace("@PATHS@", paths).replace("@VALUES@", "\n".join(values))
    return filled.replace("@SPOTS@", "\n".join(spots))


def _path(spot: Spot) -> str:
    return "".join(f" {word}" for word in spot.words)


def _quoted(value: Value) -> str:
    return shlex.quote(" ".join(value.words))


def _spread(words: Sequence[str] | Iterator[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

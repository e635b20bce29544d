# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
# SPDX-License-Identifier: BSL-1.0
#
# bash completion for leasehold(1); it needs bash 4 and nothing else. The program says which words are possible, so that
# there are no lists of options here: this file unquotes the words that have been typed, asks, and quotes the answer.
# Nothing of what has been typed, and no name of a lock, is ever evaluated.

# Splits a line into `words`, unquoted. Of the last word it leaves in `head` the part, unquoted, before the part that
# readline replaces, in `quote` the quotation mark that is open, and in `odd` whether it contains something that cannot
# be completed: a closed quotation, of which readline knows no beginning, or an expansion.
_leasehold_split() {
  local rest=$1 word='' in_word='' piece
  words=() head='' quote='' odd=''
  while [[ $rest ]]; do
    case $rest in
      [[:space:]]*)
        [[ ! $in_word ]] || words+=("$word")
        word='' in_word='' head='' odd=''
        rest=${rest:1}
        continue
        ;;
      \\*)
        word+=${rest:1:1}
        rest=${rest:2}
        ;;
      \'*)
        head=$word
        piece=${rest:1}
        word+=${piece%%\'*}
        if [[ $piece == *\'* ]]; then rest=${piece#*\'} odd=yes; else rest='' quote=\'; fi
        ;;
      \"*)
        head=$word
        quote=\"
        rest=${rest:1}
        while [[ $rest ]]; do
          case $rest in
            \"*)
              quote='' odd=yes
              rest=${rest:1}
              break
              ;;
            \\[\\\"\$\`]*)
              word+=${rest:1:1}
              rest=${rest:2}
              ;;
            *)
              [[ $rest != [\$\`]* ]] || odd=yes
              piece=${rest:0:1}
              rest=${rest:1}
              word+=$piece${rest%%[\\\"\$\`]*}
              piece=${rest%%[\\\"\$\`]*}
              rest=${rest:${#piece}}
              ;;
          esac
        done
        ;;
      *)
        [[ $rest != [\$\`]* ]] || odd=yes
        piece=${rest:0:1}
        # Here readline's own word begins anew, behind the character or, of "@", with it.
        [[ $piece != @ || $COMP_WORDBREAKS != *@* ]] || head=$word
        word+=$piece
        [[ $piece != [:=] || $COMP_WORDBREAKS != *"$piece"* ]] || head=$word
        rest=${rest:1}
        piece=${rest%%[[:space:]\\\'\"\$\`:=@]*}
        word+=$piece
        rest=${rest:${#piece}}
        ;;
    esac
    in_word=yes
  done
  words+=("$word")
}

# The words of the command behind the given "--", the first or the second one.
_leasehold_command() {
  local separator=$1 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -- && ${COMP_WORDS[i - 1]} != *[:=@] ]] && ((--separator == 0)) && break
  done
  ((i++ < COMP_CWORD)) || return 0
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset $i
  elif declare -F _command_offset >/dev/null; then
    _command_offset $i
  else
    # Without the bash-completion package: commands, and files for what follows.
    compopt -o filenames -o default 2>/dev/null
    ((i == COMP_CWORD)) || return 0
    local word
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -A command -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
  fi
}

_leasehold() {
  local words head quote odd program=${1/#'~/'/$HOME/} first='' word separators=0
  COMPREPLY=()
  _leasehold_split "${COMP_LINE:0:COMP_POINT}"
  type -P -- "$program" >/dev/null || program=leasehold
  type -P -- "$program" >/dev/null || return 0
  {
    IFS= read -r -d '' first
    # Byte by byte: half a character at the end of a word would swallow the NUL.
    while IFS= LC_ALL=C read -r -d '' word && IFS= read -r -d '' _; do
      word=${word#"$head"}
      # A control character would be obeyed, or end the line.
      [[ ! $quote || $word != *[[:cntrl:]]* ]] || continue
      case $quote in
        \') word=${word//\'/\'\\\'\'} ;;
        \")
          word=${word//\\/\\\\} word=${word//\"/\\\"} word=${word//\$/\\\$} word=${word//\`/\\\`}
          word=${word//!/\"\'!\'\"}
          ;;
        *) [[ ! $word ]] || printf -v word %q "$word" ;;
      esac
      # Of two quotation marks in a row readline takes one away.
      [[ ! $quote || $word != "$quote"* ]] || word=$quote$word
      COMPREPLY+=("$word")
    done
  } < <(command "$program" __complete "${words[@]:1}" </dev/null 2>/dev/null)
  case $first in
    command\ *)
      for word in "${words[@]:1:${first#command }}"; do [[ $word != -- ]] || ((++separators)); done
      _leasehold_command $separators
      return
      ;;
    beginnings) compopt -o nospace 2>/dev/null ;;
    files)
      compopt -o filenames -o default 2>/dev/null
      return
      ;;
  esac
  if ((COMP_CWORD > 0)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} =~ ^[0-9]*[\<\>\&\|]*[\<\>][\<\>\&\|]*$ ]]; then
    # The file of a redirection.
    COMPREPLY=()
    compopt -o default 2>/dev/null
  elif [[ $odd ]]; then
    COMPREPLY=()
  fi
}

complete -F _leasehold leasehold

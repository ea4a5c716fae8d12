"""Tags of HTML with more attributes than anyone writes, thinned out: libxml2 compares each attribute with all before it.

One pass in linear time over tags, comments and raw text as HTML's tokenizer tells them apart; everything but such tags
stays as it is. Known limits: what another tokenizer takes for a tag and this one does not is not thinned; it costs its
own message the reader's time, and no other.
"""

import re
from typing import Final

from postroom.inbound.defects import Defect


ATTRIBUTES_MOST: Final = 200
_SHORT: Final = 2 * ATTRIBUTES_MOST  # a tag of so many characters has no more than that

# Each alternative matches to the end of what it begins, so nothing is looked at twice.
_ATTRIBUTES: Final = r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"?+|'[^']*+'?+)?+|["'])*+>?+"""
_TOKEN: Final = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|(?P<raw><(?P<name>script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>]){_ATTRIBUTES})"
    r".*?(?=</(?P=name)[\s/>]|\Z)"
    rf"|(?P<tag></?[a-z]{_ATTRIBUTES})",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>]*+))?+"""
)


def thinned(html: str, defects: set[Defect]) -> str:
    """The same HTML, no tag of it with more than ATTRIBUTES_MOST attributes."""

    def looked_at(found: re.Match[str]) -> str:
        tag = found["raw"] or found["tag"]
        if tag is None or len(tag) <= _SHORT:
            return found[0]
        end = 0
        for _ in range(ATTRIBUTES_MOST + 1):  # the first is the name
            attribute = _ATTRIBUTE.match(tag, end)
            if attribute is None:
                return found[0]
            end = attribute.end()
        if _ATTRIBUTE.match(tag, end) is None:
            return found[0]
        defects.add(Defect.HTML_CUT)
        return tag[:end] + ">" + found[0][len(tag) :]

    return _TOKEN.sub(looked_at, html)

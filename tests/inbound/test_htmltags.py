"""Tags with attributes by the thousand are thinned out; everything else stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.defects import Defect
from postroom.inbound.htmltags import ATTRIBUTES_MOST, thinned


MANY = " ".join(f"a{at}" for at in range(5000))
STAYS = {
    "a page": "<p class=x style='a:b'>words <img src=\"data:," + "A" * 5000 + '"> <br/></p>',
    "a long value": "<a href='http://a.example/" + "x" * 5000 + "'>words</a>",
    "a comment": f"<!-- <p {MANY}> -->words",
    "a comment that is none": "<!-->words",
    "a script": f"<script>if (a <p {MANY}) </script>words",
    "a style without end": f"<style>p <p {MANY}",
    "a sign": f"a < b {MANY} > c",
    "as many as may be": "<p" + " a" * ATTRIBUTES_MOST + ">words",
}
THINNED = {
    "attributes": f"<p {MANY}>words",
    "with values": "<p " + " ".join(f"a{at}='>'" for at in range(5000)) + ">words",
    "with slashes": "<p/" + "/".join(f"a{at}" for at in range(5000)) + ">words",
    "of an end": f"<p></p {MANY}>words",
    "of a script": f"<script {MANY}></script>words",
    "behind a comment with a quote": f"<!-- <p a=' --><p {MANY}>words",
    "behind a script with a quote": f'<script>a="</script><p {MANY}>words',
    "without end": f"words<p {MANY}",
}


@pytest.mark.parametrize("page", STAYS.values(), ids=STAYS)
def test_a_page_that_somebody_wrote_stays_as_it_is(page: str) -> None:
    defects: set[Defect] = set()
    assert thinned(page, defects) == page
    assert not defects


@pytest.mark.parametrize("page", THINNED.values(), ids=THINNED)
def test_attributes_by_the_thousand_are_cut_and_told(page: str) -> None:
    defects: set[Defect] = set()
    cut = thinned(page, defects)
    assert defects == {Defect.HTML_CUT}
    assert len(cut) < 3000
    assert "words" in cut


@given(st.text("<>!-/ ='\"apstyleci\n", max_size=300))
def test_short_pages_stay_as_they_are(page: str) -> None:
    assert thinned(page, set()) == page

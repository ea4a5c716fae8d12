"""The demo's second part: three people are asked, and what comes back is judged, leased and answered by agents."""

from dataclasses import dataclass
from typing import Final

from postroom.cli.demo_people import AWAY, FORGED, MOVED, PERSON, SAID, SAID_ID
from postroom.cli.demo_relay import Mail
from postroom.cli.demo_stage import MAILBOX, REPORTS, Stage
from postroom.cli.demo_watch import Promise, Watch
from postroom.cli.paper import Json, dig, plain
from postroom.client.errors import Conflict


_QUESTION: Final = "Which figures do you need?"
_ANSWER: Final = "You have them on Thursday."
_AGENTS: Final = "agents"
_RUN: Final = {"agent_run_id": "run_789"}
_PLAY_S: Final = 9.0  # it takes some 3 s; the rest is for slow machines
_POLL_S: Final = 0.05
_SHORT_S: Final = 1.0  # the shortest lease there is: the demo waits for its end
_QUOTED: Final = 60
_MAIL: Final = ("reply.received", "auto_reply.received", "message.received")
_TRUE: Final = [("human", "pass"), ("auto_reply", "pass"), ("human", "fail")]


@dataclass(frozen=True, slots=True)
class Talk:
    """What came of it: the question's deliveries and events, what agents got, and how often the answer went."""

    asked: Json
    came: list[Json]
    first: list[Json]
    second: list[Json]
    late: str
    taken_over: list[Json]
    answers: list[Mail]
    feedback: dict[str, str]


def converse(stage: Stage, watch: Watch) -> list[Promise]:
    """Play it."""
    until_s = stage.host.monotonic_s() + _PLAY_S
    stage.client.make_consumer(_AGENTS, ("reply.received",), start="now")
    seen = [one["seq"] for one in stage.client.every(stage.client.events)]
    asked = _ask(stage, watch, until_s)
    copies = {mail.recipient: mail for mail in stage.relay.mails if mail.subject == _QUESTION}
    if not {PERSON, AWAY, MOVED} <= copies.keys():
        return [Promise("the question reached three people", is_kept=False)]
    stage.people.answer(copies[PERSON])
    stage.people.be_away(copies[AWAY])
    stage.people.bounce(copies[MOVED])
    stage.people.forge(copies[PERSON], REPORTS)
    came = _events(stage, watch, max(seen, default=0), until_s)
    talk = _agents(stage, watch, asked, came, until_s)
    return promises(talk)


def promises(talk: Talk) -> list[Promise]:
    """What has to be true of it."""
    by_type = {one["type"]: one for one in talk.came}
    reply = by_type.get("reply.received", {})
    leased = [[event["id"] for event in one["events"]] for one in (*talk.first, *talk.taken_over)]
    fences = [one["fence"] for one in (*talk.first, *talk.taken_over)]
    return [
        Promise(
            "an answer finds its conversation by its address alone, and brings what the job said",
            _place(reply) == (_thread_of(talk.asked, PERSON), "reply_token", _RUN),
        ),
        Promise(
            "new words are told from quote and signature",
            str(dig(reply, "message", "new_text")).strip() == SAID,
        ),
        Promise(
            "an out-of-office and a forged mail are known as such, and wake no agent",
            _judged(by_type) == _TRUE and leased == [[reply.get("id")]] * 2,
        ),
        Promise(
            "a late bounce is a fact on its delivery, which stays sent",
            talk.feedback == {PERSON: "sent replied", AWAY: "sent none", MOVED: "sent bounced"},
        ),
        Promise("a second agent gets nothing while the first holds the lease", talk.second == []),
        Promise(
            "who comes too late is refused by its fence",
            talk.late == "lease_lost" and fences == sorted({*fences}),
        ),
        Promise(
            "the answer went once, and names the mail that it answers",
            [one.in_reply_to for one in talk.answers] == [SAID_ID],
        ),
    ]


def _ask(stage: Stage, watch: Watch, until_s: float) -> Json:
    job: Json = stage.client.submit(
        {
            "mailbox_id": MAILBOX,
            "to": [PERSON, AWAY, MOVED],
            "subject": _QUESTION,
            "text": f"{_QUESTION}\n",
            "copies": "individual",
            "metadata": _RUN,
        }
    )
    watch.say("A question to three people; each copy has its own signed address for answers.")
    watch.until_settled([one["id"] for one in job["deliveries"]], until_s)
    return job


def _events(stage: Stage, watch: Watch, after: int, until_s: float) -> list[Json]:
    """What comes back, shown as it comes."""
    watch.say("One answers, one is away, one address bounces, and somebody writes in Ann's name:")
    came: list[Json] = []
    while len(came) < len((PERSON, AWAY, MOVED, FORGED)) and stage.host.monotonic_s() < until_s:
        stage.check_daemon()
        for event in stage.client.events(after)["items"]:
            after = event["seq"]
            if event.get("message"):
                came.append(event)
                watch.say(_words(event))
        stage.host.sleep(_POLL_S)
    return came


def _agents(stage: Stage, watch: Watch, asked: Json, came: list[Json], until_s: float) -> Talk:
    client = stage.client
    first = client.lease(_AGENTS, wait_s=_SHORT_S, lease_s=_SHORT_S)
    watch.say(f"Agent 1 leases the conversation for {_SHORT_S:.0f} s: {_lease(first)}. It stalls.")
    second = client.lease(_AGENTS)
    watch.say(f"Agent 2 asks: {_lease(second)}. It waits.")
    taken_over = client.lease(_AGENTS, wait_s=max(1.0, until_s - stage.host.monotonic_s()))
    watch.say(f"The lease is over, agent 2 has it: {_lease(taken_over)}.")
    late = _complete(stage, first, "You have them today.")
    watch.say(f"Agent 1 wakes up and answers with its old fence: refused, {late or 'no'}.")
    done = _complete(stage, taken_over, _ANSWER)
    watch.say(f"Agent 2 acknowledges and answers in one call: {done or 'done'}.")
    _await_answer(stage, until_s)
    feedback = {one["recipient"]: _standing(stage, one["id"]) for one in asked["deliveries"]}
    answers = [mail for mail in stage.relay.mails if mail.subject == f"Re: {_QUESTION}"]
    for mail in answers:
        watch.say(f"The relay has the answer for {plain(mail.recipient)}: {plain(mail.subject)}")
    return Talk(asked, came, first, second, late, taken_over, answers, feedback)


def _complete(stage: Stage, leases: list[Json], text: str) -> str:
    """Complete with an answer; the code of the refusal, or nothing."""
    for lease in leases:
        reply = {"in_reply_to_event": lease["events"][0]["id"], "text": f"{text}\n"}
        try:
            stage.client.complete(lease, [reply])
        except Conflict as refused:
            return refused.code
    return ""


def _await_answer(stage: Stage, until_s: float) -> None:
    """An answer in the relay, and then the moment in which a second one would come."""
    while not any(mail.in_reply_to for mail in stage.relay.mails):
        if stage.host.monotonic_s() > until_s:
            return
        stage.host.sleep(_POLL_S)
    stage.host.sleep(4 * _POLL_S)


def _standing(stage: Stage, delivery_id: str) -> str:
    found = stage.client.delivery(delivery_id)
    return f"{found['state']} {found['feedback']}"


def _thread_of(job: Json, recipient: str) -> object:
    found = (one["thread_id"] for one in job["deliveries"] if one["recipient"] == recipient)
    return next(found, None)


def _place(event: Json) -> tuple[object, object, object]:
    thread = event.get("thread", {})
    return thread.get("id"), thread.get("matched_by"), thread.get("metadata")


def _words(event: Json) -> str:
    text = " ".join(str(dig(event, "message", "new_text")).split())
    said = plain(dig(event, "delivery_report", "diagnostic") or f'"{text[:_QUOTED]}"')
    sender = dig(event, "message", "from", "address")
    who = plain(dig(event, "delivery_report", "recipient") or sender)
    return f"{plain(event['type']):<20} {who}: {said} ({_how(event)})"


def _how(event: Json) -> str:
    """By what it was found; of a person's mail, whether the domain vouches for it too; or what refuses it."""
    verdict = plain(dig(event, "authentication", "verdict"))
    if event.get("refused_by"):
        return f"refused: {verdict}"
    found = plain(dig(event, "thread", "matched_by"))
    return f"{found}, {verdict}" if dig(event, "automation", "kind") == "human" else found


def _judged(by_type: dict[str, Json]) -> list[tuple[object, object]]:
    """What each mail was taken for, and whether its domain vouches for it; a report is its own fact."""
    found = (by_type.get(name, {}) for name in _MAIL)
    return [
        (dig(one, "automation", "kind"), dig(one, "authentication", "verdict")) for one in found
    ]


def _lease(leases: list[Json]) -> str:
    if not leases:
        return "nothing"
    return ", ".join(f"{plain(one['id'])}, fence {plain(one['fence'])}" for one in leases)
